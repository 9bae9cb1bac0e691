"""Words as classifiers and simulated labels see them."""

import re

_WORD = re.compile(r"[^\W_]+")


def words_of(text: str) -> list[str]:
    """Return the runs of letters and digits of a text, in lower case.

    >>> words_of("HIV-positive, e-mail_me")
    ['hiv', 'positive', 'e', 'mail', 'me']
    """
    return _WORD.findall(text.lower())


def without(text: str, hidden: frozenset[str]) -> str:
    """Blank the hidden words of a text.

    >>> without("An HIV test", frozenset({"hiv"}))
    'An   test'
    """
    if not hidden:
        return text
    return _WORD.sub(lambda found: " " if found[0].lower() in hidden else found[0], text)
