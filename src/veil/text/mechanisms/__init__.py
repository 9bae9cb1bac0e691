"""Protect: one file per published mechanism."""
