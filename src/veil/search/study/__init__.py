"""Private search as a domain of `veil.studies`: its keys, its material, its steps, its words."""
