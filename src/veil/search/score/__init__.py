"""Measure the risk and utility of variants and runs from any pipeline, read from files."""
