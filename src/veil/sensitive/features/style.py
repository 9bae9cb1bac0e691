"""How a document is written: signs, capitals, I and you; and how long it is."""

import math

from veil.sensitive.mails import Mail
from veil.sensitive.wording import words_of

NAMES = ("length", "!", "?", "$", "digits", "capitals", "first person", "second person")
_FIRST = frozenset("i me my mine myself we us our ours".split())
_SECOND = frozenset("you your yours yourself u ya".split())


def style(mail: Mail) -> list[float]:
    """Return the logarithm of the length, and shares of signs and persons."""
    text = f"{mail.title}\n{mail.text}"
    size = max(1, len(text))
    words = words_of(text)
    many = max(1, len(words))
    return [
        math.log(size),
        *(10 * text.count(sign) / size for sign in "!?$"),
        sum(map(str.isdigit, text)) / size,
        sum(map(str.isupper, text)) / size,
        sum(word in _FIRST for word in words) / many,
        sum(word in _SECOND for word in words) / many,
    ]
