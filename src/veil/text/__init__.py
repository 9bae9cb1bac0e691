"""The text pillar: words and queries become variants."""
