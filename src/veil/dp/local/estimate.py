"""Estimate counts, means and unlisted texts from local reports."""

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

Blocks = Reports | Iterable[Reports]
_NONE = "Estimates need Reports, or an iterable of Reports."


@readable()
def aggregate(oracle: str | Oracle, candidates: Iterable[Candidate] | None = None) -> Aggregate:
    """Return an aggregate of reports, whose memory does not grow with their number.

    Call ``.add(reports)`` for each block and ``.estimate(candidates)`` at any time. For olh, pass
    the candidates here.
    """
    component = named(oracle)
    if candidates is None or component.takes == "reals":
        return component.aggregate()
    return component.aggregate(component.check(list_candidates(candidates)))


def estimate(reports: Blocks, candidates: Iterable[Candidate] | None = None) -> Counts:
    """Estimate how many reports are of each candidate.

    Parameters
    ----------
    reports
        Reports, or an iterable of blocks of them, which are read once.
    candidates
        Texts or codes to count, as the mechanism takes them. None counts all codes from 0 to
        size - 1 (grr, oue, dbitflip); mechanisms for texts need candidates.

    Examples
    --------
    >>> from veil.dp.local.reports import report
    >>> counts = estimate(report([0, 2, 2, 1], "grr(epsilon=50, size=3)", rng=1))
    >>> counts.candidates, counts.counts.round().tolist()
    ((0, 1, 2), [1.0, 1.0, 2.0])
    """
    listed = None if candidates is None else list_candidates(candidates)
    return add_reports(reports, listed).estimate(listed)


def estimate_mean(reports: Blocks) -> Mean:
    """Estimate the mean of the reported numbers (one_bit)."""
    return add_reports(reports).mean()


def add_reports(reports: Blocks, candidates: Iterable[Candidate] | None = None) -> Aggregate:
    """Return the aggregate of reports, or of blocks of reports."""
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
        raise InputError("At least one report is required.")
    return total


_PIECES = 256
_JOINS = 2**18  # joins of fragments of one piece that are tried

Fragments = dict[int, list[str]]  # letters by piece, the most frequent first


@readable()
def discover(reports: Blocks) -> Counts:
    """Return frequent texts in reports of sfp, with their counts, the most frequent first.

    The `keep` most frequent fragments of each position are joined in all ways within one piece,
    and joins that hash to a different piece are dropped. The remaining texts are estimated in the
    sketch of whole texts, and returned if significant for the number of joins tried (5 %,
    Bonferroni). Discovery needs several thousand clients per text; too few reports for any
    significant result are rejected. Texts with letters outside the alphabet are not found, and
    longer texts are cut to `length`.
    """
    puzzle = add_reports(reports)
    if not isinstance(puzzle, Puzzle) or not isinstance(puzzle.oracle, SFP):
        raise InputError(
            "Only reports of sfp allow discovery. For other mechanisms, pass candidates."
        )
    oracle = puzzle.oracle
    letters = _letters(oracle)
    needed = least(oracle, len(letters))
    if puzzle.n < needed:
        raise InputError(
            f"Discovery needs at least {needed:,} reports of this mechanism. Got {puzzle.n:,}"
            " instead, in which even a text that all clients have would not be significant."
        )
    fragments = [_best(puzzle, oracle, turn, letters) for turn in range(len(oracle.places))]
    texts, tried = _joined(fragments)
    if not texts:
        return Counts((), np.zeros(0), np.zeros(0))
    counts = puzzle.estimate(texts)
    significant = np.flatnonzero(counts.counts > bonferroni(tried) * counts.stderr)
    return counts.take(significant[np.argsort(-counts.counts[significant], kind="stable")])


def least(oracle: SFP, letters: int) -> int:
    """Return the number of reports at which a fragment that all clients have is significant.

    Each position has its share of the reports, and is tested for all fragments.
    """
    error = unflip(oracle.epsilon / 2) * oracle.width / (oracle.width - 1)
    return math.ceil(len(oracle.places) * (bonferroni(_PIECES * letters) * error) ** 2)


def _letters(oracle: SFP) -> list[str]:
    """Return the letters of all possible fragments."""
    alphabet = sorted({*oracle.alphabet, " "})
    return ["".join(pair) for pair in product(alphabet, repeat=LETTERS)]


def _best(puzzle: Puzzle, oracle: SFP, turn: int, letters: list[str]) -> Fragments:
    """Return the most frequent fragments at one position, by piece."""
    place = oracle.places[turn]
    written = (fragment(place, piece, pair) for piece in range(_PIECES) for pair in letters)
    counts = puzzle.fragments(turn, text_hashes(written))
    best = np.argsort(-counts, kind="stable")[: oracle.keep]
    by_piece: Fragments = defaultdict(list)
    for piece, pair in zip(*np.divmod(best, len(letters)), strict=True):
        by_piece[int(piece)].append(letters[pair])
    return by_piece


def _joined(positions: list[Fragments]) -> tuple[list[str], int]:
    """Return the texts joined from fragments, without trailing spaces, and the number of joins."""
    texts: dict[str, None] = {}
    tried = 0
    for piece in sorted(set.intersection(*map(set, positions))):
        fragments = _fewer([by_piece[piece] for by_piece in positions])
        for parts in product(*fragments):
            tried += 1
            if piece_of("".join(parts)) == piece:
                texts["".join(parts).rstrip(" ")] = None
    return list(texts), tried


def _fewer(fragments: list[list[str]]) -> list[list[str]]:
    """Drop the least frequent fragments until all joins can be tried."""
    while np.prod([len(position) for position in fragments], dtype=np.float64) > _JOINS:
        most = max(map(len, fragments))
        fragments = [position[: most - 1] for position in fragments]
    return fragments
