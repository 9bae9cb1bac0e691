"""SQL databases that answer with noise."""
