r"""What a search returned and what the engine saw; none of it holds a query.

A link must lead where it seems to lead. A browser reads ``https://evil.example\@good.example/`` as
a page of evil.example, other programs as one of good.example, so an address that programs
may read in different ways is not a link: it is shown as text.
"""

import ipaddress
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from encodings import idna
from typing import Literal, NamedTuple

from veil.core.formatting import brief, count_of, is_printable
from veil.core.guarantee import Guarantee
from veil.core.types import Ranking, Released
from veil.cover.popularity import Popularity
from veil.cover.table import Odds
from veil.proxy.settings import Budget, Configuration, Decision, PreflightResult

MOST = 2_000  # characters of a URL
_ADDRESS = re.compile(
    r"(https?)://([^/?#\\@%\s]+)([/?#].*)?", re.IGNORECASE | re.ASCII | re.DOTALL
)
_HOST = re.compile(r"(\[[0-9A-Fa-f:]+\]|[^:\[\]]+)(?::([1-9][0-9]{0,4}))?")
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")  # with such a last label, browsers read IPv4
_DEVIATIONS = re.compile("[ßẞς\u200c\u200d]")  # mapped differently by two IDNA standards
_DEFAULT = {"http": 80, "https": 443}


class Link(NamedTuple):
    """A URL that can be followed safely."""

    href: str
    host: str  # like `new URL(href).host`: with the port unless it is the default
    path: str  # without query string and fragment


def link_of(address: str) -> Link | None:
    r"""Parse an engine's URL; None if it must not become a link.

    >>> link_of("https://Example.org:443/a?b#c")
    Link(href='https://example.org/a?b#c', host='example.org', path='/a')
    >>> link_of(r"https://evil.example\@good.example/") is None
    True
    """
    match = _ADDRESS.fullmatch(address) if len(address) <= MOST else None
    if match is None:
        return None
    scheme, authority, rest = match[1].lower(), match[2], match[3] or ""
    parts = _HOST.fullmatch(authority)
    if parts is None or "\\" in rest or not all(map(_is_visible, rest)):
        return None
    host, port = _host(parts[1]), int(parts[2] or _DEFAULT[scheme])
    if not host or port > 65_535:
        return None
    where = host if port == _DEFAULT[scheme] else f"{host}:{port}"
    return Link(f"{scheme}://{where}{rest}", where, re.split(r"[?#]", rest, maxsplit=1)[0])


def _is_visible(character: str) -> bool:
    """Return False for white space, control, format and unassigned characters."""
    return unicodedata.category(character)[0] not in "CZ"


def _host(name: str) -> str:
    """Return a host as all browsers show it, or "" if they differ."""
    if name.startswith("["):
        return _ipv6(name)
    labels = [_label(label) for label in name.split(".")]
    host = ".".join(labels)
    if not all(labels) or len(host) > 253:
        return ""
    return _ipv4(host) if _NUMBER.fullmatch(labels[-1]) else host


def _ipv4(host: str) -> str:
    """Return an address of four decimal numbers, or "" for any other notation."""
    try:
        return host if str(ipaddress.IPv4Address(host)) == host else ""
    except ValueError:
        return ""


def _ipv6(name: str) -> str:
    try:
        address = ipaddress.IPv6Address(name[1:-1])
    except ValueError:
        return ""
    return f"[{address}]" if "." not in str(address) else ""


def _label(label: str) -> str:
    """Return a label of a host name in ASCII; "" if it is invalid or a disguise."""
    written = label.lower() if label.isascii() else _punycode(label)
    if written.startswith("xn--") and not _is_punycode(written):
        return ""
    return written if _LABEL.fullmatch(written) else ""


def _punycode(label: str) -> str:
    """Return an international label as xn--; "" if it only looks international."""
    kinds = {unicodedata.category(letter)[0] for letter in label if not letter.isascii()}
    if _DEVIATIONS.search(label) or not kinds <= {"L", "M"}:
        return ""
    try:
        written = idna.ToASCII(label).decode("ascii").lower()
    except UnicodeError:
        return ""
    return written if written.startswith("xn--") else ""  # else full-width letters, or the like


def _is_punycode(label: str) -> bool:
    try:
        read = label[4:].encode("ascii").decode("punycode")
    except UnicodeError:
        return False
    return not read.isascii() and is_printable(read)


MarkKind = Literal["layout", "changed", "same", "unknown", "kept", "cover"]

MARKS: dict[MarkKind, str] = {
    "layout": "spacing and punctuation, which are kept",
    "changed": "sampled by the mechanism in place of one of your words",
    "same": "one of your words, which the mechanism sampled again by chance",
    "unknown": "in place of an unknown word (a typo?); it shows at most that the word is unknown",
    "kept": "one of your words, sent unchanged: it was not selected, or a policy keeps it",
    "cover": "a word of a fixed public text, the same for every query of the group",
}


@brief()
@dataclass(frozen=True, slots=True)
class VariantPiece:
    """A piece of a variant and its origin: see `MARKS`."""

    text: str
    kind: MarkKind


@brief()
@dataclass(frozen=True, slots=True)
class SentVariant:
    """A variant as the engine saw it, in pieces; `gap` is why it has no answer, or ""."""

    text: str
    marks: tuple[VariantPiece, ...]
    gap: str = ""


@brief("rank")
@dataclass(frozen=True, slots=True)
class ResultItem:
    """A result as the engine returned it: escape everything in it.

    `path` is its file, if it is from one of the user's own files.
    """

    rank: int
    id: str
    title: str
    text: str
    score: float
    path: str = ""

    @property
    def link(self) -> str:
        """URL of the result, or "" if its id is not a safe link."""
        link = link_of(self.id)
        return link.href if link else ""


@brief()
@dataclass(frozen=True, slots=True)
class GroupView:
    """The cover group sent for a query, and which other texts share it.

    Attributes
    ----------
    address, groups, texts
        The group number, the number of groups, and the number of texts in the table.
    known
        Whether the group had been sent before, for this query or another.
    stayed
        Whether the group of an earlier query of the session was reused, because this query is
        close to it although it has another group.
    cosine
        Similarity of the nearest text of the table: below about 0.3 the table fits the query
        badly.
    others
        Some public texts, topic by topic, in the same group.
    active
        How often an engine that knows everything and sees the group is right within ten guesses,
        if all texts of the table are equally likely.
    same
        How many texts of the table are in the same group.
    session
        Whether another group was sent shortly before. `others`, `same`, `active` and
        `popular` then leave out the texts that would have reused that group, as an engine can.
    popular, blind
        The same as `active` if popular texts are likelier, and how often that engine is right
        before anything is sent; None if popularity is unknown.
    popularity
        Source of the popularity: ``counts`` of the texts, or frequencies of their ``words``.
    """

    address: int
    groups: int
    texts: int
    known: bool
    stayed: bool
    cosine: float
    others: tuple[str, ...]
    active: float
    same: int = 0
    session: bool = False
    popular: float | None = None
    blind: float | None = None
    popularity: Popularity = "counts"

    @property
    def odds(self) -> Odds:
        """The risk under each prior."""
        return Odds(self.texts, self.active, self.popular, self.blind, self.popularity, group=True)


@brief("results", "sent")
@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """Everything the page shows for one search.

    Attributes
    ----------
    results
        Best first, by the true query.
    seen
        Everything released for the query with this setting, including earlier and larger releases.
        Empty if the query itself was sent on request (`plain`), or searched in the user's
        own documents on this machine (`plain` and `here`).
    setting
        The configuration of the variants.
    release
        Number of the ledger entry; 0 if there is none.
    words, kept
        Words that were replaced; words kept unchanged by policy.
    cost
        Guarantee of all variants of this query with this setting.
    spent
        What this search spent; 0 if everything had been released before.
    earlier
        What other settings released for the query before, in epsilon, in addition to the cost;
        infinite if no sum covers it.
    reused
        Variants that had been released before.
    shared
        Words whose samples came from related queries.
    sent
        Variants sent to the engine now; fewer than there are if answers were remembered.
    budget
        What was spent in the last 24 hours, including this search.
    preflight
        Results of the local attackers, or None without a log.
    back
        How many of the plain search's first ten results are among ours, and out of how many; None
        if the engine would have to see the query.
    back_deep, depth
        The same for a plain search that ranks as many documents as all variants returned,
        and their number. This is the fairer comparison.
    ledger
        Whether the release is in the ledger and was counted. Otherwise `spent`, `earlier` and
        `budget` mean nothing.
    seeded
        Whether the samples can be reproduced, which is not private.
    answers
        The engine's own list for each variant, in order.
    bits, earlier_bits
        Leakage added by this search, and leakage of other settings for the same query.
    cover
        The group that was sent, for a mechanism with cover groups; otherwise None.
    """

    results: tuple[ResultItem, ...]
    seen: tuple[SentVariant, ...]
    setting: Configuration
    release: int
    words: int
    kept: tuple[str, ...]
    cost: Guarantee
    spent: float
    earlier: float
    reused: int
    shared: int
    sent: int
    budget: Budget
    gate: Decision
    preflight: PreflightResult | None = None
    back: tuple[int, int] | None = None
    back_deep: tuple[int, int] | None = None
    depth: int = 0
    plain: bool = False
    here: bool = False
    ledger: bool = True
    seeded: bool = False
    answers: Ranking | None = None
    bits: float = 0.0
    earlier_bits: float = 0.0
    cover: "GroupView | None" = None

    @property
    def news(self) -> str:
        """Whether the engine learnt anything new, in a sentence."""
        if self.here:
            return "Nothing was sent: your own documents were searched on this machine."
        if self.plain:
            return "The query itself was sent at your request; no budget measures that."
        if self.cover is not None:
            return self._of_group(self.cover)
        if not self.sent and self.reused:
            return (
                "Nothing new was sent: these variants were released before, and their answers"
                " were remembered on this machine."
            )
        if self.reused and self.reused >= len(self.seen):
            return "No new variants: the earlier ones were sent again at no further cost."
        if self.reused:
            return f"{count_of(self.reused, 'earlier variant')} and some new ones."
        if self.shared:
            return "New variants, which share samples with related earlier queries."
        return "New variants, sampled for this query."

    def _of_group(self, group: GroupView) -> str:
        if not group.known:
            return "This group had not been sent before."
        if not self.sent:
            return (
                "Nothing was sent: the group had been sent before, and its answers were"
                " remembered on this machine."
            )
        if self.reused:
            return (
                "The group was sent for this query before: the engine learnt only that it was"
                " requested again."
            )
        return (
            "This group had been sent before for another query. It reveals as much about this"
            " query as a new group would."
        )


def items_of(ranking: Ranking) -> tuple[ResultItem, ...]:
    """Return the results of a ranking, best first."""
    return tuple(
        ResultItem(
            rank=rank,
            id=ranking.items[place],
            title=ranking.titles[place] if ranking.titles else "",
            text=ranking.texts[place] if ranking.texts else "",
            score=float(score),
        )
        for rank, (place, score) in enumerate(
            zip(ranking.index[0], ranking.scores[0], strict=True), start=1
        )
        if place >= 0
    )


def seen_of(
    texts: Sequence[Released], marks: Sequence[tuple[VariantPiece, ...]], answers: Ranking
) -> tuple[SentVariant, ...]:
    """Return what the engine saw, in pieces, with the reason for each missing answer."""
    gaps = answers.gaps or ("",) * len(texts)
    return tuple(map(SentVariant, map(str, texts), marks, gaps))


def plain_result(
    ranking: Ranking, setting: Configuration, cost: Guarantee, budget: Budget, gate: Decision
) -> SearchOutcome:
    """Return the outcome of a search with the query itself."""
    return SearchOutcome(
        results=items_of(ranking), seen=(), setting=setting, release=0, words=0, kept=(),
        cost=cost, spent=0.0, earlier=0.0, reused=0, shared=0, sent=0, budget=budget, gate=gate,
        plain=True, ledger=False,
    )  # fmt: skip
