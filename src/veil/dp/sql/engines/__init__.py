"""The databases that are read: one file each."""
