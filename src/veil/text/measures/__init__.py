"""How alike texts and variants are, and whether a claim holds."""
