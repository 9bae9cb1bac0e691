"""Read, write, cache and download data files."""
