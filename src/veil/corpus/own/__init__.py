"""A folder of one's own files as a collection: found, read, brought up to date, and opened."""
