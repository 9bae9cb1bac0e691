"""Private search as a domain of `veil.studies`: keys, inputs, steps and vocabulary."""
