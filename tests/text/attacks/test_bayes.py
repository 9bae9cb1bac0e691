"""The informed attacker against enumeration on sixty words."""

import numpy as np
import pytest
from tests.conftest import make_space
from tests.reference.attacking import query_likelihood, sorted_rank
from tests.search.conftest import BagEncoder

from veil.core.errors import ParameterError
from veil.core.types import ClosedForm
from veil.measures.risk import chance
from veil.text.attack import Scene
from veil.text.attacks.bayes import Bayes
from veil.text.attacks.inference import inference_ranks
from veil.text.attacks.likelihood import likelihood
from veil.text.attacks.posterior import ShapedLog
from veil.text.attacks.shapes import ShapeReader, chunks, reader
from veil.text.log import QueryLog
from veil.text.mechanisms.catalogue import mechanism
from veil.text.mechanisms.mechanism import WordMechanism
from veil.text.protect import protect_words
from veil.text.vectors.embeddings import Embeddings

EXACT = [
    "santext(epsilon=3)",
    "santext(epsilon=3, sensitive_share=0.5, p=0.3)",
    "tem(epsilon=2, beta=0.5)",
    "tem(epsilon=4, metric=angular)",
    "custext(epsilon=4, k=8)",
    "custext(epsilon=4, k=8, mapping=neighbours, metric=cosine)",
    "wbb(epsilon=4, k=2, n=12)",
    "wbb(epsilon=4, k=2, n=12, metric=distance)",
    "wbb(epsilon=4, k=2, n=12, metric=product)",
]
NOISE = ["cmp(epsilon=12)", "mahalanobis(epsilon=12, lam=0.5)", "vickrey(epsilon=12)"]


def word_mechanism(spec: str) -> WordMechanism:
    made = mechanism(spec)
    assert isinstance(made, WordMechanism)
    return made


def scene_of(spec: str, words: Embeddings, queries: list[str], size: int, n: int = 10) -> Scene:
    made = word_mechanism(spec)
    originals = tuple(queries[:n])
    released = protect_words(originals, made, words, size, rng=5, select="all")
    return Scene(released.rows, originals, QueryLog.of(queries), made, words)


@pytest.mark.parametrize("spec", EXACT)
def test_likelihoods_are_those_of_the_laws(
    spec: str, words: Embeddings, queries: list[str]
) -> None:
    scene = scene_of(spec, words, queries, size=3)
    made = word_mechanism(spec)
    kernel = made.bind(words)
    assert isinstance(kernel, ClosedForm)
    law = kernel.probs(np.arange(words.size))
    assert scene.log is not None
    shaped = ShapedLog.of(scene.log, ShapeReader(words, "all"))
    ids = [[words.id(word) for word in text.split()] for text in queries]
    for i, row in enumerate(scene.variants):
        result = shaped.scores(row, likelihood(made, words))
        seen = [[words.id(word) for word in variant.split()] for variant in row]
        expected = np.array(
            [
                query_likelihood(law, query, seen) if len(query) == len(seen[0]) else -np.inf
                for query in ids
            ]
        )
        possible = expected > -np.inf
        assert (possible == (result > -np.inf)).all()
        np.testing.assert_allclose(result[possible], expected[possible], rtol=1e-5, atol=1e-4)
        assert possible[i]  # the truth is never ruled out
    ranks = Bayes(select="all").run(scene).ranks
    last = shaped.scores(scene.variants[-1], likelihood(made, words))
    assert ranks[-1] == sorted_rank(last.tolist(), len(ranks) - 1)[0]


@pytest.mark.parametrize("spec", [*EXACT[:1], EXACT[2], EXACT[4], EXACT[6], *NOISE])
def test_knowing_the_mechanism_helps(
    spec: str, words: Embeddings, queries: list[str], encoder: BagEncoder
) -> None:
    scene = scene_of(spec, words, queries, size=6, n=40)
    informed = Bayes(select="all").run(scene)
    blind = inference_ranks(scene, encoder)
    assert (1 / informed.ranks).mean() >= (1 / blind.ranks).mean()
    assert (informed.candidates == len(queries)).all()


def test_unit_direction_is_weighed_by_its_own_density(words: Embeddings) -> None:
    """The density of r A u / |A u|, checked by its integral over a ball in two dimensions."""
    plane = Embeddings(words.words, words.vectors[:, :2], "plane")
    made = word_mechanism("mahalanobis(epsilon=3, lam=1.0, unit_direction=true)")
    rng = np.random.default_rng(2)
    noise = made.bind(plane).noise(200_000, rng)  # type: ignore[attr-defined]
    logs = likelihood(made, plane, "density").of(np.array([7]))
    gaps = plane.vectors.astype(float) - plane.vectors[7]
    near = [np.count_nonzero(np.linalg.norm(noise + gap, axis=1) < 0.15) for gap in gaps]
    some = np.array([w for w in range(60) if near[w] > 400 and w != 7])
    assert len(some) > 10
    offsets = np.log(np.array(near)[some]) - logs[some]
    assert np.ptp(offsets) < 0.6  # the same constant for all, up to counting and curvature


def test_frequency_prior_moves_frequent_queries_up(words: Embeddings) -> None:
    a, b = words.words[:2]
    log = QueryLog.of([a, *[b] * 1000])
    made = word_mechanism("santext(epsilon=0.001)")  # says nothing
    scene = Scene(((b,), (a,)), (b, a), log, made, words)
    assert Bayes(prior="frequency").run(scene).ranks.tolist() == [1, 2]
    assert Bayes().run(scene).ranks.tolist() == [1, 1]


def test_kept_words_must_match(words: Embeddings) -> None:
    a, b, c = words.words[:3]
    made = word_mechanism("wbb(epsilon=4, k=2, n=40)")
    log = QueryLog.of([f"{a} the {b}?", f"{a} of {b}?", f"{a} the {c}?", f"{a} the {b}"])
    row = protect_words([f"{a} of {b}?"], made, words, 4, rng=1, select="content").rows
    scene = Scene(row, (f"{a} of {b}?",), log, made, words)
    assert Bayes(select="content").run(scene).ranks.tolist() == [1]


def test_case_of_kept_words_does_not_matter(words: Embeddings) -> None:
    a = words.words[0]
    reading = ShapeReader(words, [a])  # type: ignore[arg-type]
    shape = reading.read(f"the straße {a}").shape
    assert reading.seen(shape, [["THE", "Straße", a]]) is not None
    assert reading.seen(shape, [["a", "Straße", a]]) is None


def test_capitals_of_the_variants_are_those_of_the_query() -> None:
    """The tags of words, and so what is kept, depend on capitals: a log may have others."""
    names = ("chronic", "pain", "may", "kidney", "die", "acute", "lead", "disease")
    space = Embeddings(names, make_space(8, 4).vectors, "medical")
    made = word_mechanism("wbb(epsilon=4, k=1, n=6)")
    queries = [f"{a.title()} {b} OF {c.title()}" for a in names for b in names for c in names]
    originals = tuple(queries[::40])
    rows = protect_words(originals, made, space, 6, rng=3).rows
    ranks = []
    for log in (queries, [query.lower() for query in queries], map(str.upper, queries)):
        scene = Scene(rows, originals, QueryLog.of(log), made, space)
        ranks.append(Bayes().run(scene).ranks.tolist())
    assert ranks[0] == ranks[1] == ranks[2]
    assert np.mean(np.array(ranks[0]) <= 10) > 0.5


def test_missing_queries_join_the_log_as_they_are_spelt() -> None:
    log, missing = QueryLog.of(["plain"]).with_queries(["HIV  in Africa", "hiv in africa"])
    assert (list(log.texts), missing) == (["plain", "HIV in Africa"], 1)


def test_a_belief_of_its_own_is_what_it_is_compared_with(words: Embeddings) -> None:
    a, b = words.words[:2]
    log = QueryLog.of([a, *[b] * 1000])
    scene = Scene(((b,), (a,)), (b, a), log, word_mechanism("santext(epsilon=0.001)"), words)
    outcome = Bayes(prior="frequency").run(scene)
    assert outcome.prior is not None
    assert outcome.prior.tolist() == [1, 2]
    assert chance(outcome.candidates, "lazy", ranks=outcome.ranks, prior=outcome.prior) == 0.5
    assert Bayes().run(scene).prior is None


def test_without_evidence_the_prior_decides(words: Embeddings) -> None:
    a, b = words.words[:2]
    log = QueryLog.of([a, b, b])
    scene = Scene(((), ("one two three",)), (b, b), log, word_mechanism("cmp(epsilon=1)"), words)
    assert Bayes(prior="frequency").run(scene).ranks.tolist() == [1, 1]
    level = Bayes().run(scene)
    assert level.ranks.tolist() == [1, 1]
    assert level.ties is not None
    assert level.ties.tolist() == [2, 2]


def test_unknown_output_says_nothing(words: Embeddings, queries: list[str]) -> None:
    scene = scene_of("santext(epsilon=3)", words, queries, size=2, n=5)
    strange = tuple((*row, " ".join(["zzzz"] * len(row[0].split()))) for row in scene.variants)
    with_strange = Scene(strange, scene.originals, scene.log, scene.mechanism, words)
    assert (Bayes().run(scene).ranks == Bayes().run(with_strange).ranks).all()


def test_shapes_are_read_back(words: Embeddings) -> None:
    a, b, c = words.words[:3]
    text = f"{a.upper()}-{b}, 100% ({c})!"
    made = word_mechanism("cmp(epsilon=1e6)")
    reading = reader(made, words, "all")
    read = reading.read(text)
    row = protect_words([text], made, words, 3, rng=1)[0]
    seen = reading.seen(read.shape, chunks(row))
    assert seen is not None
    assert seen.shape == (3, len(read.ids))
    known = [i for i, word in enumerate(read.ids) if word >= 0]
    assert seen[:, known].tolist() == [[read.ids[i] for i in known]] * 3
    assert reading.seen(("%s", "%s"), chunks(row)) is None


def test_mechanisms_of_whole_queries_are_refused(words: Embeddings) -> None:
    scene = Scene((("x",),), ("x",), QueryLog.of(["x"]), mechanism("aea"), words)
    with pytest.raises(ParameterError, match="rewrites whole queries"):
        Bayes().run(scene)


def test_more_variants_never_favour_a_shape_that_explains_less(words: Embeddings) -> None:
    """ "(x)" also fits a bare place, as a word that nobody knows: it must not pay to know less."""
    a, b, c, d = words.words[:4]
    truth = f"{a} ({b}) {c}"
    log = QueryLog.of([f"{a} {d} {c}", f"{c} {b} {a}", truth])
    made = word_mechanism("custext(epsilon=1, k=8)")
    for size in (1, 5, 50):
        row = protect_words([truth], made, words, size, rng=size, select="all").rows
        scene = Scene(row, (truth,), log, made, words)
        assert Bayes(select="all").run(scene).ranks.tolist() == [1]


def test_words_that_cannot_be_told_apart_are_not_read(words: Embeddings) -> None:
    reading = ShapeReader(words, "all")
    a, b = words.words[:2]
    shape = reading.read(f"{a}-{b}").shape
    assert shape == ("%s-%s",)
    seen = reading.seen(shape, [[f"{b}-{a}"], [f"{a}-{b}-{a}"]])
    assert seen is not None
    assert seen.tolist() == [[words.id(b), words.id(a)], [-1, -1]]
