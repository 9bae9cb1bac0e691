"""The material of a study, opened when it is first needed and once per process."""

import hashlib
from contextlib import suppress
from functools import cached_property, lru_cache

import numpy as np

from veil.attacks import ATTACKS
from veil.attacks._boxes import Boxes
from veil.attacks._likelihood import likelihood
from veil.attacks.attack import EncoderAttack
from veil.attacks.log import QueryLog
from veil.core.errors import InputError, LawError, ParameterError
from veil.core.protocols import Encoder, Engine
from veil.data.assets import load_embeddings
from veil.data.collection import Collection
from veil.data.collections import load_collection
from veil.data.embeddings import Embeddings
from veil.data.fetch import Report, silent
from veil.data.strings import Strings
from veil.encoders.find import encoder
from veil.mechanisms.find import mechanism
from veil.mechanisms.words.mechanism import WordMechanism
from veil.retrieval.engines import ENGINES
from veil.retrieval.pipeline import check_query
from veil.retrieval.rerank import Reranker, reranker
from veil.studies._log import read_log
from veil.studies.study import Study


class Bench:
    """Collection, queries, log, vectors, engines and encoders of a study."""

    def __init__(self, study: Study, report: Report = silent) -> None:
        self.study = study
        self._report = report
        self._engines: dict[str, Engine] = {}

    @cached_property
    def collection(self) -> Collection:
        """The documents, with queries and judgements."""
        return load_collection(self.study.collection, self._report)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The queries of the study: those with judgements, taken evenly."""
        judgements = self.collection.judgements
        judged = [
            name
            for name in self.collection.queries
            if any(grade > 0 for grade in judgements.get(name, {}).values())
        ]
        if not judged:
            raise InputError(
                f"The collection {self.collection.name} has no query with a relevant document, so"
                " that no utility can be measured; choose one that has."
            )
        wanted = min(self.study.queries or len(judged), len(judged))
        return tuple(judged[i * len(judged) // wanted] for i in range(wanted))

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The texts of the queries."""
        return tuple(check_query(self.collection.queries[name]) for name in self.names)

    @cached_property
    def space(self) -> Embeddings:
        """The word vectors."""
        return load_embeddings(self.study.vectors, self._report)

    @cached_property
    def _log(self) -> tuple[QueryLog, int]:
        if self.study.log != "collection":
            found = QueryLog.of(read_log(self.study.log))
        elif self.collection.log:
            found = QueryLog.of(self.collection.log)
        else:
            raise InputError(
                f"The collection {self.collection.name} has no log of its own; name a file of"
                " queries, one per line, as the 'log' of the study."
            )
        found = _evenly(found, self.study.log_size)
        bigger, missing = found.with_queries(self.texts)
        return (bigger if self.study.add_queries_to_log else found), missing

    @property
    def log(self) -> QueryLog:
        """The attacker's log."""
        return self._log[0]

    @property
    def missing(self) -> int:
        """Number of distinct queries that the log did not hold."""
        return self._log[1]

    @cached_property
    def encoder(self) -> Encoder | None:
        """What re-ranks, and measures how near two texts are."""
        chosen = self.study.encoder
        return None if chosen == "none" else encoder(chosen, self._report)

    def engine(self, spec: str) -> Engine:
        """Open an engine over the collection; it must be on this machine."""
        if spec not in self._engines:
            opened = ENGINES.parse(spec).open(self.collection, self._report)
            if opened.network:
                raise ParameterError(
                    f"The releases of a study are seeded and not private, so that {spec} is not"
                    " asked over the network; name an engine on this machine, such as bm25."
                )
            self._engines[spec] = opened
        return self._engines[spec]

    def reranker(self, spec: str) -> Reranker | None:
        """Return what orders the answers of an engine by the true query."""
        if self.encoder is None:
            return None
        return reranker(self.encoder, self.engine(spec), self._report)

    def prepare(self, attacker: str, spec: str) -> None:
        """Have on disk what an attacker needs: the log's vectors, or tables of the vocabulary."""
        chosen = ATTACKS.parse(attacker)
        if isinstance(chosen, EncoderAttack) and "log" in chosen.needs:
            self.log.vectors(encoder(chosen.encoder, self._report), self._report)
        attacked = mechanism(spec)
        if "mechanism" in chosen.needs and isinstance(attacked, WordMechanism):
            with suppress(LawError, ParameterError):  # a gap, when the attack is made
                law = likelihood(attacked, self.space)
                if isinstance(law, Boxes):
                    law.prepare(np.empty(0, dtype=np.int64), self._report)

    @cached_property
    def query_digest(self) -> str:
        """Digest of the names and texts of the queries."""
        return _digest(*self.names, "", *self.texts)

    @cached_property
    def collection_digest(self) -> str:
        """Digest of the documents, and of the judgements of the queries."""
        judged = (
            f"{name}\t{item}\t{grade}"
            for name in self.names
            for item, grade in sorted(self.collection.judgements[name].items())
        )
        return _digest(self.collection.documents.digest, *judged)

    @cached_property
    def log_digest(self) -> str:
        """Digest of the log and of how often each query is in it."""
        return _digest(*self.log.texts, "", *map(str, self.log.counts.tolist()))

    @cached_property
    def space_digest(self) -> str:
        """Digest of the words and of their vectors."""
        made = hashlib.sha256(_digest(*self.space.words).encode())
        made.update(np.ascontiguousarray(self.space.vectors).data)
        return made.hexdigest()


@lru_cache(maxsize=2)
def bench(study: Study) -> Bench:
    """Return the material of a study: the same for every step that this process computes."""
    return Bench(study)


def _digest(*parts: str) -> str:
    made = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        made.update(len(data).to_bytes(8, "little") + data)
    return made.hexdigest()


def _evenly(log: QueryLog, size: int) -> QueryLog:
    """Take queries from the whole length of a log."""
    if not 0 < size < len(log):
        return log
    places = np.arange(size) * len(log) // size
    return QueryLog(Strings.of(log.texts[int(i)] for i in places), log.counts[places])
