"""What was computed for one request is not there for another, whoever asked."""

import numpy as np
import pytest
from tests.proxy.test_private import Open, Web, open_desk, query, web, words  # noqa: F401
from tests.web.conftest import Client

from veil.core.types import Ids
from veil.corpus.wordnet import Thesaurus, wordnet, wordnet_at_hand
from veil.data.memo import private_cache, private_caches
from veil.proxy.settings import Configuration
from veil.text.mechanisms.catalogue import mechanism
from veil.text.mechanisms.words.kernels import CandidateKernel, ExponentialKernel, WeightedRow
from veil.text.protect import protect
from veil.text.vectors.embeddings import Embeddings

SPECS = ("santext(epsilon=1)", "santext(epsilon=1, sensitive_share=0.5)", "tem(epsilon=1)",
         "tem(epsilon=1, metric=angular)", "custext(epsilon=1, k=5)",
         "custext(epsilon=1, k=5, mapping=neighbours)", "wbb(epsilon=1, k=2, n=3)")  # fmt: skip


@pytest.fixture
def laws(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The words whose laws were computed, in their order."""
    rows: list[int] = []
    for kernel in (ExponentialKernel, CandidateKernel):
        compute = kernel._rows

        def spied(self: object, ids: Ids, compute: object = compute) -> list[WeightedRow]:
            rows.extend(ids.tolist())
            result: list[WeightedRow] = compute(self, ids)  # type: ignore[operator]
            return result

        monkeypatch.setattr(kernel, "_rows", spied)
    return rows


def held(space: Embeddings) -> list[object]:
    """Return the names of the laws that are kept with the space, for everybody."""
    return [name for name, entry in space.memo._entries.items() if isinstance(entry, WeightedRow)]


@pytest.mark.parametrize("spec", SPECS)
def test_a_second_request_computes_as_much_as_the_first(
    client: Client, space: Embeddings, laws: list[int], spec: str
) -> None:
    body = {"texts": ["bababa dababa", "bababa"], "mechanism": spec, "size": 3, "select": "all"}
    counts, before = [], held(space)
    for _ in range(3):
        assert client.post("/api/protect", body).status == 200
        counts.append(sorted(laws))
        laws.clear()
    assert counts == [sorted(space.ids(["bababa", "dababa"]).tolist())] * 3
    assert held(space) == before


@pytest.mark.parametrize("spec", SPECS)
def test_what_the_process_did_before_is_not_used(
    client: Client, space: Embeddings, laws: list[int], spec: str
) -> None:
    protect(["bababa"], mechanism(spec), space, select="all")
    laws.clear()
    body = {"texts": ["bababa"], "mechanism": spec, "select": "all"}
    assert client.post("/api/protect", body).status == 200
    assert len(laws) == 1
    protect(["bababa"], mechanism(spec), space, select="all")
    assert len(laws) == 1  # by itself a program has its cache as before


def test_an_unknown_word_costs_what_a_known_one_does(client: Client, laws: list[int]) -> None:
    for text in ("bababa", "quokkapox", "quokkapox", "bababa"):
        laws.clear()
        body = {"texts": [text], "mechanism": "tem(epsilon=1)"}
        assert client.post("/api/protect", body).status == 200
        assert len(laws) == 1


def test_explaining_leaves_nothing(client: Client, laws: list[int]) -> None:
    for spec in ("santext(epsilon=1)", "wbb(epsilon=1, k=2, n=3)"):
        body: dict[str, object] = {"mechanism": spec, "words": ["bababa"]}
        for _ in range(2):
            assert client.post("/api/explain", body).status == 200
    assert laws == []  # it has no use for the laws that are drawn from


def test_a_search_leaves_nothing_and_uses_nothing(
    open_desk: Open,  # noqa: F811
    words: Embeddings,  # noqa: F811
    laws: list[int],
) -> None:
    desk, setting = open_desk(), Configuration("santext(epsilon=1.0)", 2)
    item, other, third = words.words[3], words.words[9], words.words[20]
    desk.search(f"{item} {other}", setting)
    assert sorted(laws) == [3, 9]
    laws.clear()
    desk.search(item, Configuration("santext(epsilon=1.0)", 2))  # too far from the first to share
    samples = list(laws)
    laws.clear()
    desk.search_all([third, words.words[21]], setting)  # in threads of their own
    assert sorted(laws) == [20, 21]
    laws.clear()
    protect([f"{item} {third}"], mechanism("santext(epsilon=1)"), words)
    assert sorted(laws) == [3, 20]
    assert samples in ([], [3])


def test_work_apart_has_caches_of_its_own() -> None:
    with private_caches():
        first: list[int] | None = private_cache("a", list)
        assert first is private_cache("a", list)
        with private_caches():
            assert private_cache("a", list) is not first
        assert private_cache("a", list) is first
        assert private_cache("b", dict) == {}
    assert private_cache("a", list) is None
    with pytest.raises(ValueError, match="x"), private_caches():
        raise ValueError("x")
    assert private_cache("a", list) is None


def test_a_large_request_has_bounded_laws(space: Embeddings) -> None:
    """The same draws come out, and the cache of one request is small."""
    kernel = mechanism("tem(epsilon=1)").bind(space)  # type: ignore[attr-defined]
    ids = np.arange(20)
    baseline = kernel.sample(ids, 50, np.random.default_rng(1))
    with private_caches():
        again = kernel.sample(ids, 50, np.random.default_rng(1))
    assert np.array_equal(baseline, again)


def test_words_are_looked_up_anew(monkeypatch: pytest.MonkeyPatch, client: Client) -> None:
    if not wordnet_at_hand():
        pytest.skip("WordNet is not in the cache: veil fetch wordnet fetches it")
    looked: list[str] = []
    read: list[int] = []
    look_up, reader = Thesaurus._look_up, type(wordnet()._reader)
    parse = reader._synset_from_pos_and_line

    def spied(self: Thesaurus, word: str, pos: str) -> list[object]:
        looked.append(word)
        result: list[object] = look_up(self, word, pos)
        return result

    def parsed(self: object, pos: str, line: str) -> object:
        read.append(1)
        return parse(self, pos, line)

    monkeypatch.setattr(Thesaurus, "_look_up", spied)
    monkeypatch.setattr(reader, "_synset_from_pos_and_line", parsed)
    body = {"texts": ["skin cancer"], "mechanism": "aea"}
    counts = []
    for _ in range(3):
        looked.clear()
        read.clear()
        assert client.post("/api/protect", body).status == 200
        counts.append((len(looked), len(read)))
    assert counts[0] == counts[1] == counts[2]
    assert min(counts[0]) > 0
