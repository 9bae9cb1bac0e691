"""The trust boundary of the whole search: protect, ask, fuse, re-rank, print."""

import json
import logging
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from numpy.random import Generator
from tests.conftest import make_space
from tests.search.conftest import BagEncoder
from tests.search.engines.misbehaviour import MISBEHAVIOUR, POSTGRES_MISBEHAVIOUR
from tests.search.engines.recording import RecordingServer, contents, leaks
from tests.search.engines.test_canary import ROWS, TRUE_QUERY, Everything, build, everything

import veil
from veil.cli import run
from veil.core.guarantee import Guarantee
from veil.core.types import Ids
from veil.corpus.collection import Collection
from veil.text.mechanisms.mechanism import WordMechanism
from veil.text.vectors.embeddings import Embeddings

__all__ = ["everything"]


class Shift(WordMechanism):
    """Replace every word, always by one that is not of the query: a draw is no leak here."""

    name: ClassVar[str] = "shift"
    paper: ClassVar[str] = "none"

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee("none")

    def bind(self, space: Embeddings) -> "Shift":
        return self

    def sample(self, ids: Ids, size: int, rng: Generator) -> Ids:
        return np.broadcast_to((ids + 7) % 58 + 2, (size, len(ids)))


@pytest.fixture
def space() -> Embeddings:
    """Know two of the three words of the true query, the third is unknown."""
    small = make_space(60, 4)
    names = ("xanthoma", "quokkapox", *small.words[2:])
    return Embeddings(names, small.vectors, "canary")


@pytest.fixture(autouse=True)
def loud(caplog: pytest.LogCaptureFixture) -> None:
    for name in ("", "urllib3", "psycopg", "http", "veil"):
        caplog.set_level(logging.DEBUG, logger=name)


@pytest.mark.parametrize("name", sorted(ROWS))
def test_a_whole_search_over_the_network(
    name: str,
    space: Embeddings,
    encoder: BagEncoder,
    everything: Everything,
) -> None:
    with RecordingServer(ROWS[name][1]) as server:
        engine = build(name, server.port)
        result = veil.search(TRUE_QUERY, Shift(), space, engine, 6, 3, encoder=encoder)
        assert veil.came_back(TRUE_QUERY, result, engine, encoder=encoder) is None
        assert server.connections == len(set(result.variants[0]))
    assert result.ranking.list(0) == ("7",)
    worded = bool(result.ranking.titles[0] or result.ranking.texts[0])
    assert (TRUE_QUERY in encoder.encoded) == worded  # re-ranked by the true query, on this side
    everything.said += [repr(result), str(result.cost)]
    assert leaks(server.blob, TRUE_QUERY) == []
    assert leaks(everything.local(), TRUE_QUERY) == []


@pytest.mark.parametrize("name", sorted(ROWS))
def test_a_whole_search_at_a_bad_engine(
    name: str,
    space: Embeddings,
    encoder: BagEncoder,
    everything: Everything,
) -> None:
    faults = POSTGRES_MISBEHAVIOUR if name == "postgres" else MISBEHAVIOUR
    for serve in faults.values():
        with RecordingServer(serve) as server:
            engine = build(name, server.port, timeout=0.3)
            with pytest.raises(veil.EngineError) as raised:
                veil.search(TRUE_QUERY, Shift(), space, engine, 2, 3, encoder=encoder)
        everything.said += [repr(raised.value), repr(raised.value.__context__)]
        assert leaks(server.blob, TRUE_QUERY) == []
    assert leaks(everything.local(), TRUE_QUERY) == []


def test_a_local_search_writes_nothing_of_the_query(
    space: Embeddings,
    collection: Collection,
    encoder: BagEncoder,
    tmp_path: Path,
    everything: Everything,
) -> None:
    pytest.importorskip("bm25s", reason="the extra 'search' is not installed")
    home = collection.save(tmp_path / "idx")
    engine = veil.engine("bm25", home)
    result = veil.search(TRUE_QUERY, Shift(), space, engine, 6, 30, encoder=encoder)
    veil.came_back(TRUE_QUERY, result, engine, encoder=encoder)
    everything.said.append(repr(result))
    assert (tmp_path / "idx" / "vectors").is_dir()
    assert leaks(everything.local(), TRUE_QUERY) == []


@pytest.mark.parametrize("fault", ["", "junk", "failure"])
def test_the_command_line_prints_and_writes_nothing_of_the_query(
    fault: str,
    space: Embeddings,
    tmp_path: Path,
    everything: Everything,
) -> None:
    lines = [
        " ".join([word, *map(str, vector)])
        for word, vector in zip(space.words[2:], space.vectors[2:], strict=True)
    ]
    (tmp_path / "v.txt").write_text("\n".join(lines) + "\n")
    serve = MISBEHAVIOUR[fault] if fault else ROWS["opensearch"][1]
    with RecordingServer(serve) as server:
        spec = f"opensearch(url={server.url}, index=docs, attempts=1, timeout=60)"
        options = ["--mechanism", "cmp(epsilon=1)", "--vectors", str(tmp_path / "v.txt")]
        options += ["--encoder", "none", "--json", "--record", str(tmp_path / "seen.jsonl")]
        code = run(["search", "--engine", spec, *options, TRUE_QUERY])
    assert code == (2 if fault else 0)
    assert leaks(server.blob, TRUE_QUERY) == []
    if not fault:
        rows = [json.loads(line) for line in (tmp_path / "seen.jsonl").read_text().splitlines()]
        # Connections that find out whether the engine is there carry nothing.
        assert len(rows) == server.blob.count(b" HTTP/1.1\r\n") < server.connections
        assert (tmp_path / "seen.jsonl").stat().st_mode & 0o777 == 0o600
    assert leaks(everything.local(), TRUE_QUERY) == []
    assert leaks(contents(tmp_path), TRUE_QUERY) == []
