"""Commands of veil sensitive: one file each."""
