"""Public texts: documents, collections, indexes, tokens and tags, WordNet."""
