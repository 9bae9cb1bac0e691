r"""What a search found, what the engine saw of it, and what that told; none of it holds a query.

Addresses that may become links: those that every reader takes apart in the same way.
A browser reads ``https://evil.example\@good.example/`` as a page of evil.example, other programs
as one of good.example. What is shown must be where the link leads, so that an address with
anything that is read in two ways is no link: it is shown as the text that it is.
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

MOST = 2_000  # characters of an address
_ADDRESS = re.compile(
    r"(https?)://([^/?#\\@%\s]+)([/?#].*)?", re.IGNORECASE | re.ASCII | re.DOTALL
)
_HOST = re.compile(r"(\[[0-9A-Fa-f:]+\]|[^:\[\]]+)(?::([1-9][0-9]{0,4}))?")
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")  # a last label by which a browser takes the host for
_DEVIATIONS = re.compile("[ßẞς\u200c\u200d]")  # IPv4; and letters that two standards map apart
_DEFAULT = {"http": 80, "https": 443}


class Link(NamedTuple):
    """An address that may be followed."""

    href: str
    host: str  # as `new URL(href).host` gives it, with the port if it is not the usual one
    path: str  # without query string and fragment


def link_of(address: str) -> Link | None:
    r"""Take an address of an engine apart; None for what must not become a link.

    >>> link_of("https://Example.org:443/a?b#c")
    Link(href='https://example.org/a?b#c', host='example.org', path='/a')
    >>> link_of(r"https://evil.example\@good.example/") is None
    True
    """
    found = _ADDRESS.fullmatch(address) if len(address) <= MOST else None
    if found is None:
        return None
    scheme, authority, rest = found[1].lower(), found[2], found[3] or ""
    parts = _HOST.fullmatch(authority)
    if parts is None or "\\" in rest or not all(map(_is_visible, rest)):
        return None
    host, port = _host(parts[1]), int(parts[2] or _DEFAULT[scheme])
    if not host or port > 65_535:
        return None
    where = host if port == _DEFAULT[scheme] else f"{host}:{port}"
    return Link(f"{scheme}://{where}{rest}", where, re.split(r"[?#]", rest, maxsplit=1)[0])


def _is_visible(character: str) -> bool:
    """Refuse white space, control and format characters, and those that are not assigned."""
    return unicodedata.category(character)[0] not in "CZ"


def _host(name: str) -> str:
    """Return a host in the one form that browsers show, or nothing where they differ."""
    if name.startswith("["):
        return _ipv6(name)
    labels = [_label(label) for label in name.split(".")]
    host = ".".join(labels)
    if not all(labels) or len(host) > 253:
        return ""
    return _ipv4(host) if _NUMBER.fullmatch(labels[-1]) else host


def _ipv4(host: str) -> str:
    """Take four decimal numbers, and no other way to write them."""
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
    """Return a part of a host's name in ASCII; nothing for what is no name, or a disguise."""
    written = label.lower() if label.isascii() else _punycode(label)
    if written.startswith("xn--") and not _is_punycode(written):
        return ""
    return written if _LABEL.fullmatch(written) else ""


def _punycode(label: str) -> str:
    """Write a name in letters of the world as xn--; nothing if it only looks like one."""
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
    "layout": "spacing and punctuation, which stay",
    "changed": "drawn by the mechanism in place of one of your words",
    "same": "a word of yours: the mechanism drew it again, by chance",
    "unknown": "in place of a word unknown to the vectors (a typo?); at most it can be recognised",
    "kept": "a word of yours that is sent as it is: it was not selected, or a policy keeps it",
    "cover": "a word of a fixed public text, the same for every query of the group",
}


@brief()
@dataclass(frozen=True, slots=True)
class VariantPiece:
    """A piece of a variant, and what it is: see `MARKS`."""

    text: str
    kind: MarkKind


@brief()
@dataclass(frozen=True, slots=True)
class SentVariant:
    """A variant as the engine saw it, in pieces; `gap` says why it had no answer, or is empty."""

    text: str
    marks: tuple[VariantPiece, ...]
    gap: str = ""


@brief("rank")
@dataclass(frozen=True, slots=True)
class ResultItem:
    """One result, as the engine gave it: everything in it is to be escaped.

    `path` is the file that it is of, where it is of a file of the user's own.
    """

    rank: int
    id: str
    title: str
    text: str
    score: float
    path: str = ""

    @property
    def link(self) -> str:
        """The address of the result, or nothing if its name is none that may be followed."""
        found = link_of(self.id)
        return found.href if found else ""


@brief()
@dataclass(frozen=True, slots=True)
class GroupView:
    """The group of fixed texts that was sent for a query, and who else would send the same.

    Attributes
    ----------
    address, groups, texts
        Which group of how many it is, and of how many texts the table is made.
    known
        Whether the group had been sent before, for this query or for another.
    stayed
        Whether it is the group of an earlier query of a session, as this one is near to it,
        though it has another by itself.
    cosine
        How near the nearest text of the table is: below about 0.3 the table knows little of it.
    others
        Some public texts, track by track, that have the same group.
    active
        How often an engine that knows everything and sees the group is right within ten guesses,
        if all texts of the table are equally likely.
    same
        How many texts of the table have the same group.
    session
        Whether another group was sent shortly before. Then `others`, `same`, `active` and
        `popular` leave out the texts that would have stayed with that one, as an engine can.
    popular, blind
        The same as `active` if popular texts are likelier, and how often the same engine is right
        before anything is sent; None where nothing is known of popularity.
    popularity
        Where the popularity is from: ``counts`` of the texts, or frequencies of their ``words``.
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
        """The risk by each prior."""
        return Odds(self.texts, self.active, self.popular, self.blind, self.popularity, group=True)


@brief("results", "sent")
@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """Everything that the page shows for one search.

    Attributes
    ----------
    results
        Best first, by the true query.
    seen
        All that was released of the query under this setting, also before and then in larger
        number; empty where the query went in clear on request (`plain`), or was searched as it is
        among the user's own documents, on this machine (`plain` and `here`).
    setting
        What made the variants.
    release
        Number of the entry in the ledger; 0 where there is none.
    words, kept
        Words that were replaced; words that went unchanged by policy.
    cost
        Guarantee of the variants of this query under this setting, all in all.
    spent
        What this search added to what was spent; 0 when everything was released before.
    earlier
        What other settings released of the same query before, in epsilon: it adds to the cost;
        infinite where no sum covers it.
    reused
        Variants that had been released before.
    shared
        Words whose draws came from related queries.
    sent
        Variants that went to the engine now; fewer than there are when answers were remembered.
    budget
        What was spent in the last 24 hours, this search included.
    preflight
        What the local attackers made of it, or None where there is no log.
    back
        How many of the plain search's first ten results are among ours, and of how many; None
        where the engine would have to see the query.
    back_deep, depth
        The same, of plain search that puts as many documents in order as all variants brought, and
        how many those are. It is the fairer comparison.
    ledger
        Whether the release is in the ledger, and was counted; else `spent`, `earlier` and `budget`
        say nothing.
    seeded
        Whether the draws can be repeated, which is not private.
    answers
        The engine's own list for each of the variants, in their order.
    bits, earlier_bits
        What this search added in leakage, and what other settings leaked of the same query.
    cover
        Where the query was looked up, for a mechanism that sends a whole group; else None.
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
            return "Nothing was sent: the query was searched as it is, on this machine."
        if self.plain:
            return "The query itself was sent, at your request: no budget measures that."
        if self.cover is not None:
            return self._of_group(self.cover)
        if not self.sent and self.reused:
            return (
                "Nothing new was sent: these variants were released before, and their answers were"
                " remembered here."
            )
        if self.reused and self.reused >= len(self.seen):
            return (
                "No new variants: those that were released before were sent, at no further cost."
            )
        if self.reused:
            return f"{count_of(self.reused, 'variant')} of before, and new ones besides."
        if self.shared:
            return "New variants, which share what was drawn for related queries before."
        return "New variants, drawn for this query."

    def _of_group(self, group: GroupView) -> str:
        if not group.known:
            return "A group that had not been sent before."
        if not self.sent:
            return (
                "Nothing was sent: the group had been sent before, and its answers were remembered"
                " here."
            )
        if self.reused:
            return (
                "The group was sent for this query before: the engine learnt nothing but that it"
                " was asked for again."
            )
        return (
            "A group that had been sent before, for another query: of this one it tells as much as"
            " a new group would."
        )


def items_of(ranking: Ranking) -> tuple[ResultItem, ...]:
    """Return the results of a list, best first."""
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
    """Return what the engine saw, in pieces, and which of it had no answer."""
    gaps = answers.gaps or ("",) * len(texts)
    return tuple(map(SentVariant, map(str, texts), marks, gaps))


def plain_result(
    ranking: Ranking, setting: Configuration, cost: Guarantee, budget: Budget, gate: Decision
) -> SearchOutcome:
    """Return what was found for a query that was asked as it is: nothing stood in for it."""
    return SearchOutcome(
        results=items_of(ranking), seen=(), setting=setting, release=0, words=0, kept=(),
        cost=cost, spent=0.0, earlier=0.0, reused=0, shared=0, sent=0, budget=budget, gate=gate,
        plain=True, ledger=False,
    )  # fmt: skip
