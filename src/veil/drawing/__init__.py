"""Draw planes, bars, lines and maps as accessible SVG that loads nothing, in pages of HTML.

What is drawn comes as plain numbers and labels; no module here knows a study or a domain.
"""
