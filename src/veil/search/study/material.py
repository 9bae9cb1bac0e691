"""The inputs of a study, opened on first use and once per process."""

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from itertools import chain
from pathlib import Path

import numpy as np

from veil.core.errors import InputError, LawError, ParameterError, VeilError
from veil.core.types import Encoder, Engine
from veil.corpus.catalogue import load_collection
from veil.corpus.collection import Collection
from veil.corpus.icd10cm import NAMES
from veil.corpus.logs import read_log
from veil.corpus.tokens import fold_text
from veil.corpus.wordnet import nouns, wordnet, wordnet_folder
from veil.cover.builder import CELL, WORDS, build
from veil.cover.table import BUILD, Table, open_table
from veil.cover.universe import BUILT_IN, Universe, titles_of
from veil.data.arrays import Strings, discard
from veil.data.fetch import Report, cache_folder, no_progress
from veil.data.files import whole_file
from veil.encoders.catalogue import encoder
from veil.search.engines import ENGINES
from veil.search.pipeline import check_query
from veil.search.rerank import Reranker, reranker
from veil.search.study.study import SearchStudy
from veil.studies.experiment import digest
from veil.text.attacks import ATTACKS
from veil.text.attacks.posterior import prepare
from veil.text.log import QueryLog
from veil.text.mechanisms.catalogue import mechanism, mechanism_class
from veil.text.mechanisms.mechanism import TextMechanism, WordMechanism
from veil.text.mechanisms.queries.blind import Blind
from veil.text.mechanisms.queries.cover import Cover
from veil.text.vectors.catalogue import VECTORS, load_embeddings
from veil.text.vectors.embeddings import Embeddings

OWN_LOG = "collection"
WITH_NOUNS = "collection+wordnet"
LOGS = (OWN_LOG, WITH_NOUNS)


def open_log(name: str, collection: Collection, size: int) -> QueryLog:
    """Return the log of a study, with at most `size` queries if `size` is positive.

    ``collection`` is the log of the collection. ``collection+wordnet`` adds the nouns of WordNet,
    so that not every query is about the collection's subject. Any other `name` is a file.
    """
    if name not in LOGS:
        return _evenly(QueryLog.of(read_log(name)), size)
    if not collection.log:
        raise InputError(
            f"The collection {collection.name} has no query log. Set the study's 'log' to a file"
            " with one query per line."
        )
    more = nouns() if name == WITH_NOUNS else ()
    return _evenly(QueryLog.of(chain(collection.log, more)), size)


def _evenly(log: QueryLog, size: int) -> QueryLog:
    """Return `size` queries, evenly spaced over the log."""
    if not 0 < size < len(log):
        return log
    rows = np.arange(size) * len(log) // size
    return QueryLog(Strings.of(log.texts[int(i)] for i in rows), log.counts[rows])


HALF, LOG, PASSAGES, TITLES = "half", "log", "passages", "titles"
OWN_TABLES = (HALF, LOG, PASSAGES, TITLES)  # candidate texts that a study provides


class StudyTables:
    """Provides the candidate texts that the mechanisms of a study name.

    ``half`` is every second query of the log without the study's queries, so most queries are not
    in the table. ``log`` is the whole log. The popularity of queries is estimated, as for the
    built-in tables. ``passages`` and ``titles`` are those of the collection.
    """

    def __init__(
        self,
        collection: Collection,
        log: QueryLog | None,
        queries: tuple[str, ...],
        report: Report,
    ) -> None:
        self._collection, self._log = collection, log
        self._queries, self._report = queries, report

    def settled(self, mechanism: TextMechanism, size: int, universe: str = "") -> TextMechanism:
        """Return the mechanism with its candidate texts as a folder or file.

        In a study, a cover group has as many texts as there are variants.
        """
        if isinstance(mechanism, Blind) and mechanism.source in OWN_TABLES:
            source = {"source": str(self._file(mechanism.source)), "count": size}
            return mechanism.model_copy(update=source)
        if isinstance(mechanism, Cover):
            mechanism = with_universe(mechanism, universe)
            if mechanism.table in OWN_TABLES:
                folder = self._table(mechanism, size)
                table = {"table": str(folder), "tracks": None, "cell": None, "words": None}
                return mechanism.model_copy(update=table)
        return mechanism

    def content_key(self, mechanism: TextMechanism, size: int, universe: str = "") -> str:
        """Return a key of the content of the mechanism's candidate texts, or "" without any.

        No table is built.
        """
        if isinstance(mechanism, Cover):
            mechanism = with_universe(mechanism, universe)
        name = getattr(mechanism, "table", None) or getattr(mechanism, "source", "")
        if name in OWN_TABLES:
            return f"{BUILD} {self._digest(name)} {size}"
        if isinstance(mechanism, Cover):
            return mechanism.open(self._report).digest
        return ""

    def source(self, size: int) -> str:
        """Return a source of at least `size` texts for blind: half of the log, titles, or ""."""
        for name in (HALF, TITLES):
            with suppress(InputError):
                if len(self._universe(name)) >= size:
                    return name
        return ""

    def _table(self, mechanism: Cover, size: int) -> Path:
        cell = CELL if mechanism.cell is None else mechanism.cell
        words = WORDS if mechanism.words is None else mechanism.words
        size = -(-size // mechanism.ahead)
        description = f"{BUILD} {self._digest(mechanism.table)} {size} {cell} {words}"
        mark = hashlib.blake2b(description.encode(), digest_size=12).hexdigest()
        folder = cache_folder() / "cover" / f"study-{mark}"
        try:
            open_table(folder)
        except InputError:
            discard(folder)
            table = build(self._universe(mechanism.table), size, cell, words, report=self._report)
            _keep(table, folder)
        return folder

    def _file(self, name: str) -> Path:
        file = cache_folder() / "cover" / f"study-{self._digest(name)[:24]}.txt"
        if not file.is_file():
            file.parent.mkdir(parents=True, exist_ok=True)
            with whole_file(file, private=True) as part:
                part.write_text("\n".join(self._universe(name).texts) + "\n", encoding="utf-8")
        return file

    def _digest(self, name: str) -> str:
        universe = self._universe(name)
        counts = map(str, universe.counts.tolist())
        return digest([*universe.texts, "", *counts, universe.popularity])

    def _universe(self, name: str) -> Universe:
        if name not in self._universes:
            self._universes[name] = self._build_universe(name)
        return self._universes[name]

    @cached_property
    def _universes(self) -> dict[str, Universe]:
        return {}

    def _build_universe(self, name: str) -> Universe:
        documents = self._collection.documents
        if name in (PASSAGES, TITLES):
            texts = documents.passages if name == PASSAGES else titles_of(documents)
            return Universe.of(texts, f"{self._collection.name}, {name}", counted=False)
        if self._log is None:
            raise InputError(
                f"The cover table '{name}' needs a query log. Set the study's 'log', or use"
                " passages, titles or wordnet."
            )
        if name == LOG:
            return Universe.of(self._log.texts, "the log").estimated()
        queries = set(map(fold_text, self._queries))
        others = [text for text in self._log.texts if fold_text(text) not in queries]
        return Universe.of(others[::2], "half of the log").estimated()


def with_universe(mechanism: Cover, universe: str) -> Cover:
    """Return the mechanism with the study's table instead of the default one."""
    usual = Cover.model_fields["table"].default
    if universe and mechanism.table == usual:
        return mechanism.model_copy(update={"table": universe})
    return mechanism


def _keep(table: Table, folder: Path) -> None:
    try:
        table.save(folder)
    except InputError:
        if not folder.is_dir():  # unless another process has saved it
            raise


_TABLES = (*OWN_TABLES, *BUILT_IN)
_BUILT_IN_NAMES = {  # values that are not paths, by key
    "vectors": tuple(VECTORS),
    "log": LOGS,
    "table": _TABLES,
    "universe": ("", *_TABLES),
}
_NO_DATASETS = ("vectors", "table", "universe")


def absolute(value: str, key: str, where: str, folder: Path) -> str:
    """Return the absolute path of a file or folder. Built-in names are not changed."""
    names = _BUILT_IN_NAMES.get(key, NAMES)
    if value in names or (key not in _NO_DATASETS and value.startswith("irds:")):
        return value
    with suppress(OSError, ValueError):  # not a valid path
        path = (folder / value).resolve()
        if path.exists():
            return str(path)
    options = ", ".join((*filter(None, names), *(() if key in _NO_DATASETS else ("irds:ID",))))
    raise InputError(
        f"The '{key}' of {where} must be one of {options}, or an existing file or folder. Got"
        f" {value[:80]!r} instead."
    )


class StudyMaterial:
    """Collection, queries, log, vectors, engines and encoders of a study."""

    def __init__(self, study: SearchStudy, report: Report = no_progress) -> None:
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
        """The ids of the study's queries, evenly spaced among those with a relevant document."""
        judgements = self.collection.judgements
        judged = [
            name
            for name in self.collection.queries
            if any(grade > 0 for grade in judgements.get(name, {}).values())
        ]
        if not judged:
            raise InputError(
                f"The collection {self.collection.name} has no query with a relevant document, so"
                " utility cannot be measured. Choose another collection."
            )
        count = min(self.study.queries or len(judged), len(judged))
        return tuple(judged[i * len(judged) // count] for i in range(count))

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
        log = open_log(self.study.log, self.collection, self.study.log_size)
        bigger, missing = log.with_queries(self.texts)
        return (bigger if self.study.add_queries_to_log else log), missing

    @property
    def log(self) -> QueryLog:
        """The attacker's log."""
        return self._log[0]

    @cached_property
    def tables(self) -> StudyTables:
        """The candidate texts from the log or the collection of the study."""
        try:
            log: QueryLog | None = self.log
        except InputError:
            log = None
        return StudyTables(self.collection, log, self.texts, self._report)

    def mechanism(self, spec: str, size: int) -> TextMechanism:
        """Return the mechanism of a spec, with the study's candidate texts if it names them."""
        return self.tables.settled(mechanism(spec), size, self.study.universe)

    @property
    def missing(self) -> int:
        """Number of distinct queries that are missing in the log."""
        return self._log[1]

    @cached_property
    def encoder(self) -> Encoder | None:
        """The encoder that re-ranks results and measures similarity."""
        spec = self.study.encoder
        return None if spec == "none" else encoder(spec, self._report)

    @cached_property
    def synonyms(self) -> bool:
        """Whether METEOR uses synonyms: decided once, before anything is computed.

        WordNet is downloaded if a mechanism needs it. Otherwise it is used if it is present.
        """
        names = {grid.spec.partition("(")[0].strip() for grid in self.study.mechanism}
        needed = any("wordnet" in mechanism_class(name).needs for name in names)
        if needed and not wordnet_folder().is_dir():
            with suppress(VeilError):  # reported when the mechanism runs
                wordnet(report=self._report)
        return wordnet_folder().is_dir()

    def encoder_key(self, spec: str) -> str:
        """Return the key of an encoder and its weights."""
        return encoder(spec, self._report).key

    def engine(self, spec: str) -> Engine:
        """Return an engine over the collection. It must be on this machine."""
        if spec not in self._engines:
            opened = ENGINES.parse(spec).open(self.collection, self._report)
            if opened.network:
                raise ParameterError(
                    f"The releases of a study are seeded and not private, so they cannot be sent"
                    f" to {spec} over the network. Use an engine on this machine, such as bm25."
                )
            self._engines[spec] = opened
        return self._engines[spec]

    def reranker(self, spec: str) -> Reranker | None:
        """Return the re-ranker for the answers of an engine, or None."""
        if self.encoder is None:
            return None
        letters = self.study.letters
        return reranker(self.encoder, self.engine(spec), self._report, letters=letters)

    def prepare(self, attacker: str, specs: Sequence[str]) -> None:
        """Create the data on disk that an attacker needs against these mechanisms."""
        attack = ATTACKS.parse(attacker)
        knows = "mechanism" in attack.needs
        attacked = [mechanism(spec) for spec in specs] if knows else []
        words = [target for target in attacked if isinstance(target, WordMechanism)]
        with suppress(LawError, ParameterError):  # reported as a gap when the attack runs
            prepare(
                attack,
                words,
                self.texts,
                self.log if "log" in attack.needs else None,
                self.space if words else None,
                self._report,
            )

    @cached_property
    def query_digest(self) -> str:
        """Digest of the ids and texts of the queries."""
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
        """Return the digest of the documents of any collection."""
        if name == self.study.collection:
            return self.collection.documents.digest
        if name not in self._digests:
            self._digests[name] = load_collection(name, self._report).documents.digest
        return self._digests[name]

    @cached_property
    def log_digest(self) -> str:
        """Digest of the queries in the log and their counts."""
        return digest([*self.log.texts, "", *map(str, self.log.counts.tolist())])

    @cached_property
    def space_digest(self) -> str:
        """Digest of the words and their vectors."""
        content = hashlib.sha256(digest(self.space.words).encode())
        content.update(np.ascontiguousarray(self.space.vectors).data)
        return content.hexdigest()
