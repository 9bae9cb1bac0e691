"""Who wrote to how many, and whether it answers or passes something on."""

import math
import re
from collections import Counter
from collections.abc import Sequence

from veil.sensitive.mails import Mail

NAMES = ("recipients", "inside", "reply", "forward")
_REPLY = re.compile(r"^\s*(re|aw|sv)\s*:", re.IGNORECASE)
_FORWARD = re.compile(r"^\s*(fw|fwd)\s*:|-{3,}\s*forwarded by", re.IGNORECASE)


def domain_of(mail: Mail) -> str:
    """Return what stands after the @ of the sender, or ""."""
    return str(mail.metadata.get("from", "")).lower().rpartition("@")[2]


def organisation(mails: Sequence[Mail]) -> str:
    """Return the domain that most senders have: the organisation."""
    domains = Counter(filter(None, map(domain_of, mails)))
    return min(domains, key=lambda one: (-domains[one], one)) if domains else ""


def metadata(mail: Mail, inside: str) -> list[float]:
    """Return log recipients, sender inside the organisation, reply, forward."""
    try:
        recipients = max(0.0, float(mail.metadata.get("recipients", 0)))
    except ValueError:
        recipients = 0.0
    start = f"{mail.title}\n"
    return [
        math.log1p(recipients),
        float(bool(inside) and domain_of(mail) == inside),
        float(_REPLY.search(start) is not None),
        float(_FORWARD.search(start + mail.text[:500]) is not None),
    ]
