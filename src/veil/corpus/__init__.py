"""Texts anybody may read: documents, collections, indexes, words and their tags, WordNet."""
