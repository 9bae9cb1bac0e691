"""The heads that mails of one's own begin with, as the reader of mails writes them."""

import re
from email.utils import getaddresses, parseaddr

from veil.sensitive.collection import Metadata

_LINE = r"(?:From|To|Cc|Date): .*"
_HEADS = re.compile(rf"{_LINE}(?:\n{_LINE})*\n\n")


def body_of(text: str) -> str:
    r"""Return a text without the heads of a mail: a copy that was sent again has others.

    >>> body_of("From: a@b.org\nDate: Mon, 10 Dec 2001 10:00:00 -0800\n\nHello")
    'Hello'
    """
    found = _HEADS.match(text)
    return text[found.end() :] if found else text


def metadata_of(text: str) -> Metadata:
    r"""Return date, sender and number of recipients, as far as the heads say them.

    >>> metadata_of("From: A <a@b.org>\nTo: c@d.org, e@d.org\n\nHello")
    {'from': 'a@b.org', 'recipients': 2}
    """
    found = _HEADS.match(text)
    if found is None:
        return {}
    lines = found[0].rstrip("\n").split("\n")
    told = {name: value for name, _, value in (line.partition(": ") for line in lines)}
    metadata: dict[str, str | float] = {}
    if "Date" in told:
        metadata["date"] = told["Date"]
    if sender := parseaddr(told.get("From", ""))[1]:
        metadata["from"] = sender
    if others := [told[name] for name in ("To", "Cc") if name in told]:
        metadata["recipients"] = sum(bool(address) for _, address in getaddresses(others))
    return metadata
