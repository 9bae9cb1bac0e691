"""Local differential privacy: each person's value is randomised before it leaves."""
