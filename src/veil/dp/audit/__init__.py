"""Hold what is claimed of a mechanism, an oracle or any sampler against samples."""
