"""Mechanisms for texts: one module per published mechanism."""
