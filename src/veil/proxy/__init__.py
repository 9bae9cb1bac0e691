"""Private search day by day: what is remembered, paid, looked at and held back before sending."""
