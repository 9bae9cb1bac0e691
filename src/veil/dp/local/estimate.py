"""From reports to counts, means and texts that nobody listed."""

import math
from collections import defaultdict
from collections.abc import Iterable
from itertools import product

import numpy as np

from veil.core.errors import InputError
from veil.dp.local.aggregate import (
    Aggregate,
    Candidate,
    Counts,
    Mean,
    bonferroni,
    is_several,
    list_candidates,
    readable,
)
from veil.dp.local.hashing import text_hashes
from veil.dp.local.oracle import Oracle
from veil.dp.local.oracles import oracle as named
from veil.dp.local.oracles.hcms import unflip
from veil.dp.local.oracles.sfp import LETTERS, SFP, Puzzle, fragment, piece_of
from veil.dp.local.reports import Reports

Some = Reports | Iterable[Reports]
_NONE = "Estimates are made of Reports, or of an iterable of them."


@readable()
def aggregate(oracle: str | Oracle, candidates: Iterable[Candidate] | None = None) -> Aggregate:
    """Return what adds up reports of an oracle, in memory that does not grow with them.

    ``.add(reports)`` takes block after block, ``.estimate(candidates)`` may be asked at any time.
    Of olh the candidates must be named here.
    """
    chosen = named(oracle)
    if candidates is None or chosen.takes == "reals":
        return chosen.aggregate()
    return chosen.aggregate(chosen.check(list_candidates(candidates)))


def estimate(reports: Some, candidates: Iterable[Candidate] | None = None) -> Counts:
    """Estimate how many reports are of each candidate: texts or codes, as the oracle takes them.

    Parameters
    ----------
    reports
        Reports, or an iterable of blocks of them, which are read once.
    candidates
        What to count. None for all codes from 0 to size - 1, where the oracle takes codes (grr,
        oue, dbitflip); of texts nobody knows which there are, so they must be named.

    Examples
    --------
    >>> from veil.dp.local.reports import report
    >>> counts = estimate(report([0, 2, 2, 1], "grr(epsilon=50, size=3)", rng=1))
    >>> counts.candidates, counts.counts.round().tolist()
    ((0, 1, 2), [1.0, 1.0, 2.0])
    """
    given = None if candidates is None else list_candidates(candidates)
    return add_reports(reports, given).estimate(given)


def estimate_mean(reports: Some) -> Mean:
    """Estimate the mean of what was reported (one_bit)."""
    return add_reports(reports).mean()


def add_reports(reports: Some, candidates: Iterable[Candidate] | None = None) -> Aggregate:
    """Add up reports, or blocks of reports."""
    if not (isinstance(reports, Reports) or is_several(reports)):
        raise InputError(_NONE)
    total: Aggregate | None = None
    for block in [reports] if isinstance(reports, Reports) else reports:
        if not isinstance(block, Reports):
            raise InputError(_NONE)
        if total is None:
            total = aggregate(block.oracle, candidates)
        total.add(block)
    if total is None:
        raise InputError("There must be at least one report; there is none.")
    return total


_PIECES = 256
_JOINS = 2**18  # ways to put fragments of one piece together that are tried

Kept = dict[int, list[str]]  # letters by piece, the most frequent first


@readable()
def discover(reports: Some) -> Counts:
    """Find texts in reports of sfp, the most frequent first, with their counts.

    At each position the `keep` most frequent fragments are kept; those of one piece are joined in
    all ways, and joins whose own piece is another are dropped. What is left is estimated in the
    sketch of whole texts, and is told if it is significant for the number of joins (5 %,
    Bonferroni). Several thousand clients per text are needed, and so few that nothing can be
    significant are refused; texts with letters that are not in the alphabet are not found, and
    longer ones are found cut.
    """
    puzzle = add_reports(reports)
    if not isinstance(puzzle, Puzzle) or not isinstance(puzzle.oracle, SFP):
        raise InputError("Texts are discovered in reports of sfp; of others, name candidates.")
    oracle = puzzle.oracle
    letters = _letters(oracle)
    needed = least(oracle, len(letters))
    if puzzle.n < needed:
        raise InputError(
            f"Texts are discovered in at least {needed:,} reports of this oracle, and there are"
            f" {puzzle.n:,}: even a text that all of them are of could not be told from chance."
        )
    kept = [_best(puzzle, oracle, turn, letters) for turn in range(len(oracle.places))]
    texts, tried = _joined(kept)
    if not texts:
        return Counts((), np.zeros(0), np.zeros(0))
    counts = puzzle.estimate(texts)
    found = np.flatnonzero(counts.counts > bonferroni(tried) * counts.stderr)
    return counts.take(found[np.argsort(-counts.counts[found], kind="stable")])


def least(oracle: SFP, letters: int) -> int:
    """Return how many reports it takes at least until a fragment that all have is significant.

    Each position has its share of the reports, in which one fragment is told from all others.
    """
    error = unflip(oracle.epsilon / 2) * oracle.width / (oracle.width - 1)
    return math.ceil(len(oracle.places) * (bonferroni(_PIECES * letters) * error) ** 2)


def _letters(oracle: SFP) -> list[str]:
    """Return all fragments of letters."""
    alphabet = sorted({*oracle.alphabet, " "})
    return ["".join(pair) for pair in product(alphabet, repeat=LETTERS)]


def _best(puzzle: Puzzle, oracle: SFP, turn: int, letters: list[str]) -> Kept:
    """Return the most frequent fragments of a position, by piece."""
    place = oracle.places[turn]
    written = (fragment(place, piece, pair) for piece in range(_PIECES) for pair in letters)
    counts = puzzle.fragments(turn, text_hashes(written))
    best = np.argsort(-counts, kind="stable")[: oracle.keep]
    kept: Kept = defaultdict(list)
    for piece, pair in zip(*np.divmod(best, len(letters)), strict=True):
        kept[int(piece)].append(letters[pair])
    return kept


def _joined(kept: list[Kept]) -> tuple[list[str], int]:
    """Return the texts whose fragments are there, without the spaces at their ends.

    The number of all joins is told beside them.
    """
    texts: dict[str, None] = {}
    tried = 0
    for piece in sorted(set.intersection(*map(set, kept))):
        fragments = _fewer([found[piece] for found in kept])
        for parts in product(*fragments):
            tried += 1
            if piece_of("".join(parts)) == piece:
                texts["".join(parts).rstrip(" ")] = None
    return list(texts), tried


def _fewer(fragments: list[list[str]]) -> list[list[str]]:
    """Leave the least frequent out until all joins can be tried."""
    while np.prod([len(found) for found in fragments], dtype=np.float64) > _JOINS:
        most = max(map(len, fragments))
        fragments = [found[: most - 1] for found in fragments]
    return fragments
