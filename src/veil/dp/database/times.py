"""Days and times as texts that sort as they follow each other: ``2024-02-29 13:05:00``."""

from datetime import UTC, date, datetime


def canonical(value: object) -> str | None:
    """Return a day or a time of the years 1 to 9999 in UTC, to the second; None if it is none.

    >>> canonical("2024-02-29"), canonical("2024-02-29T13:05:00.5+01:00")
    ('2024-02-29 00:00:00', '2024-02-29 12:05:00')
    """
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if isinstance(value, datetime):
        try:
            plain = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
        except OverflowError:
            return None
        return f"{plain.year:04}-{plain:%m-%d %H:%M:%S}"
    if isinstance(value, date):
        return f"{value.year:04}-{value:%m-%d} 00:00:00"
    return None
