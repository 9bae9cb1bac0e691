"""Exact randomness: whole numbers drawn by comparing random bits with integer bounds of a law.

No probability is ever a float in a decision, nothing is truncated, and no draw depends on data.
"""
