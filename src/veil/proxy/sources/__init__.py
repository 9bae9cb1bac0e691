"""Where the variants of a query come from: draws of its words, rewritings, or a fixed group."""
