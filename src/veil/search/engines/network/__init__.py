"""Engines on a network: the untrusted side, which has no access to original texts."""
