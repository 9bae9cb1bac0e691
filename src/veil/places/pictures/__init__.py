"""Drawings of points: self-contained SVG, without tiles and without a network."""
