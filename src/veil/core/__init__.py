"""Contracts and vocabulary shared by every part of the toolkit."""
