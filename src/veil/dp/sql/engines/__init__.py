"""The supported databases: one module each."""
