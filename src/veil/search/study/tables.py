"""Tables and texts that a study makes of its own log or collection, for cover and blind."""

import hashlib
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from veil.core.errors import InputError
from veil.corpus.collection import Collection
from veil.corpus.tokens import folded
from veil.cover.builder import CELL, WORDS, build
from veil.cover.table import VERSION, Table, open_table
from veil.cover.universe import Universe, titles_of
from veil.data.arrays import discard
from veil.data.fetch import Report, cache_folder
from veil.data.files import whole_file
from veil.studies.experiment import digest
from veil.text.attacks.log import QueryLog
from veil.text.mechanisms.mechanism import TextMechanism
from veil.text.mechanisms.queries.blind import Blind
from veil.text.mechanisms.queries.cover import Cover

HALF, LOG, PASSAGES, TITLES = "half", "log", "passages", "titles"
OWN = (HALF, LOG, PASSAGES, TITLES)  # universes that a study has by itself


class Tables:
    """Gives mechanisms of a study the universe that they name.

    ``half`` is every second query of the log, without those of the study: most of what is asked
    is then not in the table. ``log`` is all of it. ``passages`` and ``titles`` are those of the
    collection.
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
        """Return a mechanism that can be used as it is: its universe is a folder or a file.

        In a study a group has as many texts as there are variants.
        """
        if isinstance(mechanism, Blind) and mechanism.source in OWN:
            made = {"source": str(self._file(mechanism.source)), "count": size}
            return mechanism.model_copy(update=made)
        if isinstance(mechanism, Cover):
            mechanism = with_universe(mechanism, universe)
            if mechanism.table in OWN:
                folder = self._table(mechanism, size)
                left = {"table": str(folder), "tracks": None, "cell": None, "words": None}
                return mechanism.model_copy(update=left)
        return mechanism

    def named(self, mechanism: TextMechanism, size: int, universe: str = "") -> str:
        """Name a universe by its content, without building anything; "" for all others."""
        if isinstance(mechanism, Cover):
            mechanism = with_universe(mechanism, universe)
        name = getattr(mechanism, "table", None) or getattr(mechanism, "source", "")
        if name in OWN:
            return f"{VERSION} {self._digest(name)} {size}"
        if isinstance(mechanism, Cover):
            return mechanism.open(self._report).digest
        return ""

    def source(self, size: int) -> str:
        """Name what so many blind texts are taken from: half of the log, or titles; or nothing."""
        for name in (HALF, TITLES):
            with suppress(InputError):
                if len(self._universe(name)) >= size:
                    return name
        return ""

    def _table(self, mechanism: Cover, size: int) -> Path:
        cell = CELL if mechanism.cell is None else mechanism.cell
        words = WORDS if mechanism.words is None else mechanism.words
        size = -(-size // mechanism.ahead)
        told = f"{VERSION} {self._digest(mechanism.table)} {size} {cell} {words}"
        mark = hashlib.blake2b(told.encode(), digest_size=12).hexdigest()
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
        return digest([*universe.texts, "", *map(str, universe.counts.tolist())])

    def _universe(self, name: str) -> Universe:
        if name not in self._universes:
            self._universes[name] = self._made(name)
        return self._universes[name]

    @cached_property
    def _universes(self) -> dict[str, Universe]:
        return {}

    def _made(self, name: str) -> Universe:
        documents = self._collection.documents
        if name in (PASSAGES, TITLES):
            texts = documents.passages if name == PASSAGES else titles_of(documents)
            return Universe.of(texts, f"{self._collection.name}, {name}", counted=False)
        if self._log is None:
            raise InputError(
                f"The universe '{name}' of cover needs a log of queries; name one as the 'log' of"
                " the study, or take passages, titles, or wordnet."
            )
        if name == LOG:
            return Universe.of(self._log.texts, "the log")
        asked = set(map(folded, self._queries))
        others = [text for text in self._log.texts if folded(text) not in asked]
        return Universe.of(others[::2], "half of the log")


def with_universe(mechanism: Cover, universe: str) -> Cover:
    """Put the universe of the study in place of the default one."""
    usual = Cover.model_fields["table"].default
    if universe and mechanism.table == usual:
        return mechanism.model_copy(update={"table": universe})
    return mechanism


def _keep(table: Table, folder: Path) -> None:
    try:
        table.save(folder)
    except InputError:
        if not folder.is_dir():  # another process may have been faster
            raise
