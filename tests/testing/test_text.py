"""Every property that `veil.testing` checks: a component that breaks it alone is told so."""

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Annotated, Any, ClassVar

import numpy as np
import pytest
from numpy.random import Generator
from pydantic import Field

import veil
from veil.core.component import Component
from veil.core.errors import EngineError, ParameterError
from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids, Ranking, Released
from veil.data.fetch import Report, no_progress
from veil.search.engines.engine import Hit, check_call, ranking
from veil.search.engines.network.remote import Remote
from veil.testing import check_attack, check_engine, check_measure, check_mechanism
from veil.testing.text import small_log
from veil.text.attack import Attack, Outcome, Scene
from veil.text.attacks.bayes import Bayes
from veil.text.measures.measure import Comparison, TextMeasure
from veil.text.mechanisms.mechanism import WordMechanism
from veil.text.vectors.embeddings import Embeddings

CALLS = itertools.count()


def overwrite(space: Embeddings) -> None:
    held = space.vectors.base
    assert isinstance(held, np.ndarray)
    held[0] += 1


# --- mechanisms


def draw(fault: str, ids: Ids, size: int, rng: Generator) -> Any:  # noqa: ANN401
    draws = rng.integers(200, size=(size, len(ids)))
    changed: dict[str, Callable[[], Any]] = {
        "shape": lambda: draws.T,
        "fractions": lambda: draws / 2,
        "beyond": lambda: draws + 1,
        "unrepeatable": lambda: (draws + next(CALLS)) % 200,
        "fixed": lambda: np.broadcast_to(ids, draws.shape),
        "by word": lambda: np.repeat(draws[:, :1], len(ids), axis=1),
        "empty": lambda: draws if len(ids) else np.zeros((size, 1), dtype=np.int64),
    }
    if fault == "input":
        ids[:1] += 1
    return changed[fault]() if fault in changed else draws


class Kernel:
    def __init__(self, fault: str, space: Embeddings) -> None:
        self.fault, self.space = fault, space

    def sample(self, ids: Ids, size: int, rng: Generator) -> Any:  # noqa: ANN401
        if self.fault == "space":
            overwrite(self.space)
        return draw(self.fault, ids, size, rng)


class Lawful(Kernel):
    def probs(self, ids: Ids) -> Floats:
        return np.full((len(ids), 200), 1 / 200)

    def log_probs(self, ids: Ids) -> Floats:
        return np.log(self.probs(ids)) + (0.1 if self.fault == "sum" else 0)


class Wrong(WordMechanism):
    """Any word, with equal probability; and a fault."""

    name: ClassVar[str] = "wrong"
    paper: ClassVar[str] = "none"
    fault: str = ""

    @property
    def guarantee(self) -> Guarantee:
        return SimpleNamespace(kind="odd") if self.fault == "kind" else Guarantee("none")  # type: ignore[return-value]

    def bind(self, space: Embeddings) -> Lawful:
        return Lawful(self.fault, space)


MECHANISMS = {
    "shape": "sample(ids, size, rng) must return (size, n) draws",
    "fractions": "draws must be integers",
    "beyond": "draws must be word ids of the embeddings",
    "unrepeatable": "generators in the same state must give the same draws",
    "fixed": "draws must depend on the generator; choose parameters with which words change",
    "by word": "every position must be drawn independently",
    "input": "the input must not be modified",
    "space": "the embeddings must not be modified",
    "empty": "for no words there must be no draws",
    "kind": "the guarantee must be of a known kind",
    "sum": "probabilities must add up to 1",
}


# --- engines


def answer(fault: str, found: Ranking) -> Ranking:
    def at(row: int, column: int, place: int) -> Ids:
        index = found.index.copy()
        index[row, column] = place
        return index

    def scored(*values: float) -> Floats:
        return np.array([[*values, *found.scores[0, len(values) :]], found.scores[1]])

    changes: dict[str, dict[str, Any]] = {
        "names": {"items": (*found.items[:-1], found.items[0])},
        "texts": {"texts": found.texts[:-1]},
        "titles": {"titles": found.titles[:-1]},
        "gaps": {"gaps": ("",)},
        "shape": {"index": found.index[:, 1:]},
        "positions": {"index": at(0, 0, len(found.items))},
        "gap in a list": {"index": at(0, 0, -1)},
        "padded scores": {"scores": scored(3, 2, 1, 0)},
        "twice": {"index": at(0, 1, 0)},
        "order": {"scores": scored(1, 2)},
        "nothing": {
            "index": np.full_like(found.index, -1),
            "scores": np.full_like(found.scores, -np.inf),
        },
    }
    return replace(found, **changes.get(fault, {}))


class Answering:
    """Three hits for every query; and a fault."""

    def __init__(self, fault: str) -> None:
        self.fault = fault
        self.network = fault == "seeded"

    def search(self, queries: Sequence[Released], k: int) -> Ranking:
        if self.fault != "unreleased":
            check_call(queries, k, network=False)
        hits = [Hit(name, score, "t", "x") for name, score in (("a", 3.0), ("b", 2.0), ("c", 1.0))]
        return answer(self.fault, ranking([hits for _ in queries], k, [""] * len(queries)))


ENGINES = {
    "unreleased": "an engine must refuse text that was not released",
    "seeded": "an engine on a network must refuse seeded releases",
    "names": "`items` must not repeat a name",
    "texts": "* must have one entry per item, or be empty",
    "titles": "* must have one entry per item, or be empty",
    "shape": "`index` and `scores` must be (n, k)",
    "gaps": "`gaps` must have one entry per query, or be empty",
    "positions": "`index` must contain positions in `items`",
    "gap in a list": "-1 may only pad the end of a list",
    "padded scores": "padding must have the score -inf",
    "twice": "a list must not contain an item twice",
    "order": "scores must not increase",
    "nothing": "at least one query must have results",
}


# --- attackers

SECOND = small_log()[1][1]


class Spoilt(Attack):
    """Bayes; and a fault."""

    name: ClassVar[str] = "spoilt"
    needs: ClassVar[frozenset[str]] = frozenset({"log", "mechanism", "space"})
    fault: str = ""

    def run(self, scene: Scene, report: Report = no_progress) -> Outcome:
        if self.fault == "never":
            raise ParameterError("It cannot work against this mechanism.")
        found = Bayes().run(scene, report)
        n = len(found.ranks)
        changes: dict[str, dict[str, Ids]] = {
            "nothing": dict.fromkeys(
                ("ranks", "candidates", "subjects", "ties"), np.array([], int)
            ),
            "lengths": {"candidates": found.candidates[1:]},
            "zero": {"ranks": found.ranks - 1},
            "beyond": {"ranks": found.ranks + 1000},
            "ties": {"ties": np.zeros(n, dtype=np.int64)},
            "texts": {"subjects": found.subjects + 1},
            "unrepeatable": {"ranks": found.ranks + next(CALLS) % 2},
            "blind": {"ranks": np.arange(n) * 7 % 190 + 2},
            "peeks": {"ranks": found.ranks + (scene.originals[1] != SECOND)},
            "cheats": {"ranks": np.ones(n, dtype=np.int64), "ties": np.ones(n, dtype=np.int64)},
        }
        return replace(found, **changes.get(self.fault, {}))  # type: ignore[arg-type]


ATTACKS = {
    "never": "an attack must work against santext, custext or a table of groups; declare what it"
    " requires in `needs`: log, mechanism, space",
    "nothing": "there must be at least one guess",
    "lengths": "* must have one value per rank",
    "zero": "ranks must start at 1",
    "beyond": "a rank must be at most candidates + 1",
    "ties": "ties must be at least 1: the truth ties with itself",
    "texts": "subjects must be indices of texts",
    "unrepeatable": "the same scene must give the same ranks",
    "blind": "an attack must be right more than twice as often as random guessing",
    "peeks": "the truth of one text must not affect the guesses for another",
    "cheats": "an attack must fail on variants of other texts; otherwise it looks at the truth",
}


# --- measures


class Odd(TextMeasure):
    """The share of variants that are the text itself; and a fault."""

    name: ClassVar[str] = "odd"
    says: ClassVar[str] = "Variants that are the text itself."
    needs: ClassVar[frozenset[str]] = frozenset({"vectors"})
    fault: str = ""

    def measure(self, given: Comparison) -> Floats:
        rows = zip(given.originals, given.variants, strict=True)
        values = np.array([np.mean([v == t for v in row]) if row else np.nan for t, row in rows])
        if self.fault == "space":
            assert given.vectors is not None
            overwrite(given.vectors)
        changed: dict[str, Callable[[], Any]] = {
            "mean": lambda: float(np.nanmean(values)),
            "singles": lambda: values.astype(np.float32),
            "zero for nothing": lambda: np.nan_to_num(values),
            "nan": lambda: np.where(values < 1, np.nan, values),
            "range": lambda: values + 1e-6 + (values == 0),
            "unrepeatable": lambda: np.minimum(values, 1 / (2 + next(CALLS))),
            "first": lambda: np.where(np.arange(len(values)) < 2, 1 - values, values),
            "half": lambda: values / 2,
        }
        return changed[self.fault]() if self.fault in changed else values


MEASURES = {
    "mean": "there must be one value per text, (n,)",
    "singles": "values must be float64",
    "zero for nothing": "the value of a text without variants must be nan",
    "nan": "the value of a text with variants must not be nan",
    "range": "values must be between `lowest` and `highest`",
    "unrepeatable": "the same texts must give the same values",
    "space": "the word vectors must not be modified",
    "first": "the value of a text must not depend on the other texts",
    "half": "if every variant equals the text, the value must be `equal`",
}


# --- what is declared, and what is given

WORDS = "the mechanism must be a WordMechanism instance, not a class or a name"
SPEC = "the attack must be an AttackSpec instance, not a class or a name"
MEASURE = "the measure must be a TextMeasure instance, not a class or a name"
OPEN = "an engine must have `network` and `search`; pass what `open` returns, not the spec"
QUERIES = "`queries` must be a list of at least one query"
NAME = "`name` must consist of ASCII letters, digits and _, as in a spec"
DOCSTRING = "the class must have its own docstring, whose first line is listed"
EXAMPLE = "the required field '*' must have an example: Field(examples=[...])"
VALID = "the first example of each required field must be valid"
PAPER = "a mechanism must have a `paper`: the publication that defines it"
SAYS = "a measure must have `says`: a sentence on what it counts"
MAY_NEED = "`needs` may contain only log, mechanism and space"
NEEDS = "`needs` may contain only *"
DEFAULTS = "every parameter must have a default"


class Nameless(WordMechanism):
    """Any word."""

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee("none")

    def bind(self, space: Embeddings) -> Lawful:
        return Lawful("", space)


class Unpublished(Nameless):
    """Any word."""

    name: ClassVar[str] = "unpublished"


class Silent(Odd):
    """Says nothing."""

    says: ClassVar[str] = ""


class Hyphened(Odd):
    """Has a name that no spec can hold."""

    name: ClassVar[str] = "share-of-words"


class Mute(Wrong):
    pass


class Needy(Odd):
    """Needs what there is not."""

    needs: ClassVar[frozenset[str]] = frozenset({"thesaurus", "luck"})


class Lucky(Spoilt):
    """Needs what there is not."""

    needs: ClassVar[frozenset[str]] = frozenset({"log", "luck"})


class Demanding(Odd):
    """Has a parameter without a default."""

    depth: Annotated[int, Field(examples=[3])]


class Deep(Wrong):
    """Has a parameter without an example."""

    depth: int


class Far(Wrong):
    """Has an example that it does not take."""

    depth: Annotated[int, Field(ge=1, examples=[0])]


class Shop(Remote):
    name: ClassVar[str] = "shop"

    def ask(self, query: Released, k: int) -> list[Hit]:
        raise EngineError("It is closed.")


def engine(given: Any, *queries: str, spec: Component | None = None) -> Callable[[], None]:  # noqa: ANN401
    return lambda: check_engine(given, queries, spec=spec)


GIVEN: tuple[tuple[Callable[[], None], str], ...] = (
    (lambda: check_mechanism(veil.AEA()), WORDS),  # type: ignore[arg-type]
    (lambda: check_mechanism(veil.CMP), WORDS),  # type: ignore[arg-type]
    (lambda: check_mechanism("cmp(epsilon=1)"), WORDS),  # type: ignore[arg-type]
    (lambda: check_mechanism(Nameless()), NAME),
    (lambda: check_mechanism(Unpublished()), PAPER),
    (lambda: check_mechanism(Mute()), DOCSTRING),
    (lambda: check_mechanism(Deep(depth=1)), EXAMPLE),
    (lambda: check_mechanism(Far(depth=1)), VALID),
    (engine(veil.ENGINES.parse("bm25"), "a"), OPEN),
    (engine(Shop, "a"), OPEN),
    (engine("bm25", "a"), OPEN),
    (engine(Answering("")), QUERIES),
    (lambda: check_engine(Answering(""), "a b"), QUERIES),
    (engine(Shop(), "a"), DOCSTRING),
    (engine(Answering(""), "a", spec=Shop()), DOCSTRING),
    (lambda: check_attack(Bayes), SPEC),  # type: ignore[arg-type]
    (lambda: check_attack("bayes"), SPEC),  # type: ignore[arg-type]
    (lambda: check_attack(Lucky()), MAY_NEED),
    (lambda: check_measure("jaccard"), MEASURE),  # type: ignore[arg-type]
    (lambda: check_measure(Hyphened()), NAME),
    (lambda: check_measure(Silent()), SAYS),
    (lambda: check_measure(Needy()), NEEDS),
    (lambda: check_measure(Demanding(depth=3)), DEFAULTS),
)


@pytest.mark.parametrize(("check", "sentence"), GIVEN)
def test_what_cannot_be_checked_or_listed_is_told(
    check: Callable[[], None], sentence: str
) -> None:
    with pytest.raises(AssertionError) as caught:
        check()
    assert tells(str(caught.value), sentence)


def tells(said: str, sentence: str) -> bool:
    """Compare, with anything for *."""
    return re.fullmatch(re.escape(sentence).replace(r"\*", ".+"), said) is not None


# --- what is raised

QUOTED = "treatment for a secret"


class Forgetful(Attack):
    """Looks at a log, and does not say that it needs one."""

    name: ClassVar[str] = "forgetful"

    def run(self, scene: Scene, report: Report = no_progress) -> Outcome:
        assert len(scene.log.texts), QUOTED  # type: ignore[union-attr]
        raise KeyError(QUOTED)


class Careless(Odd):
    """Fails."""

    def measure(self, given: Comparison) -> Floats:
        raise AssertionError(QUOTED)


class Raising(Answering):
    def search(self, queries: Sequence[Released], k: int) -> Ranking:
        check_call(queries, k, network=False)
        raise KeyError(QUOTED)


class Loose(Wrong):
    """Fails."""

    def bind(self, space: Embeddings) -> Lawful:
        raise KeyError(QUOTED)


class Picky(Wrong):
    """Cannot do with this space, and says so."""

    def bind(self, space: Embeddings) -> Lawful:
        raise ParameterError("It needs 300 words.")


@pytest.mark.parametrize(
    ("check", "raised"),
    [
        (lambda: check_mechanism(Loose()), "KeyError"),
        (engine(Raising(""), "a"), "KeyError"),
        (
            lambda: check_attack(Forgetful()),
            "AttributeError; declare what it requires in `needs`: log, mechanism, space",
        ),
        (
            lambda: check_measure(Careless()),
            "AssertionError; declare what it requires in `needs`",
        ),
    ],
)
def test_what_is_raised_is_named_and_not_quoted(check: Callable[[], None], raised: str) -> None:
    with pytest.raises(AssertionError) as caught:
        check()
    said = "a component may raise only VeilErrors; at test_text.py:* it raised "
    assert tells(str(caught.value), said + raised)
    assert caught.value.__cause__ is caught.value.__context__ is None  # nor shown beside it


def test_an_error_of_ours_is_a_sentence_already() -> None:
    with pytest.raises(ParameterError, match="needs 300 words"):
        check_mechanism(Picky())


# --- all of them

CHECKS: dict[str, tuple[Callable[[str], None], dict[str, str]]] = {
    "check_mechanism": (lambda fault: check_mechanism(Wrong(fault=fault)), MECHANISMS),
    "check_engine": (lambda fault: check_engine(Answering(fault), ["a b", "c"]), ENGINES),
    "check_attack": (lambda fault: check_attack(Spoilt(fault=fault)), ATTACKS),
    "check_measure": (lambda fault: check_measure(Odd(fault=fault)), MEASURES),
}


@pytest.mark.parametrize("name", CHECKS)
def test_what_has_no_fault_passes(name: str) -> None:
    CHECKS[name][0]("")


@pytest.mark.parametrize(
    ("name", "fault"), [(name, fault) for name, (_, known) in CHECKS.items() for fault in known]
)
def test_a_fault_is_named(name: str, fault: str) -> None:
    check, known = CHECKS[name]
    with pytest.raises(AssertionError) as caught:
        check(fault)
    assert tells(str(caught.value), known[fault])
