"""Draws a study: planes, tables, cards, and the page around them."""
