"""Pre-flight: local attackers try the very variants before anything is sent."""

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

_MECHANISMS = 8  # for which an attacker is held ready; the one asked for longest ago goes first

Made = Preparation[Single | None]


def open_preflight_log(name: str | None, collection: Collection | None) -> QueryLog | None:
    """Return the log to check against, or None if there is none.

    `name` is a file with one query per line, also a compressed one, or ``irds:ID``; without it,
    the log of the collection is taken, if it has one.
    """
    if name is not None:
        return QueryLog.of(read_log(name))
    if collection is None or not collection.log:
        return None
    return QueryLog.of(collection.log)


class Preflight:
    """Says where a query stands among those of a log for one who sees its variants.

    The query joins the log in memory only, and nothing that depends on it or on its variants is
    written: on disk are the vectors of the log, the normalisers of its words, and what follows
    from the word vectors alone. A rank is the one that the attacker would give the query if its
    log held it: 1 + the number of other queries that score higher, or as high and come earlier.
    A query that the log lacks comes last, as for `veil.attack` with a log that it has joined.

    Parameters
    ----------
    log
        Queries of others: what an engine may know. A larger one knows better.
    encoder
        The model of texts of the inference attacker.
    attackers
        ``inference`` and ``bayes``, also with parameters, as ``bayes(prior=frequency)``.

    Notes
    -----
    A standing is no guarantee: an engine may have a better attacker, and another log. And a
    choice among draws by what they show is outside of the formal guarantee of the mechanism.
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
        self._one_by_one = threading.Lock()  # laws are prepared one after the other
        self._inference = self._nearest()

    @property
    def size(self) -> int:
        """Number of queries of the log."""
        return len(self._log)

    def start(self, mechanism: TextMechanism, space: Embeddings | None) -> None:
        """Prepare the attackers for a mechanism in the background; return at once.

        What is ready, under way, or failed before is left alone.
        """
        for made in self._made(mechanism, space).values():
            if made is not None:
                made.start()

    def prepare(
        self, mechanism: TextMechanism, space: Embeddings | None, report: Report = no_progress
    ) -> None:
        """Prepare the attackers for a mechanism and wait; what failed before is tried again."""
        for made in self._made(mechanism, space, again=True).values():
            if made is not None:
                _finish(made, report)

    def check(
        self,
        query: str,
        variants: Sequence[str],
        mechanism: TextMechanism,
        space: Embeddings | None,
        *,
        wait: bool = False,
    ) -> PreflightResult:
        """Return where the true query stands; nothing of it leaves the memory of this process.

        Attackers that are not ready are started and named in `waiting`, unless `wait`. Those that
        cannot be used are named in `unable`: bayes against a mechanism that rewrites whole
        queries by rules, or without word vectors, or where a query would take it minutes, as one
        of more than 64 words does; and one whose preparation failed, unless `wait`, which tells
        why.
        """
        text = check_text(query, "The query")
        row = tuple(check_text(variant, "A variant") for variant in variants)
        candidates = self.size + (self._log.place(text) < 0)
        standings: list[TruthRank] = []
        waiting: list[str] = []
        unable: list[str] = []
        for name, made in self._made(mechanism, space).items():
            done = made is None or _begun(made, wait=wait)
            ready = None if made is None or not done else made.made
            found = None if ready is None else ready.rank(text, row)
            if found is not None:
                rank, ties = found
                standings.append(TruthRank(name, rank, candidates, ties))
            else:
                (unable if done else waiting).append(name)
        return PreflightResult(tuple(standings), tuple(waiting), tuple(unable))

    def _made(
        self, mechanism: TextMechanism, space: Embeddings | None, *, again: bool = False
    ) -> dict[str, Made | None]:
        """Return what each attacker needs, begun or not; None for one that cannot be used.

        Against cover `bayes` is exact, and no other guesses better: it is asked alone.
        """
        exact = isinstance(mechanism, Cover) and any(
            isinstance(spec, Bayes) for spec in self._attackers.values()
        )
        with self._lock:
            found: dict[str, Made | None] = {}
            for name, spec in self._attackers.items():
                if isinstance(spec, Bayes):
                    found[name] = self._likeliest(name, spec, mechanism, space, again=again)
                    continue
                if exact:
                    continue
                if again and self._inference.failure:
                    self._inference = self._nearest()
                found[name] = self._inference
            return found

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
        key = (name, str(mechanism), id(space))  # `make` holds the space: its id stays its own
        found = self._bayes.get(key)
        if found is None or (again and found.failure):

            def make(report: Report) -> Single | None:
                with self._one_by_one:
                    if table is not None:
                        return SingleGroups.ready(spec, self._log, table, report)
                    return SingleBayes.ready(spec, self._log, mechanism, space, report)  # type: ignore[arg-type]  # words

            found = self._bayes[key] = Preparation("The bayes attacker", make)
        self._bayes.move_to_end(key)
        while len(self._bayes) > _MECHANISMS:
            self._bayes.popitem(last=False)
        return found


def _attacker(spec: str) -> Bayes | Inference:
    """Read the spec of an attacker that can be asked about one query at a time."""
    found = ATTACKS.parse(spec)
    if isinstance(found, Bayes):
        return found
    if isinstance(found, Inference) and found == Inference():
        return found
    raise ParameterError(
        "The attackers of a pre-flight check must be 'inference', whose model is the 'encoder'"
        f" argument, or 'bayes'. Got {found.name} instead."
    )


def _begun(made: Made, *, wait: bool) -> bool:
    """Begin what was not begun; tell whether it is done."""
    if wait:
        _finish(made, no_progress)
    else:
        made.start()
    return made.done


def _finish(made: Made, report: Report) -> None:
    """Wait until it is done, and tell of a failure."""
    made.wait(report)
    if made.failure:
        raise VeilError(made.failure)
