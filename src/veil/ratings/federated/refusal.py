"""What is said when a message of the protocol is not one that may be answered."""

from veil.core.errors import VeilError


class ProtocolError(VeilError):
    """A party does not follow the protocol, or too few are left; no secret is ever quoted."""


class VoidError(ProtocolError):
    """Too few clients are left in a round; the next one may be well."""
