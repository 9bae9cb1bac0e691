"""What releases cost together, and a budget that is charged before anything is read."""
