"""Place variants and runs of somebody's own pipeline on the plane: files in, results out."""
