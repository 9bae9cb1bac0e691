"""Pre-flight check: local attackers try the exact variants before anything is sent."""

import threading
from collections import OrderedDict
from collections.abc import Sequence

from veil.core.errors import ParameterError, VeilError
from veil.core.types import Encoder
from veil.corpus.collection import Collection
from veil.corpus.logs import read_log
from veil.corpus.tokens import check_text
from veil.data.fetch import Report, no_progress
from veil.proxy.preparation import Preparation
from veil.proxy.settings import PreflightResult, TruthRank
from veil.text.attacks import ATTACKS
from veil.text.attacks.bayes import Bayes
from veil.text.attacks.inference import Inference
from veil.text.attacks.single import Single, SingleBayes, SingleGroups, SingleInference
from veil.text.log import QueryLog
from veil.text.mechanisms.mechanism import QueryMechanism, TextMechanism, WordMechanism, table_of
from veil.text.mechanisms.queries.cover import Cover
from veil.text.vectors.embeddings import Embeddings

_MECHANISMS = 8  # mechanisms with an attacker in memory; the least recently used is dropped

Made = Preparation[Single | None]


def open_preflight_log(name: str | None, collection: Collection | None) -> QueryLog | None:
    """Return the log for the check, or None if there is none.

    `name` is a file with one query per line, possibly compressed, or ``irds:ID``. Without it,
    the log of the collection is used, if any.
    """
    if name is not None:
        return QueryLog.of(read_log(name))
    if collection is None or not collection.log:
        return None
    return QueryLog.of(collection.log)


class Preflight:
    """Rank the true query among those of a log, as an attacker who sees its variants would.

    The query joins the log in memory only. Nothing that depends on it or its variants is written:
    on disk are only the vectors of the log, the normalisers of its words, and what follows from
    the word vectors. The rank is 1 + the number of other queries with a higher score; ties are
    counted separately. A query missing from the log joins it as its last entry, as in
    `veil.attack`.

    Parameters
    ----------
    log
        Queries of other people that the engine may know. A larger log is a stronger attacker.
    encoder
        Text encoder of the inference attacker.
    attackers
        ``inference`` and ``bayes``, possibly with parameters, such as ``bayes(prior=frequency)``.

    Notes
    -----
    A rank is not a guarantee: the engine may have a better attacker or a different log. Choosing
    among samples by their rank is outside the mechanism's formal guarantee.
    """

    def __init__(
        self,
        log: QueryLog,
        encoder: str | Encoder = "minilm",
        attackers: Sequence[str] = ("inference", "bayes"),
    ) -> None:
        self._log, self._encoder = log, encoder
        self._attackers = {name: _attacker(name) for name in attackers}
        self._lock = threading.Lock()
        self._bayes: OrderedDict[tuple[str, str, int], Made] = OrderedDict()
        self._one_by_one = threading.Lock()  # one attacker is prepared at a time
        self._inference = self._nearest()

    @property
    def size(self) -> int:
        """Number of queries in the log."""
        return len(self._log)

    def start(self, mechanism: TextMechanism, space: Embeddings | None) -> None:
        """Prepare the attackers for a mechanism in the background; return at once.

        Attackers that are ready, in preparation or failed are skipped.
        """
        for preparation in self._preparations(mechanism, space).values():
            if preparation is not None:
                preparation.start()

    def prepare(
        self, mechanism: TextMechanism, space: Embeddings | None, report: Report = no_progress
    ) -> None:
        """Prepare the attackers for a mechanism and wait; those that failed are tried again."""
        for preparation in self._preparations(mechanism, space, again=True).values():
            if preparation is not None:
                _finish(preparation, report)

    def check(
        self,
        query: str,
        variants: Sequence[str],
        mechanism: TextMechanism,
        space: Embeddings | None,
        *,
        wait: bool = False,
    ) -> PreflightResult:
        """Return the rank of the true query; the query never leaves the memory of this process.

        Unless `wait` is set, attackers that are not ready are started and named in `waiting`.
        `unable` names those that cannot be used: bayes without word vectors, against a mechanism
        that rewrites whole queries by rules, or for queries that would take it minutes, such as
        those of more than 64 words; also any whose preparation failed, unless `wait` is set, which
        raises the error.
        """
        text = check_text(query, "The query")
        row = tuple(check_text(variant, "A variant") for variant in variants)
        candidates = self.size + (self._log.place(text) < 0)
        ranks: list[TruthRank] = []
        waiting: list[str] = []
        unable: list[str] = []
        for name, preparation in self._preparations(mechanism, space).items():
            done = preparation is None or _begun(preparation, wait=wait)
            ready = None if preparation is None or not done else preparation.made
            result = None if ready is None else ready.rank(text, row)
            if result is not None:
                rank, ties = result
                ranks.append(TruthRank(name, rank, candidates, ties))
            else:
                (unable if done else waiting).append(name)
        return PreflightResult(tuple(ranks), tuple(waiting), tuple(unable))

    def _preparations(
        self, mechanism: TextMechanism, space: Embeddings | None, *, again: bool = False
    ) -> dict[str, Made | None]:
        """Return the preparation of each attacker, or None if it cannot be used.

        Against cover, `bayes` is exact and no other attacker guesses better, so only it is used.
        """
        exact = isinstance(mechanism, Cover) and any(
            isinstance(spec, Bayes) for spec in self._attackers.values()
        )
        with self._lock:
            preparations: dict[str, Made | None] = {}
            for name, spec in self._attackers.items():
                if isinstance(spec, Bayes):
                    preparations[name] = self._likeliest(name, spec, mechanism, space, again=again)
                    continue
                if exact:
                    continue
                if again and self._inference.failure:
                    self._inference = self._nearest()
                preparations[name] = self._inference
            return preparations

    def _nearest(self) -> Made:
        def make(report: Report) -> Single:
            return SingleInference.ready(self._log, self._encoder, report)

        return Preparation("The inference attacker", make)

    def _likeliest(
        self,
        name: str,
        spec: Bayes,
        mechanism: TextMechanism,
        space: Embeddings | None,
        *,
        again: bool,
    ) -> Made | None:
        table = table_of(mechanism) if isinstance(mechanism, QueryMechanism) else None
        words = isinstance(mechanism, WordMechanism) and space is not None
        if table is None and not words:
            return None
        key = (name, str(mechanism), id(space))  # `make` keeps the space alive: its id is unique
        preparation = self._bayes.get(key)
        if preparation is None or (again and preparation.failure):

            def make(report: Report) -> Single | None:
                with self._one_by_one:
                    if table is not None:
                        return SingleGroups.ready(spec, self._log, table, report)
                    return SingleBayes.ready(spec, self._log, mechanism, space, report)  # type: ignore[arg-type]  # words

            preparation = self._bayes[key] = Preparation("The bayes attacker", make)
        self._bayes.move_to_end(key)
        while len(self._bayes) > _MECHANISMS:
            self._bayes.popitem(last=False)
        return preparation


def _attacker(spec: str) -> Bayes | Inference:
    """Parse the spec of an attacker that can handle one query at a time."""
    attacker = ATTACKS.parse(spec)
    if isinstance(attacker, Bayes):
        return attacker
    if isinstance(attacker, Inference) and attacker == Inference():
        return attacker
    raise ParameterError(
        "The attackers of a pre-flight check must be 'inference', whose model is the 'encoder'"
        f" argument, or 'bayes'. Got {attacker.name} instead."
    )


def _begun(preparation: Made, *, wait: bool) -> bool:
    """Start a preparation if necessary; return whether it is done."""
    if wait:
        _finish(preparation, no_progress)
    else:
        preparation.start()
    return preparation.done


def _finish(preparation: Made, report: Report) -> None:
    """Wait for a preparation, and raise its failure."""
    preparation.wait(report)
    if preparation.failure:
        raise VeilError(preparation.failure)
