"""Drawings of a table before and after, for whoever opened it.

They show values of the original, on the machine that it is on, and are not for release; the
pictures of a report (`veil.tables.pictures`) show none.
"""
