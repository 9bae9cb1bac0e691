"""What a map of released points still shows, beside the true one; one concept, one file."""
