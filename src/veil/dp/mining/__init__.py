"""Models trained from noisy sums: only the model is released, never a row."""
