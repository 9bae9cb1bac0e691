"""Sweeps over mechanisms, parameters and attackers, and their report."""
