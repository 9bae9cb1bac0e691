"""Commands of veil ratings: one file each."""
