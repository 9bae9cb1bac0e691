"""Commands of veil dp: one file each."""
