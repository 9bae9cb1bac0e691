"""Engines on this machine."""
