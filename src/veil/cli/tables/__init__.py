"""Commands of veil tables: one file each."""
