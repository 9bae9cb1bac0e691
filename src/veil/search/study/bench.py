"""The material of a study, opened when it is first needed and once per process."""

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property

import numpy as np

from veil.core.errors import InputError, LawError, ParameterError, VeilError
from veil.core.types import Encoder, Engine
from veil.corpus.collection import Collection
from veil.corpus.sources import load_collection
from veil.corpus.wordnet import wordnet, wordnet_folder
from veil.data.fetch import Report, silent
from veil.encoders.find import encoder
from veil.search.engines import ENGINES
from veil.search.pipeline import check_query
from veil.search.rerank import Reranker, reranker
from veil.search.study.log import open_log
from veil.search.study.study import SearchStudy
from veil.search.study.tables import Tables
from veil.studies.experiment import digest
from veil.text.attacks import ATTACKS
from veil.text.attacks.log import QueryLog
from veil.text.attacks.posterior import prepare
from veil.text.mechanisms.find import mechanism, mechanism_class
from veil.text.mechanisms.mechanism import TextMechanism, WordMechanism
from veil.text.vectors.assets import load_embeddings
from veil.text.vectors.embeddings import Embeddings


class Bench:
    """Collection, queries, log, vectors, engines and encoders of a study."""

    def __init__(self, study: SearchStudy, report: Report = silent) -> None:
        self.study = study
        self._report = report
        self._engines: dict[str, Engine] = {}
        self._digests: dict[str, str] = {}

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
        found = open_log(self.study.log, self.collection, self.study.log_size)
        bigger, missing = found.with_queries(self.texts)
        return (bigger if self.study.add_queries_to_log else found), missing

    @property
    def log(self) -> QueryLog:
        """The attacker's log."""
        return self._log[0]

    @cached_property
    def tables(self) -> Tables:
        """What mechanisms take from the log or the collection of the study."""
        try:
            log: QueryLog | None = self.log
        except InputError:
            log = None
        return Tables(self.collection, log, self.texts, self._report)

    def mechanism(self, spec: str, size: int) -> TextMechanism:
        """Build a mechanism, with the universe of the study where it names that."""
        return self.tables.settled(mechanism(spec), size, self.study.universe)

    @property
    def missing(self) -> int:
        """Number of distinct queries that the log did not hold."""
        return self._log[1]

    @cached_property
    def encoder(self) -> Encoder | None:
        """What re-ranks, and measures how near two texts are."""
        chosen = self.study.encoder
        return None if chosen == "none" else encoder(chosen, self._report)

    @cached_property
    def synonyms(self) -> bool:
        """Whether METEOR knows synonyms: decided once, before anything is computed.

        WordNet is fetched where a mechanism needs it, else used if it is there.
        """
        names = {grid.spec.partition("(")[0].strip() for grid in self.study.mechanism}
        needed = any("wordnet" in mechanism_class(name).needs for name in names)
        if needed and not wordnet_folder().is_dir():
            with suppress(VeilError):  # it is told when the mechanism is run
                wordnet(report=self._report)
        return wordnet_folder().is_dir()

    def encoder_key(self, spec: str) -> str:
        """Return what names an encoder together with its weights."""
        return encoder(spec, self._report).key

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
        letters = self.study.letters
        return reranker(self.encoder, self.engine(spec), self._report, letters=letters)

    def prepare(self, attacker: str, specs: Sequence[str]) -> None:
        """Have on disk what an attacker needs against these mechanisms."""
        chosen = ATTACKS.parse(attacker)
        knows = "mechanism" in chosen.needs
        attacked = [mechanism(spec) for spec in specs] if knows else []
        words = [one for one in attacked if isinstance(one, WordMechanism)]
        with suppress(LawError, ParameterError):  # a gap, when the attack is made
            prepare(
                chosen,
                words,
                self.texts,
                self.log if "log" in chosen.needs else None,
                self.space if words else None,
                self._report,
            )

    @cached_property
    def query_digest(self) -> str:
        """Digest of the names and texts of the queries."""
        return digest([*self.names, "", *self.texts])

    @cached_property
    def collection_digest(self) -> str:
        """Digest of the documents, and of the judgements of the queries."""
        judged = (
            f"{name}\t{item}\t{grade}"
            for name in self.names
            for item, grade in sorted(self.collection.judgements[name].items())
        )
        return digest([self.collection.documents.digest, *judged])

    def index_digest(self, name: str) -> str:
        """Return the digest of the documents of a collection: that of the study, or another."""
        if name == self.study.collection:
            return self.collection.documents.digest
        if name not in self._digests:
            self._digests[name] = load_collection(name, self._report).documents.digest
        return self._digests[name]

    @cached_property
    def log_digest(self) -> str:
        """Digest of the log and of how often each query is in it."""
        return digest([*self.log.texts, "", *map(str, self.log.counts.tolist())])

    @cached_property
    def space_digest(self) -> str:
        """Digest of the words and of their vectors."""
        made = hashlib.sha256(digest(self.space.words).encode())
        made.update(np.ascontiguousarray(self.space.vectors).data)
        return made.hexdigest()
