"""Databases that answer statistics or refuse: size, overlap and auditing, and why they fail."""
