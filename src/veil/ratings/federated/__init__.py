"""Federated training: updates leave, masked so that a server learns their sum alone."""
