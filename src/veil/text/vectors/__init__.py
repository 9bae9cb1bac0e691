"""Word vectors: load, save, distances, nearest words."""
