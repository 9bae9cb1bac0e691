"""Models learnt from noisy sums alone: what is released is the model, never a row."""
