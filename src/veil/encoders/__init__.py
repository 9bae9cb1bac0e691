"""Texts to unit vectors, on the user's side."""
