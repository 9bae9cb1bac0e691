"""The inverted index: against counting by hand, and against bm25s."""

import itertools
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from nltk.stem.porter import PorterStemmer
from numpy.random import Generator
from tests.conftest import SHARED

from veil.core.errors import InputError
from veil.corpus import lexical
from veil.corpus.catalogue import load_collection
from veil.corpus.lexical import (
    Analyser,
    Lexical,
    analyse,
    build_lexical,
    head_of,
    open_lexical,
    term_of,
    tokens_of,
    top,
)
from veil.data.memo import private_caches

WORDS = "fever skin cancer bone broken lung heart attack of the running runs".split()


@pytest.fixture
def texts(rng: Generator) -> list[str]:
    return [" ".join(rng.choice(WORDS, size=rng.integers(0, 12))) for _ in range(60)]


def dense(index: Lexical, weights: np.ndarray) -> np.ndarray:
    """Spell a weighting out as (documents, terms)."""
    out = np.zeros((index.size, len(index.spelt)))
    for term in range(len(index.spelt)):
        span = slice(index.indptr[term], index.indptr[term + 1])
        out[index.docs[span], term] = weights[span]
    return out


# What io.anserini.analysis.DefaultEnglishAnalyzer of Anserini 0.22.1 (Lucene 9.5) prints.
LUCENE = [
    ("The Patients' runs, and Crohn’s X-ray in 2019!", "patient run crohn x rai 2019"),
    ("of the and", ""),
    (
        "anthropology biology technology ecology archaeological us bus yes",
        "anthropolog biologi technolog ecolog archaeolog us bu ye",
    ),
    (
        "relational conditional oscillators happily controlling agreed sky skies dying",
        "relat condit oscil happili control agre sky ski dy",
    ),
    ("The U.S. and the E.U., e.g. i.e. vs. Ph.D.", "u. e.u e.g i. vs ph.d"),
    ("1.5 3,000 1;2 1:2 10.0.0.1 802.11n 3.5mm", "1.5 3,000 1;2 1 2 10.0.0.1 802.11n 3.5mm"),
    ("_____ foo_bar _x_ __", "foo_bar _x_"),
    (
        "a:b http://www.example.com/x.html mail@example.com C++ AT&T",
        "a:b http www.example.com x.html mail example.com c t",
    ),
    ("O'Neil's DOGS' it's ‘quoted’ rock’n’roll", "o'neil dog quot rock’n’rol"),
    ("naïve CAFÉ ΣΟΦΌΣ İstanbul Straße ﬁsh", "naïv café σοφόσ istanbul straße ﬁsh"),
    ("東京 ひらがな カタカナ 한국어 ไทย", "東 京 ひ ら が な カタカナ 한국어 ไทย"),
    (
        "© 2020 ACME® 👍🏽 👨\u200d👩\u200d👧 🇩🇪 1️⃣ ½ x²",
        "© 2020 acm ® 👍🏽 👨\u200d👩\u200d👧 🇩🇪 1️⃣ x",
    ),
    ("étude soft\xadware zero\u200bwidth", "étud soft\xadwar zero width"),
    ("", ""),
    ("a" * 254 + "b.c" + "d" * 300, f"{'a' * 254}b c{'d' * 254} {'d' * 46}"),
    ("y" * 600, f"{'y' * 254}i {'y' * 254}i {'y' * 89}i"),
    ("x" * 255 + "'s the", f"{'x' * 255} s"),
]


@pytest.mark.parametrize(("text", "terms"), LUCENE)
def test_terms_are_those_of_lucene(text: str, terms: str) -> None:
    assert analyse(text) == terms.split()


def test_rules_of_underscores_are_no_terms() -> None:
    assert [term_of(word) for word in ("_____", "_", "_x")] == ["", "", "_x"]


@pytest.mark.parametrize(
    "text", ["_" * 200_000, "_\u0301" * 100_000, "'" * 200_000, "y" * 200_000]
)
def test_long_rules_are_read_in_one_pass(text: str) -> None:
    """A pattern that goes back would take minutes here."""
    assert len(tokens_of(text)) <= len(text) / 255 + 1


def test_stems_of_long_words_are_those_of_nltk(rng: Generator) -> None:
    porter = PorterStemmer(PorterStemmer.MARTIN_EXTENSIONS)
    for word in ("syzygies", "yyyying", "yes", "toying", "happily", "y" * 40 + "ational"):
        assert term_of(word) == porter.stem(word)
    for _ in range(2_000):
        word = "".join(rng.choice(list("aeyystniglorm"), size=rng.integers(1, 12)))
        assert term_of(word) in {porter.stem(word), ""}


def test_many_long_words_are_stemmed(rng: Generator) -> None:
    """Each took seconds where a letter asked for those before it."""
    words = ["y" * 240 + "".join(rng.choice(list("abcdefghij"), size=12)) for _ in range(400)]
    assert len(analyse(" ".join(words))) == len(set(words))


def test_ascii_is_read_as_other_text(rng: Generator) -> None:
    """The pattern for ASCII and the one for any text agree."""
    characters = list("aBs19_.,;:'\"-/ @#*\n")
    for _ in range(2_000):
        text = "".join(rng.choice(characters, size=rng.integers(1, 14)))
        assert tokens_of(text) == tokens_of(text + " é")[:-1], ascii(text)


def test_web_passages_are_found_as_by_lucene() -> None:
    """nDCG@10 with Lucene itself is .4443: it stores lengths in one byte."""
    folder = SHARED / "collections" / "dl19-pool"
    if not folder.is_dir():
        pytest.skip("the collections are not at hand")
    measures = pytest.importorskip("ir_measures", reason="the extra 'measure' is not installed")
    pool = load_collection(str(folder))
    index = pool.lexical()
    weights = index.weights("bm25", 0.9, 0.4)
    run: dict[str, dict[str, float]] = {}
    for name in pool.judgements:
        scores = np.zeros(index.size, dtype=np.float32)
        for term in index.ids(pool.queries[name]):
            span = slice(index.indptr[term], index.indptr[term + 1])
            scores[index.docs[span]] += weights[span]
        best = top(scores, 10, above=0.0)
        run[name] = {pool.documents.ids[i]: -float(rank) for rank, i in enumerate(best)}
    values = measures.calc_aggregate([measures.nDCG @ 10], pool.judgements, run)
    assert values[measures.nDCG @ 10] == pytest.approx(0.4443, abs=0.002)


def test_the_fast_analyser_gives_the_same_terms(texts: list[str]) -> None:
    analyser = Analyser()
    flat, starts = analyser.ids(texts)
    spelt = list(analyser.terms)
    for i, text in enumerate(texts):
        assert [spelt[t] for t in flat[starts[i] : starts[i + 1]]] == analyse(text)


def test_postings_are_counts(texts: list[str]) -> None:
    index = build_lexical(texts)
    counts = dense(index, index.counts)
    for i, text in enumerate(texts):
        wanted = Counter(analyse(text))
        assert {t: int(c) for t, c in zip(index.spelt, counts[i], strict=True) if c} == wanted
        assert index.lengths[i] == wanted.total()
    for term in range(len(index.spelt)):
        span = index.docs[index.indptr[term] : index.indptr[term + 1]]
        assert (np.diff(span) > 0).all()


@pytest.mark.parametrize(("k1", "b"), [(1.2, 0.75), (0.9, 0.4), (2.0, 0.0)])
def test_bm25_weights_are_those_of_bm25s(texts: list[str], k1: float, b: float) -> None:
    bm25s = pytest.importorskip("bm25s", reason="the extra 'search' is not installed")
    index = build_lexical(texts)
    ids = [[index.terms[t] for t in analyse(text)] for text in texts]
    other = bm25s.BM25(method="lucene", k1=k1, b=b)
    other.index((ids, dict(index.terms)), show_progress=False)
    theirs = np.zeros((index.size, len(index.spelt)))
    scores = other.scores
    for term in range(len(index.spelt)):
        span = slice(scores["indptr"][term], scores["indptr"][term + 1])
        theirs[scores["indices"][span], term] = scores["data"][span]
    assert np.allclose(dense(index, index.weights("bm25", k1, b)), theirs, atol=1e-6)


def test_tfidf_is_a_cosine(texts: list[str]) -> None:
    index = build_lexical(texts)
    got = dense(index, index.weights("tfidf"))
    text = max(texts, key=len)
    row = texts.index(text)
    counts = Counter(analyse(text))
    frequency = {t: sum(t in analyse(other) for other in texts) for t in counts}
    raw = {t: (1 + math.log(c)) * math.log(1 + 60 / frequency[t]) for t, c in counts.items()}
    norm = math.sqrt(sum(value**2 for value in raw.values()))
    for term, value in raw.items():
        query = math.log(1 + 60 / frequency[term])
        assert got[row, index.terms[term]] == pytest.approx(query * value / norm, rel=1e-5)


def test_a_saved_index_is_checked(tmp_path: Path, texts: list[str]) -> None:
    built = build_lexical(texts)
    folder = tmp_path / "lexical"
    built.save(folder, "documents-1")
    found = open_lexical(folder, "documents-1")
    assert found is not None
    assert np.array_equal(found.docs, built.docs)
    assert list(found.spelt) == list(built.spelt)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert open_lexical(folder, "documents-2") is None
    data = bytearray((folder / "docs.npy").read_bytes())
    data[-1] ^= 1
    (folder / "docs.npy").write_bytes(data)
    assert open_lexical(folder, "documents-1") is None


def test_an_index_of_other_terms_is_not_used(
    tmp_path: Path, texts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(lexical, "_VERSION", 1)
        build_lexical(texts).save(tmp_path / "lexical", "documents-1")
    assert open_lexical(tmp_path / "lexical", "documents-1") is None


def test_no_documents_no_index() -> None:
    with pytest.raises(InputError, match="from 1 to"):
        build_lexical([])


def test_documents_without_words() -> None:
    index = build_lexical(["", "the", "skin"])
    assert index.lengths.tolist() == [0, 0, 1]
    assert index.weights("bm25").shape == (1,)
    assert build_lexical(["", "the"]).weights("tfidf").shape == (0,)


def test_top_is_a_stable_sort(rng: Generator) -> None:
    for _ in range(50):
        scores = rng.integers(0, 6, size=40).astype(float)
        wanted = [i for i in np.argsort(-scores, kind="stable") if scores[i] > 0]
        for k in (1, 7, 40, 100):
            assert top(scores, k, above=0.0).tolist() == wanted[:k]


ENDINGS = (
    "ies sses s eed ed ing y ational izer bli logi icate ful ness ence ement ion ll at".split()
)


def test_a_term_begins_as_its_word(rng: Generator) -> None:
    """Re-ranking stems no word that begins otherwise than all terms of the query."""
    short = map("".join, itertools.product("aybestidng", repeat=4))
    drawn = (
        "".join(rng.choice([*"aeiouybstlz'.1_"], rng.integers(0, 4)))
        + "".join(rng.choice(ENDINGS, rng.integers(1, 4)))
        for _ in range(20_000)
    )
    for word in itertools.chain(short, drawn, ["ies", "aed", "ays", "oying"]):
        if term := term_of(word):
            assert head_of(term) in (head_of(word), head_of(word[:1]))


def test_stems_of_work_apart_are_left_to_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    stemmed: list[str] = []

    def stem(word: str) -> str:
        stemmed.append(word)
        return word[:4]

    monkeypatch.setattr(lexical, "_stemmer", lambda: stem)
    for _ in range(2):
        with private_caches():
            assert analyse("unheard unheard") == ["unhe", "unhe"]
    assert stemmed == ["unheard", "unheard"]
