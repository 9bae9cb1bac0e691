"""Recognisers by kind: one kind of personal data, one file. They go by spelling and checksums.

The order is that of trust: where two find the same characters the first one names them.
"""

from veil.text.redact.recognisers import card, date, email, iban, identity, ip, phone
from veil.text.redact.span import Find

RECOGNISERS: dict[str, Find] = {
    "EMAIL": email.find,
    "IBAN": iban.find,
    "ID": identity.find,
    "CARD": card.find,
    "IP": ip.find,
    "DATE": date.find,
    "PHONE": phone.find,
}
