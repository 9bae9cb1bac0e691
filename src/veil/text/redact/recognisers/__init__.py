"""Recognisers of personal data by pattern and checksum, one file per kind.

They are in order of precedence: the first to match a span sets its kind.
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
