"""Engines on a network: the untrusted side, which cannot name an original text."""
