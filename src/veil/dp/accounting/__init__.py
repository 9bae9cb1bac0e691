"""Composition of releases, and budgets that are charged before anything is read."""
