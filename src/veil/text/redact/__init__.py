"""Personal data in texts: found, and replaced before a mechanism sees the rest."""
