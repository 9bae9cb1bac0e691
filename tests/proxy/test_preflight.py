"""The pre-flight check against real attacks on a log that the query has joined."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import make_space
from tests.search.conftest import BagEncoder

from veil.core.errors import AssetError, InputError, ParameterError, UnknownNameError, VeilError
from veil.core.types import Role, Singles
from veil.corpus.collection import Collection, Document, Documents
from veil.proxy import preflight as module
from veil.proxy.preflight import Preflight, open_preflight_log
from veil.proxy.settings import PreflightResult
from veil.text.attack import attack
from veil.text.attacks import likelihood as _tables
from veil.text.attacks import likelihood_boxes, likelihood_exponential, posterior
from veil.text.log import QueryLog
from veil.text.mechanisms.catalogue import mechanism
from veil.text.mechanisms.mechanism import TextMechanism, WordMechanism
from veil.text.protect import protect_words
from veil.text.vectors.embeddings import Embeddings, open_folder

LOGGED = 40  # words of the space that occur in the log
SPELT = make_space(60, 4).words
A, B, C, D = SPELT[:4]
NEW, OTHER = SPELT[50:52]
QUERIES = [
    f"{A} {B}",  # in the log
    f"  {A.upper()}   {B} ",  # the same
    f"{B} {A}",
    f"{A} the {NEW}",  # with a word that the log lacks
    f"{A.upper()} {NEW.upper()} {OTHER.upper()}",
    f"{A.title()} {B} {C}",
    f"{NEW.title()}",
    f"qqqx {NEW}",  # with a word that the vectors do not know
    "qqqx",
    "zzzq",
    f"{A}-{NEW}, ({B})!",
    f"{A}-{B} {C}",
    f"{A} ({NEW}) {C}",  # of a shape of its own, which explains more than those of the log
    f"{A} {B} {C} {D} {A} {B} {C} {D}",  # longer than any of the log
]
SPECS = [
    "cmp(epsilon=12)",
    "santext(epsilon=3)",
    "santext(epsilon=3, sensitive_share=0.5, p=0.3)",
    "custext(epsilon=4, k=8)",
    "wbb(epsilon=4, k=2, n=12)",
    "wbb(epsilon=4, k=2, n=12, metric=product)",
]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VEIL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def folder(cache: Path) -> Path:
    """A space on disk, near words; some are known with a capital, too."""
    words = (*SPELT, *(word.title() for word in SPELT[20:60]))
    vectors = 0.4 * make_space(100, 4).vectors
    (cache / "vectors").mkdir(parents=True)
    Embeddings(words, vectors, "cased").save(cache / "vectors" / "cased")
    return cache / "vectors" / "cased"


@pytest.fixture(scope="module")
def queries() -> list[str]:
    rng = np.random.default_rng(3)
    texts = [f"{A} {B}", "qqqy", f"{B}-{A} {C}", f"{C}-{D}, ({A})!", f"{A} the {B}"]
    for _ in range(150):
        selected = [str(word) for word in rng.choice(SPELT[:LOGGED], size=rng.integers(1, 5))]
        if rng.random() < 0.2:
            selected[rng.integers(len(selected))] = f"qqq{rng.choice(list('abc'))}"
        texts.append(str(rng.choice([" ", "-", " the ", " "])).join(selected))
    return [text.title() if i % 7 == 0 else text for i, text in enumerate(texts)]


def rows_of(query: str, made: TextMechanism, space: Embeddings) -> list[tuple[str, ...]]:
    """Some real variants, and odd ones."""
    assert isinstance(made, WordMechanism)
    row = tuple(protect_words([query], made, space, 4, rng=len(query)).rows[0])
    strange = " ".join(["wwww"] * len(query.split()))
    return [row, row[:1], (*row, strange, ""), (strange,), ("", " "), ()]


@pytest.mark.parametrize("spec", SPECS)
def test_ranks_are_those_of_an_attack_on_a_log_with_the_query(
    spec: str, folder: Path, queries: list[str]
) -> None:
    method = mechanism(spec)
    space, fresh = open_folder(folder), open_folder(folder)
    name = "bayes(prior='frequency')" if "p=0.3" in spec else "bayes"
    preflight = Preflight(QueryLog.of(queries), BagEncoder(), (name,))
    preflight.prepare(method, space)
    ranks: list[tuple[int, int]] = []
    for query in QUERIES:
        log, _ = QueryLog.of(queries).with_queries([query])
        rows = rows_of(query, method, space)
        checked = [preflight.check(query, row, method, space) for row in rows]
        assert all((item.waiting, item.unable) == ((), ()) for item in checked)
        truth_ranks = [item.standings[0] for item in checked]
        originals = [query] * len(rows)
        truth = attack(rows, originals, log, name, mechanism=method, space=fresh)
        assert truth.ties is not None
        expected = list(zip(truth.ranks.tolist(), truth.ties.tolist(), strict=True))
        assert [(rank.rank, rank.ties) for rank in truth_ranks] == expected
        assert {rank.candidates for rank in truth_ranks} == {len(log)}
        ranks += expected
    assert len(set(ranks)) > 6  # they do not all agree by being first or last


def test_nearest_queries_are_those_of_an_attack_on_a_log_with_the_query(
    folder: Path, queries: list[str]
) -> None:
    method, space, encoder = mechanism("cmp(epsilon=12)"), open_folder(folder), BagEncoder()
    preflight = Preflight(QueryLog.of([*queries, *queries[:9]]), encoder, ("inference",))
    preflight.prepare(method, None)
    ranks = []
    for query in QUERIES:
        log, _ = QueryLog.of([*queries, *queries[:9]]).with_queries([query])
        for row in [*rows_of(query, method, space), (query,)]:
            (truth_ranks,) = preflight.check(query, row, method, None).standings
            truth = attack([row], [query], log, "inference", encoder=encoder)
            assert truth.ties is not None
            assert (truth_ranks.rank, truth_ranks.ties) == (truth.ranks[0], truth.ties[0])
            assert truth_ranks.candidates == len(log)
            ranks.append(truth_ranks.rank)
    assert len(set(ranks)) > 10


@pytest.mark.parametrize("spec", ["cmp(epsilon=3)", "santext(epsilon=2)"])
def test_a_part_of_a_large_vocabulary_is_weighed_alike(
    spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Estimates and shares are those of a log that holds the words of the query."""
    monkeypatch.setattr(likelihood_exponential, "_SMALL", 10)
    monkeypatch.setattr(likelihood_exponential, "_SAMPLE", 64)
    monkeypatch.setattr(_tables, "_OTHERS", 100)
    make_space(900, 5).save(tmp_path / "large")
    space, fresh = open_folder(tmp_path / "large"), open_folder(tmp_path / "large")
    rng = np.random.default_rng(2)
    texts = [" ".join(rng.choice(space.words[:150], size=2)) for _ in range(80)]
    texts += [f"qqqx {text.split()[1]}" for text in texts]
    method = mechanism(spec)
    preflight = Preflight(QueryLog.of(texts), BagEncoder(), ("bayes",))
    preflight.prepare(method, space)
    for query in [f"{a} {b}" for a in (*space.words[700:708], "qqqz") for b in space.words[:4]]:
        row = rows_of(query, method, space)[0]
        log, _ = QueryLog.of(texts).with_queries([query])
        truth = attack([row], [query], log, "bayes", mechanism=method, space=fresh)
        assert preflight.check(query, row, method, space).standings[0].rank == truth.ranks[0]


def files_of(root: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path): (path.stat().st_mtime_ns, path.read_bytes())
        for path in root.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize(
    "spec", [*SPECS[:2], SPECS[4], "custext(epsilon=4, k=8, mapping='neighbours')"]
)
def test_nothing_is_written_for_a_query(
    spec: str, folder: Path, cache: Path, queries: list[str]
) -> None:
    method, space = mechanism(spec), open_folder(folder)
    preflight = Preflight(QueryLog.of(queries), BagEncoder())
    preflight.prepare(method, space)
    before = files_of(cache)
    assert any("document-vectors" in path for path in before)  # the log's own are kept
    assert any("normalisers" in path for path in before) == ("santext" in spec)
    for query in [*QUERIES, *map(str.upper, QUERIES)]:
        row = rows_of(query, method, space)[2]
        assert len(preflight.check(query, row, method, space).standings) == 2
    assert files_of(cache) == before


def test_words_of_a_query_are_not_written_with_those_of_another_log(
    folder: Path, queries: list[str]
) -> None:
    """They are known in memory by then, and the law is shared."""
    method, space = mechanism("santext(epsilon=3)"), open_folder(folder)
    assert isinstance(method, WordMechanism)
    preflight = Preflight(QueryLog.of([f"{A} {B}"]), BagEncoder(), ("bayes",))
    preflight.prepare(method, space)
    secret = [space.id(NEW), space.id(OTHER)]
    preflight.check(
        f"{NEW} {OTHER}",
        protect_words([f"{NEW} {OTHER}"], method, space, 3).rows[0],
        method,
        space,
    )
    Preflight(QueryLog.of([f"{A} {C}"]), BagEncoder(), ("bayes",)).prepare(method, space)
    (file,) = folder.glob("normalisers-*.npy")
    assert sorted(np.load(file)[0].tolist()) == [space.id(A), space.id(B), space.id(C)]
    assert secret[0] not in np.load(file)[0]


def test_what_is_remembered_of_many_ways_to_type_is_bounded(
    folder: Path, queries: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(posterior, "_MIN_CACHE", 20_000)
    monkeypatch.setattr(posterior, "_CACHE_PER_QUERY", 0)
    method, space, log = (
        mechanism("custext(epsilon=4, k=8)"),
        open_folder(folder),
        QueryLog.of(queries),
    )
    preflight = Preflight(log, BagEncoder(), ("bayes",))
    preflight.prepare(method, space)
    content = set(log.memo)
    query = f"{A} {NEW} {C} {D}"
    ranks = set()
    for number in range(81):
        shown = [(str.lower, str.upper, str.title)[number // 3**i % 3] for i in range(4)]
        typed = " ".join(change(word) for change, word in zip(shown, query.split(), strict=True))
        ranks.add(preflight.check(typed, [typed], method, space).standings[0].rank)
    assert len(ranks) <= 2  # a word with a capital may be another one
    (shaped,) = log.memo.values()
    assert isinstance(shaped, posterior.ShapedLog)
    assert 0 < shaped._cache.nbytes <= 20_000
    assert set(log.memo) == content


class SlowEncoder(BagEncoder):
    """Waits until it is told to go on."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()

    def encode(self, texts: Sequence[str], role: Role = "document") -> Singles:
        assert self.go.wait(60)
        return super().encode(texts, role)


def test_it_is_prepared_in_the_background(folder: Path, queries: list[str]) -> None:
    first, second = mechanism("custext(epsilon=4, k=8)"), mechanism("santext(epsilon=3)")
    space, encoder = open_folder(folder), SlowEncoder()
    preflight = Preflight(QueryLog.of(queries), encoder)
    preflight.start(first, space)
    preflight.start(first, space)
    preflight.start(second, space)
    early = preflight.check(f"{A} {B}", [f"{B} {A}"], first, space)
    assert "inference" in early.waiting
    assert "inference" not in early.unable
    encoder.go.set()
    for instance in (first, second):
        late = preflight.check(f"{A} {B}", [f"{B} {A}"], instance, space, wait=True)
        assert [item.attacker for item in late.standings] == ["inference", "bayes"]
    names = [text for text in encoder.encoded if text == QueryLog.of(queries).texts[3]]
    assert len(names) == 1  # the log was encoded once


def test_a_check_begins_what_nobody_began(folder: Path, queries: list[str]) -> None:
    method, space = mechanism("custext(epsilon=4, k=8)"), open_folder(folder)
    preflight = Preflight(QueryLog.of(queries), BagEncoder())
    while (checked := preflight.check(A, [B], method, space)).waiting:
        assert len(checked.waiting) + len(checked.standings) == 2
    assert len(checked.standings) == 2


def test_many_threads_at_once(folder: Path, queries: list[str]) -> None:
    space = open_folder(folder)
    mechanisms = [mechanism(spec) for spec in SPECS[:4]]
    jobs = [
        (query, rows_of(query, instance, space)[0], instance)
        for query in QUERIES
        for instance in mechanisms
    ]
    single, shared = (Preflight(QueryLog.of(queries), BagEncoder()) for _ in range(2))
    other = open_folder(folder)

    def at_once(job: tuple[str, tuple[str, ...], TextMechanism]) -> PreflightResult:
        query, row, instance = job
        return shared.check(query, row, instance, other, wait=True)

    expected = [
        single.check(query, row, instance, space, wait=True) for query, row, instance in jobs
    ]
    with ThreadPoolExecutor(6) as pool:
        result = list(pool.map(at_once, jobs))
    assert result == expected


class BrokenEncoder(BagEncoder):
    """Fails, and says so with a text."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error: Exception | None = error

    def encode(self, texts: Sequence[str], role: Role = "document") -> Singles:
        if self.error is not None:
            raise self.error
        return super().encode(texts, role)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (AssetError("The model could not be had."), "The model could not be had."),
        (ValueError(f"{A} {B}"), "The inference attacker could not be prepared (ValueError)"),
    ],
)
def test_a_failure_in_the_background_is_told(
    error: Exception, told: str, folder: Path, queries: list[str]
) -> None:
    method, space = mechanism("custext(epsilon=4, k=8)"), open_folder(folder)
    encoder = BrokenEncoder(error)
    preflight = Preflight(QueryLog.of(queries), encoder)
    preflight.start(method, space)
    for _ in range(2):
        with pytest.raises(VeilError) as caught:
            preflight.check(f"{A} {B}", [C], method, space, wait=True)
        assert str(caught.value).startswith(told)
        assert A not in str(caught.value)
    preflight._preparations(method, space)["bayes"].wait()  # type: ignore[union-attr]
    checked = preflight.check(f"{A} {B}", [C], method, space)
    assert checked.unable == ("inference",)
    assert [item.attacker for item in checked.standings] == ["bayes"]
    encoder.error = None
    preflight.start(method, space)  # does not try again
    assert preflight.check(A, [C], method, space).unable == ("inference",)
    preflight.prepare(method, space)  # does
    assert preflight.check(A, [C], method, space).unable == ()


def test_a_law_that_does_not_fit_the_space_is_told(folder: Path, queries: list[str]) -> None:
    method, space = mechanism("custext(epsilon=4, k=5000)"), open_folder(folder)
    preflight = Preflight(QueryLog.of(queries), BagEncoder())
    with pytest.raises(VeilError, match="'k' parameter of custext must be <= 100"):
        preflight.prepare(method, space)
    checked = preflight.check(A, [C], method, space)
    assert checked.unable == ("bayes",)
    assert [item.attacker for item in checked.standings] == ["inference"]


def test_bayes_is_for_words_and_their_vectors(folder: Path, queries: list[str]) -> None:
    preflight = Preflight(QueryLog.of(queries), BagEncoder())
    for instance, space in (
        (mechanism("aea"), open_folder(folder)),
        (mechanism("cmp(epsilon=12)"), None),
    ):
        checked = preflight.check(A, [C], instance, space, wait=True)
        assert checked.unable == ("bayes",)
        assert [item.attacker for item in checked.standings] == ["inference"]
        assert checked.best is not None
        assert checked.best.attacker == "inference"


def test_what_would_take_minutes_is_not_begun(
    folder: Path, queries: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(likelihood_boxes, "_SMALL", 10)
    space = open_folder(folder)
    preflight = Preflight(QueryLog.of(queries), BagEncoder(), ("bayes",))
    slow, fast = SPECS[5], SPECS[4]
    assert preflight.check(A, [C], mechanism(slow), space, wait=True).unable == ("bayes",)
    assert preflight.check(A, [C], mechanism(fast), space, wait=True).unable == ()


def test_bayes_is_not_for_endless_queries(folder: Path, queries: list[str]) -> None:
    """In a-b-c-... it would try for hours which words stand where."""
    method, space = mechanism("custext(epsilon=4, k=8)"), open_folder(folder)
    preflight = Preflight(QueryLog.of(queries), BagEncoder())
    preflight.prepare(method, space)
    for query in (f"{A} {B} " * 40, "-".join([A] * 30) + "!", "a" * 1000):
        checked = preflight.check(query, [f"{query}-{B}-{C}"], method, space)
        assert checked.unable == ("bayes",)
        assert [item.attacker for item in checked.standings] == ["inference"]
    longest = " ".join(["-".join([A] * 8)] * 64)
    assert preflight.check(longest, [longest], method, space).unable == ()


def test_few_mechanisms_are_held_ready(
    folder: Path, queries: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MECHANISMS", 2)
    space = open_folder(folder)
    preflight = Preflight(QueryLog.of(queries), BagEncoder(), ("bayes",))
    for epsilon in (1, 2, 3, 1):
        method = mechanism(f"custext(epsilon={epsilon}, k=8)")
        assert preflight.check(A, [C], method, space, wait=True).standings[0].rank > 0
        assert len(preflight._bayes) <= 2


def test_only_attackers_of_one_query_can_be_used() -> None:
    log = QueryLog.of([A])
    assert Preflight(log).size == 1
    for odd in ("reconstruct", "inference(encoder=wordllama)"):
        with pytest.raises(ParameterError, match="must be 'inference'"):
            Preflight(log, attackers=(odd,))
    with pytest.raises(UnknownNameError):
        Preflight(log, attackers=("inferense",))


def test_texts_are_checked_and_not_quoted() -> None:
    preflight = Preflight(QueryLog.of([A]), BagEncoder())
    with pytest.raises(InputError) as caught:
        preflight.check(f"{A}\ud800", [B], mechanism("cmp(epsilon=1)"), None)
    assert A not in str(caught.value)


def test_a_log_is_a_file_or_that_of_the_collection(tmp_path: Path) -> None:
    documents = Documents.of([Document("d", "", A)])
    (tmp_path / "log.txt").write_text(f"{A}\n{B}\n\n{A.upper()}\n")
    of_file = open_preflight_log(str(tmp_path / "log.txt"), Collection("c", documents, log=(C,)))
    assert of_file is not None
    assert (list(of_file.texts), of_file.counts.tolist()) == ([A, B], [2, 1])
    own = open_preflight_log(None, Collection("c", documents, log=(C, D)))
    assert own is not None
    assert list(own.texts) == [C, D]
    assert open_preflight_log(None, Collection("c", documents)) is None
    assert open_preflight_log(None, None) is None
    with pytest.raises(InputError, match="does not exist"):
        open_preflight_log(str(tmp_path / "none.txt"), None)
