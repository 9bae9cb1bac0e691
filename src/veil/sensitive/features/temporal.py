"""When a document was written: people write of private things at other hours."""

from email.utils import parsedate_to_datetime

from veil.sensitive.mails import Mail

NAMES = ("monday", "tuesday", "wednesday", "thursday", "friday", "weekend", "hour", "off hours")
_OFFICE = range(8, 18)


def temporal(mail: Mail) -> list[float]:
    """Return weekday, weekend, hour and whether that is outside 8-18; zeros without a date."""
    try:
        when = parsedate_to_datetime(str(mail.metadata["date"]))
    except (KeyError, ValueError, TypeError, IndexError, OverflowError):
        return [0.0] * len(NAMES)
    day = when.weekday()
    days = [float(day == one) for one in range(5)]
    hour = when.hour + when.minute / 60
    return [*days, float(day >= 5), hour / 24, float(when.hour not in _OFFICE)]
