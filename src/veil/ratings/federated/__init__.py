"""Federated training: the server learns only the sum of masked updates."""
