"""What the attackers of a score know: a log, and word vectors where they need them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from veil.core.errors import InputError, ParameterError
from veil.corpus.logs import read_log
from veil.data.fetch import Report, silent
from veil.search.study.specs import attacker_specs
from veil.text.attacks import ATTACKS
from veil.text.attacks.log import QueryLog
from veil.text.vectors.assets import load_embeddings
from veil.text.vectors.embeddings import Embeddings


@dataclass(frozen=True)
class Knowledge:
    """Who attacks, and with what."""

    attackers: tuple[str, ...]
    log: QueryLog | None = None
    vectors: str = "glove-100d"
    notes: tuple[str, ...] = ()
    report: Report = silent

    @cached_property
    def space(self) -> Embeddings:
        """The word vectors, opened when an attacker asks for them."""
        return load_embeddings(self.vectors, self.report)


def knowledge(
    specs: Sequence[str],
    log: Path | None,
    texts: Sequence[str],
    *,
    vectors: str = "glove-100d",
    as_is: bool = False,
    report: Report = silent,
) -> Knowledge:
    """Read the log; queries that it lacks are added to it, which is said, unless `as_is`."""
    attackers = attacker_specs(specs)
    if not attackers:
        raise ParameterError("There is no risk without an attacker; name one.")
    asking = next((one for one in attackers if "log" in ATTACKS.parse(one).needs), "")
    if not asking:
        return Knowledge(attackers, None, vectors, (), report)
    if log is None:
        raise InputError(f"The {asking} attacker needs a log of queries; name it with --log.")
    given = QueryLog.of(read_log(log))
    bigger, missing = given.with_queries(texts)
    end = "an attacker cannot find them, and the risk is a lower bound" if as_is else "added to it"
    lacking = f"{missing} of the queries were not in the log: {end}."
    notes = (lacking,) if missing else ()
    return Knowledge(attackers, given if as_is else bigger, vectors, notes, report)
