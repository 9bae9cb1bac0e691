"""Every property that `veil.testing` checks: a component that breaks it alone is told so."""

import ast
import inspect
import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.random import Generator

import veil
from veil import testing
from veil.core.errors import ParameterError
from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids, Ranking, Released
from veil.data.fetch import Report, silent
from veil.search.engines.engine import Hit, check_call, ranking
from veil.testing import check_attack, check_engine, check_measure, check_mechanism
from veil.text.attacks.attack import AttackSpec, Outcome, Scene
from veil.text.attacks.bayes import Bayes
from veil.text.measures.measure import Comparison, TextMeasure
from veil.text.mechanisms.words.mechanism import WordMechanism
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
    "shape": "sample(ids, size, rng) must give (size, n) draws",
    "fractions": "draws must be whole numbers",
    "beyond": "draws must be words of the space",
    "unrepeatable": "the same generator must give the same draws",
    "fixed": "draws must depend on the generator",
    "by word": "each place must be drawn on its own",
    "input": "the input must stay as it is",
    "space": "the space must stay as it is",
    "empty": "no words must give no draws",
    "kind": "the guarantee must be of a known kind",
    "sum": "probabilities must add up to 1",
}


def test_what_is_no_mechanism_for_words_is_told_so() -> None:
    with pytest.raises(AssertionError, match="must be one for words"):
        check_mechanism(veil.AEA())


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
    "unreleased": "an engine must refuse what was not released",
    "seeded": "an engine on a network must refuse seeded releases",
    "names": "each item must be listed once",
    "texts": "* must be given for all items, or none",
    "titles": "* must be given for all items, or none",
    "shape": "lists must be (n, k)",
    "gaps": "gaps must be given for all queries, or none",
    "positions": "positions must be of items",
    "gap in a list": "-1 must pad at the end alone",
    "padded scores": "-inf must pad the scores",
    "twice": "a list must hold no item twice",
    "order": "scores must not increase",
    "nothing": "the queries must be ones that it can answer",
}


# --- attackers

SECOND = testing._texts()[1][1]


class Spoilt(AttackSpec):
    """Bayes; and a fault."""

    name: ClassVar[str] = "spoilt"
    needs: ClassVar[frozenset[str]] = frozenset({"log", "mechanism", "space"})
    fault: str = ""

    def attack(self, scene: Scene, report: Report = silent) -> Outcome:
        if self.fault == "never":
            raise ParameterError("It cannot work against this mechanism.")
        found = Bayes().attack(scene, report)
        n = len(found.ranks)
        changes: dict[str, dict[str, Ids]] = {
            "nothing": dict.fromkeys(("ranks", "candidates", "texts", "ties"), np.array([], int)),
            "lengths": {"candidates": found.candidates[1:]},
            "zero": {"ranks": found.ranks - 1},
            "beyond": {"ranks": found.ranks + 1000},
            "ties": {"ties": np.zeros(n, dtype=np.int64)},
            "texts": {"texts": found.texts + 1},
            "unrepeatable": {"ranks": found.ranks + next(CALLS) % 2},
            "blind": {"ranks": np.arange(n) * 7 % 190 + 2},
            "peeks": {"ranks": found.ranks + (scene.originals[1] != SECOND)},
        }
        return replace(found, **changes.get(self.fault, {}))  # type: ignore[arg-type]


ATTACKS = {
    "never": "an attacker must work against one of santext and custext",
    "nothing": "there must be something to guess",
    "lengths": "* must be given for every rank",
    "zero": "the first guess has rank 1",
    "beyond": "no rank may be beyond the candidates",
    "ties": "the truth ties with itself",
    "texts": "texts must be of the scene",
    "unrepeatable": "the same question has the same answer",
    "blind": "an attacker must do better than a blind guess",
    "peeks": "the truth of one text must not change the guesses of another",
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


class Needy(Odd):
    needs: ClassVar[frozenset[str]] = frozenset({"thesaurus", "luck"})


class Demanding(Odd):
    depth: int


MEASURES = {
    "mean": "there must be one value for each text, (n,)",
    "singles": "values must be float64",
    "zero for nothing": "a text without variants must have no value: nan",
    "nan": "nan is for what cannot be measured, and that alone",
    "range": "values must lie between lowest and highest",
    "unrepeatable": "the same texts have the same values",
    "space": "the word vectors must stay as they are",
    "first": "the value of a text must not depend on the others",
    "half": "where every variant is the text itself, the value must be `equal`",
}
NEEDS = "a measure may need some of *"
DEFAULTS = "parameters must have a default"


def test_what_a_measure_may_not_declare() -> None:
    with pytest.raises(AssertionError, match="may need some of encoder, mechanism, thesaurus"):
        check_measure(Needy())
    with pytest.raises(AssertionError, match=DEFAULTS):
        check_measure(Demanding(depth=3))


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
    assert str(caught.value).endswith(known[fault].removeprefix("*"))


def test_every_property_has_a_component_that_breaks_it() -> None:
    """No sentence of a check is without one; a new check is found here, too."""
    tree = ast.parse(inspect.getsource(testing))
    told = [
        _sentence(node.args[1])
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "_require"
    ]
    broken = {sentence for _, known in CHECKS.values() for sentence in known.values()}
    assert set(told) == broken | {NEEDS, DEFAULTS}
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert {name for name in defined if name.startswith("check_")} == set(CHECKS)


def _sentence(node: ast.expr) -> str:
    """Return the sentence, with * for what is filled in."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "*" for part in parts)
