"""Databases that are asked in SQL, and answer with noise."""
