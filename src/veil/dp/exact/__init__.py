"""Exact sampling: integers drawn by comparing random bits with integer bounds of probabilities.

No decision depends on a float, nothing is truncated, and no draw depends on data.
"""
