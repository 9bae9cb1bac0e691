"""Every check of every kind fails, in one sentence, on a component that breaks it alone."""

import ast
import itertools
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, ClassVar

import numpy as np
import pytest
from pydantic import ConfigDict, Field
from tests.testing.test_text import CHECKS, GIVEN, tells

import veil.testing.places  # noqa: F401 - loads it
from veil import testing
from veil.core.component import Component, example
from veil.core.errors import InputError, ParameterError
from veil.core.guarantee import Guarantee
from veil.core.registry import Registry
from veil.dp.local.oracles import ORACLES
from veil.dp.local.reports import report
from veil.dp.mechanisms import MECHANISMS as NUMBERS
from veil.encoders.encoder import EncoderSpec, check_texts
from veil.places.measures import MEASURES as MAPS
from veil.places.mechanisms import MECHANISMS as PLACES
from veil.ratings.measures import MEASURES as RANKINGS
from veil.ratings.mechanisms import MECHANISMS as RATINGS
from veil.ratings.recommenders import RECOMMENDERS
from veil.search.engines import ENGINES
from veil.sensitive.classifiers import CLASSIFIERS as SENSITIVITY
from veil.sensitive.measures import MEASURES as GAINS
from veil.sensitive.mechanisms import MECHANISMS as SHOWING
from veil.tables.cells.release import CELL_MECHANISMS
from veil.tables.cells.rules import RULES
from veil.tables.measures.utility import UTILITIES
from veil.tables.mechanisms import MECHANISMS as TABLES
from veil.task.classifiers import CLASSIFIERS as LABELS
from veil.testing import check
from veil.testing import ratings as rated
from veil.testing import sensitive as shown
from veil.testing.contract import Attacking, Protection
from veil.testing.dp import keeps_its_epsilon
from veil.testing.sensitive import judged, letters
from veil.text.mechanisms.mechanism import QueryMechanism, QueryRelease
from veil.text.mechanisms.words import MECHANISMS as WORDS

CALLS = itertools.count()
ODD: Any = SimpleNamespace(kind="odd", compose=lambda *_: ODD)
Change = Callable[[Any], Any]


def broken(registry: Registry[Any], spec: str, **changes: Any) -> Component:  # noqa: ANN401
    """Return a built-in component with other attributes.

    A function takes the component, the arguments, and `was`: what the component returns.
    """
    known = registry.parse(spec) if "(" in spec else example(registry.get(spec))
    cls = type(known)
    body = {
        key: _wrapped(getattr(cls, key), value) if callable(value) else value
        for key, value in changes.items()
    }
    made: Any = type(cls.__name__, (cls,), {"__doc__": "Broken.", "__module__": __name__, **body})
    component: Component = made(**dict(known))
    return component


def _wrapped(was: Any, change: Change) -> Any:  # noqa: ANN401
    if isinstance(was, property):
        return property(lambda self: change(was.fget(self)))  # type: ignore[misc]
    return lambda self, *args, **kwargs: change(was(self, *args, **kwargs))


# --- parts of any kind

DONUT = "donut(low=50, high=500)"


class Undescribed(PLACES.get("donut")):  # type: ignore[misc]
    """Has a field without a description."""

    width: int = 3


class Thawed(PLACES.get("donut")):  # type: ignore[misc]
    """Can be changed."""

    model_config = ConfigDict(frozen=False)


class Open(PLACES.get("donut")):  # type: ignore[misc]
    """Takes any parameter."""

    model_config = ConfigDict(extra="ignore")


class Quoting(PLACES.get("donut")):  # type: ignore[misc]
    """Says what it was given."""

    text: ClassVar[str] = "It must be a number. Got {0} instead."

    @classmethod
    def load(cls, parameters: dict[str, object]) -> Any:  # noqa: ANN401
        try:
            return super().load(parameters)
        except ParameterError:
            raise ParameterError(cls.text.format(*parameters.values(), "")) from None


class Wordy(Quoting):
    """Says it in two lines."""

    text: ClassVar[str] = "It must be a number.\nIt is none."


COMMON: dict[str, Callable[[], object]] = {
    "the field '*' must have a description: Field(description='...')": lambda: check(
        Undescribed(low=50, high=500)
    ),
    "the spec of a component must give an equal component": lambda: check(
        broken(PLACES, DONUT, __str__=lambda was: was.replace("50.0", "40.0"))
    ),
    "a component must be frozen": lambda: check(Thawed(low=50, high=500)),
    "a parameter that a component does not have must be refused": lambda: check(
        Open(low=50, high=500)
    ),
    "an error must not quote its input": lambda: check(Quoting(low=50, high=500)),
    "an error must be one line": lambda: check(Wordy(low=50, high=500)),
}


# --- mechanisms and attacks of a toy domain


def toy(fault: str) -> Protection:
    """Return how mechanisms of numbers are tried, with a fault of the mechanism."""

    def protect(mechanism: Any, data: Any, seed: Any) -> Any:  # noqa: ANN401
        if not isinstance(data, np.ndarray) and fault != "bad":
            raise InputError("Numbers are needed.")
        rng = np.random.default_rng(next(CALLS) if fault == "repeats" else seed)
        noise = rng.random(3)
        if fault == "input":
            data += 1
        return SimpleNamespace(
            value=np.zeros(3) if fault in ("exact", "silent") else noise,
            cost=ODD if fault == "cost" else Guarantee("none"),
            mechanism="other" if fault == "spec" else str(mechanism),
            seeded=(seed is not None or fault == "fresh") and fault != "unlabelled",
        )

    return Protection(
        lambda _: np.arange(3.0), protect, lambda: [None], lambda release: release.value
    )


def mechanism(fault: str) -> None:
    part: Any = SimpleNamespace(guarantee=ODD if fault == "kind" else Guarantee("none"))
    for one in toy(fault).checks[2:]:
        one(part)


def attacking(fault: str) -> None:
    """Attack numbers by guessing them, with a fault of the attack."""

    def attack(part: Any, original: Any, released: Any) -> Any:  # noqa: ANN401
        del part
        right = (original == released).astype(float)
        if fault == "input":
            released += 1
        risk = float(right.mean())
        risks = {"range": 2.0, "repeats": risk - next(CALLS) * 1e-6, "blind": 0.0, "peeks": 1.0}
        return SimpleNamespace(
            risk=risks.get(fault, risk),
            per_record=right - 2 if fault == "records" else right,
            baseline=-1.0 if fault == "baseline" else 0.0,
        )

    numbers = np.arange(4.0)
    tried = Attacking(lambda _: (numbers.copy(), numbers.copy()), attack, lambda _: numbers + 1)
    for one in tried.checks[2:]:
        one(None)


TOYS: dict[str, Callable[[], object]] = {
    "a mechanism must not modify its input": lambda: mechanism("input"),
    "the cost of a release must be a guarantee of a known kind": lambda: mechanism("cost"),
    "the guarantee must be a guarantee of a known kind": lambda: mechanism("kind"),
    "a release must have the spec of its mechanism": lambda: mechanism("spec"),
    "a release with fresh randomness must not be labelled as seeded": lambda: mechanism("fresh"),
    "the same seed must give the same release": lambda: mechanism("repeats"),
    "fresh randomness must give another release": lambda: mechanism("exact"),
    "a random mechanism must not declare `random = False`, and must label a release with a seed"
    " as seeded": lambda: mechanism("unlabelled"),
    "bad input must be refused with a VeilError": lambda: mechanism("bad"),
    "the risk must be from 0 to 1": lambda: attacking("range"),
    "the risks per record must be an array (n,) of numbers from 0 to 1": lambda: attacking(
        "records"
    ),
    "the baseline must be from 0 to 1": lambda: attacking("baseline"),
    "an attack must not modify its input": lambda: attacking("input"),
    "the same seed must give the same risk": lambda: attacking("repeats"),
    "an attack must succeed against unprotected data": lambda: attacking("blind"),
    "an attack must fail on a release of other data; otherwise it looks at the truth": lambda: (
        attacking("peeks")
    ),
}


# --- words and queries


class Sending(QueryMechanism):
    """Send the words of a text one by one; and a fault."""

    name: ClassVar[str] = "sending"
    fault: Annotated[str, Field(description="what is wrong")] = ""

    @property
    def guarantee(self) -> Guarantee:
        return ODD if self.fault == "kind" else Guarantee("none", unit="query")

    def bind(self) -> Any:  # noqa: ANN401
        return self

    def scramble(self, text: str, size: int) -> QueryRelease:
        queries = {
            "many": tuple("abcdefgh"),
            "twice": ("a", "a"),
            "itself": (text,),
            "unrepeatable": (str(next(CALLS)),),
        }
        return QueryRelease(queries.get(self.fault, tuple(text.split()[:size])), (), 0)


class Loud:
    """A law that no epsilon bounds."""

    def __init__(self, kernel: Any) -> None:  # noqa: ANN401
        self.sample = kernel.sample

    def probs(self, ids: Any) -> Any:  # noqa: ANN401
        return np.exp(self.log_probs(ids))

    def log_probs(self, ids: Any) -> Any:  # noqa: ANN401
        odds = np.where(np.arange(200) % 2 == np.asarray(ids)[:, None] % 2, 0.0099, 0.0001)
        return np.log(odds[:, : 60 if len(ids) == 2 else 200])


TEXT: dict[str, Callable[[], object]] = {
    "the law must keep the guarantee for two words": lambda: check(
        broken(WORDS, "santext(epsilon=3)", bind=Loud)
    ),
    "scramble(text, size) must return at most `size` queries": lambda: check(
        Sending(fault="many")
    ),
    "the queries must be distinct": lambda: check(Sending(fault="twice")),
    "only a mechanism that sends whole groups may send the text itself": lambda: check(
        Sending(fault="itself")
    ),
    "the same text must give the same queries": lambda: check(Sending(fault="unrepeatable")),
    "the guarantee must be of a known kind": lambda: check(Sending(fault="kind")),
}


# --- engines and encoders


class Encoding(EncoderSpec):
    """Encode texts by their length; and a fault."""

    name: ClassVar[str] = "encoding"
    fault: Annotated[str, Field(description="what is wrong")] = ""

    @property
    def key(self) -> str:
        return "" if self.fault == "key" else "k"

    @property
    def dim(self) -> int:
        return 2

    def open(self, report: Any = None) -> Any:  # noqa: ANN401
        return self

    def encode(self, texts: Any, role: str = "document") -> Any:  # noqa: ANN401
        if self.fault != "lax":
            check_texts(texts)
            if not all(isinstance(text, str) for text in texts):
                raise InputError("A text must be a string.")
        angles = np.array(
            [len(str(text)) + (self.fault == "moody") * i for i, text in enumerate(texts)]
        )
        rows = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
        return rows[:, :1] if self.fault == "shape" else rows * (2 if self.fault == "long" else 1)


SEARCH: dict[str, Callable[[], object]] = {
    "an engine on a network must set `network`": lambda: check(
        broken(ENGINES, "http", network=lambda _: False)
    ),
    "encode(texts) must return float32 vectors (n, dim)": lambda: check(Encoding(fault="shape")),
    "vectors must have length 1": lambda: check(Encoding(fault="long")),
    "the same text must give the same vector": lambda: check(Encoding(fault="moody")),
    "an encoder must have a `key` for caches": lambda: check(Encoding(fault="key")),
    "an encoder must refuse what is no list of texts": lambda: check(Encoding(fault="lax")),
}


# --- places


def places(check_of_places: str, release: Any) -> None:  # noqa: ANN401
    """Check a release of a mechanism that returns something else than places."""
    domain = sys.modules["veil.testing.places"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(domain, "_protect", lambda *_: release)
        getattr(domain, check_of_places)(example(PLACES.get("donut")))


def points(**given: Any) -> Any:  # noqa: ANN401
    known = SimpleNamespace(ids=None, users=None)
    return SimpleNamespace(**{"xy": np.zeros((1, 160, 2)), "points": lambda: known} | given)


def mapped(change: Change) -> None:
    check(broken(MAPS, "centre", value=change))


PLACE: dict[str, Callable[[], object]] = {
    "the value of a measure must be from 0 to 1": lambda: mapped(lambda was: was + 1),
    "the same maps must have the same value": lambda: mapped(lambda was: was / (1 + next(CALLS))),
    "the true map must have the value 1": lambda: mapped(lambda was: was / 2),
    "a release must have a place for each point": lambda: places(
        "keeps_points", points(xy=np.zeros((1, 3, 2)))
    ),
    "released places must be finite": lambda: places(
        "keeps_points", points(xy=np.full((1, 160, 2), np.nan))
    ),
    "released points must have no ids and no users": lambda: places(
        "keeps_points", points(points=lambda: SimpleNamespace(ids=1, users=None))
    ),
    "the density must keep the guarantee for any two places": lambda: check(
        broken(PLACES, "laplace(epsilon=0.01)", log_density=lambda was: 2 * was)
    ),
}


# --- tables and cells


def added(masked: Any, name: str) -> Any:  # noqa: ANN401
    """Give a masked table one more column."""
    table = masked.table
    column = table.column("age")
    other = type(table)(
        {**{key: table.column(key) for key in table.columns}, name: column},
        {**table.roles, name: "other"},
    )
    return replace(masked, table=other)


def cells(**changes: Any) -> None:  # noqa: ANN401
    check(broken(CELL_MECHANISMS, "suppress(threshold=5)", **changes))


def rules(**changes: Any) -> None:  # noqa: ANN401
    check(broken(RULES, "threshold", **changes))


TABLE: dict[str, Callable[[], object]] = {
    "a release must have no identifier": lambda: check(
        broken(TABLES, "mdav(k=3)", mask=lambda was: added(was, "name"))
    ),
    "a release must have no new column": lambda: check(
        broken(TABLES, "mdav(k=3)", mask=lambda was: added(was, "score"))
    ),
    "`rows` must name the original row of each released one": lambda: check(
        broken(TABLES, "pram(p=0.5)", mask=lambda was: replace(was, rows=was.rows[:-1]))
    ),
    "every released record must be equal to k - 1 others in the quasi-identifiers": lambda: check(
        broken(
            TABLES,
            "pram(p=0.5)",
            mask=lambda was: replace(was, guarantee=Guarantee("k-anonymity", k=5, unit="record")),
        )
    ),
    "utility must be from 0 to 1": lambda: check(
        broken(UTILITIES, "marginals", score=lambda was: was + 1)
    ),
    "the same release must have the same utility": lambda: check(
        broken(UTILITIES, "marginals", score=lambda was: was - next(CALLS) * 1e-9)
    ),
    "no release may be worth more than the original": lambda: check(
        broken(UTILITIES, "marginals", score=lambda was: 1 - was)
    ),
    "`bounds` must have the shape of the published table": lambda: cells(
        publish=lambda was: replace(was, bounds=type(was.bounds)(*(b[:1] for b in was.bounds)))
    ),
    "`bounds` must hold the true value of each published cell": lambda: cells(
        publish=lambda was: replace(
            was, bounds=type(was.bounds)(was.bounds.low + 1, was.bounds.high + 1)
        )
    ),
    "a random release with a seed must be labelled as seeded": lambda: check(
        broken(CELL_MECHANISMS, "sample", draws=lambda _: False)
    ),
    "a rule must judge every cell of the full table": lambda: rules(
        sensitive=lambda was: was._replace(cells=was.cells[:1])
    ),
    "an empty cell must not be sensitive": lambda: check(
        broken(RULES, "threshold", sensitive=lambda was: was._replace(cells=was.cells | True))
    ),
    "the protection of a cell must be at least 0": lambda: rules(
        sensitive=lambda was: was._replace(protection=was.protection - 9)
    ),
}


# --- ratings


def fitted(spec: str = "mean", **changes: Any) -> None:  # noqa: ANN401
    """Check a recommender whose models have other methods."""

    def change(model: Any) -> Any:  # noqa: ANN401
        for key, value in changes.items():
            was = getattr(model, key)
            setattr(model, key, lambda *args, was=was, value=value: value(was, *args))
        return model

    check(broken(RECOMMENDERS, spec, fit=change))


def forging(original: Any, mechanism: Any, rng: Any) -> Any:  # noqa: ANN401
    """Return the original as if it were a release."""
    del mechanism, rng
    return SimpleNamespace(data=original)


def named_users() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rated, "protect", forging)
        rated.renames_users(example(RATINGS.get("krr")))


class Shouting(RECOMMENDERS.get("mean")):  # type: ignore[misc]
    """Rounds the ratings that it learns from."""

    def fit(self, train: Any, positive: Any = None, rng: Any = None) -> Any:  # noqa: ANN401
        train.value[:3] = 5.0
        return super().fit(train, positive, rng)


class Greedy(RULES.get("threshold")):  # type: ignore[misc]
    """Changes the cells that it judges."""

    def sensitive(self, cells: Any) -> Any:  # noqa: ANN401
        found = super().sensitive(cells)
        cells.values.flags.writeable = True
        np.add(cells.values, 1, out=cells.values)
        return found


class Editing(UTILITIES.get("marginals")):  # type: ignore[misc]
    """Changes the table that it compares."""

    def score(self, pair: Any) -> float:  # noqa: ANN401
        column = pair.original.column("wage")
        values = column.values
        values.flags.writeable = True
        values += 1
        worth: float = super().score(pair)
        return worth


def listed(**changes: Any) -> None:  # noqa: ANN401
    check(broken(RANKINGS, "recall", **changes))


RATING: dict[str, Callable[[], object]] = {
    "values(block) must be (b,): one for each user": lambda: listed(values=lambda was: was[1:]),
    "values must be between `lowest` and `highest`": lambda: listed(values=lambda was: was + 1),
    "the same lists must have the same values": lambda: listed(
        values=lambda was: was / (1 + next(CALLS))
    ),
    "a release must not have the id of an original user": named_users,
    "a recommender must not modify its input": lambda: check(Shouting()),
    "a rule must not modify its input": lambda: check(Greedy(threshold=3)),
    "a measure must not modify its input": lambda: check(Editing()),
    "probabilities must add up to 1": lambda: check(
        broken(RATINGS, "krr(epsilon=1)", log_likelihood=lambda was: was + 1)
    ),
    "the law must keep the guarantee for two ratings": lambda: check(
        broken(RATINGS, "krr(epsilon=3)", guarantee=lambda was: replace(was, epsilon=1.0))
    ),
    "released ratings must be on the scale": lambda: check(
        broken(
            RATINGS,
            "krr(epsilon=1)",
            apply=lambda was: replace(was, data=replace(was.data, value=was.data.value - 9)),
        )
    ),
    "scores(users) must be (b, items)": lambda: fitted(scores=lambda was, u: was(u)[:, :3]),
    "scores must be numbers": lambda: fitted(scores=lambda was, u: was(u) * np.nan),
    "the same seed must give the same model": lambda: fitted(
        scores=lambda was, u: was(u) + next(CALLS)
    ),
    "no list may show an item of the user's own": lambda: fitted(
        candidates=lambda was, u: np.zeros_like(was(u))
    ),
    "predictions must be on the scale, also for a user whom nobody knows": lambda: fitted(
        predict=lambda was, *pairs: was(*pairs) + 9
    ),
    "a list for an unknown user must be refused": lambda: fitted(
        recommend=lambda was, users, k: None
    ),
}


# --- sensitive documents, and tasks


class Showing:
    """A searcher with other answers."""

    notes = ()

    def __init__(self, searcher: Any, change: Change) -> None:  # noqa: ANN401
        self.searcher, self.change = searcher, change

    def answer(self, query: str, k: int, topic: str = "") -> Any:  # noqa: ANN401
        return self.change(self.searcher.answer(query, k, topic))


def showing(change: Change) -> None:
    check(broken(SHOWING, "postfilter", open=lambda searcher: Showing(searcher, change)))


def hidden_ones(answer: Any) -> Any:  # noqa: ANN401
    """Show what nobody may see."""
    hidden = np.flatnonzero(~(judged(letters()) < 1))
    return replace(answer, positions=hidden, scores=1 / np.arange(1, len(hidden) + 1))


class Guessing:
    """A model with other shares."""

    def __init__(self, model: Any, change: Change) -> None:  # noqa: ANN401
        self.model, self.change = model, change

    def shares(self, texts: Any) -> Any:  # noqa: ANN401
        return self.change(self.model.shares(texts))


def guessing(change: Change) -> None:
    check(broken(LABELS, "logistic", learn=lambda model: Guessing(model, change)))


class Fitting:
    """A fitted classifier of sensitivity with other scores."""

    def __init__(self, fitted: Any, change: Change) -> None:  # noqa: ANN401
        self.fitted, self.change = fitted, change

    def scores(self, numbers: Any, rows: Any) -> Any:  # noqa: ANN401
        return self.change(self.fitted.scores(numbers, rows))


def fitting(change: Change) -> None:
    check(broken(SENSITIVITY, "logistic", fit=lambda fitted: Fitting(fitted, change)))


class Relabelling(SENSITIVITY.get("logistic")):  # type: ignore[misc]
    """Turns labels around."""

    def fit(self, numbers: Any, rows: Any, labels: Any) -> Any:  # noqa: ANN401
        found = super().fit(numbers, rows, labels)
        labels[:] = np.where(labels == 1, 0, 1)
        return found


def improbable() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shown, "cross_validate", lambda *_: SimpleNamespace(p=np.full(shown.N, 2.0)))
        shown.classifies_letters(example(SENSITIVITY.get("logistic")))


def short_lists() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            shown,
            "_rank",
            lambda *_: SimpleNamespace(items=(), index=np.zeros((1, 1)), scores=np.zeros((1, 1))),
        )
        shown.withholds(example(SHOWING.get("postfilter")))


DOCUMENTS: dict[str, Callable[[], object]] = {
    "values must be (n,): one for each query": lambda: check(
        broken(GAINS, "SENS", values=lambda was: was[1:])
    ),
    "there must be a list per query": short_lists,
    "probabilities must be (n,) numbers from 0 to 1": improbable,
    "the same folds must give the same probabilities": lambda: fitting(
        lambda was: was + next(CALLS) * np.arange(len(was))
    ),
    "a classifier must not modify the labels": lambda: check(Relabelling()),
    "a document with p = 1 or without a p must not be shown": lambda: showing(hidden_ones),
    "a list must not show a document twice": lambda: showing(
        lambda was: replace(was, positions=np.repeat(was.positions[:1], len(was.positions)))
    ),
    "scores must not increase": lambda: showing(lambda was: replace(was, scores=-was.scores)),
    "shares(texts) must be (n, classes)": lambda: guessing(lambda was: was[:, 0]),
    "the shares of a text must be at least 0 and add up to 1": lambda: guessing(
        lambda was: was + 0.1
    ),
    "the same texts must have the same shares": lambda: guessing(
        lambda was: np.roll(was, next(CALLS), axis=1)
    ),
    "a classifier must learn two kinds of texts that have no word in common": lambda: guessing(
        lambda was: was[:, ::-1]
    ),
    "a classifier must have a `key` for caches": lambda: check(
        broken(LABELS, "logistic", key=lambda _: "")
    ),
}


# --- numbers and reports


class Lax(ORACLES.get("grr")):  # type: ignore[misc]
    """Takes anything for a value."""

    def check(self, values: object) -> Any:  # noqa: ANN401
        return np.resize(np.arange(2), 300)


def reports(**changes: Any) -> None:  # noqa: ANN401
    """Check an oracle whose reports differ."""
    domain = sys.modules["veil.testing.dp"]
    made = report
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            domain,
            "report",
            lambda *args, **kwargs: SimpleNamespace(
                **{
                    "n": (was := made(*args, **kwargs)).n,
                    "cost": was.cost,
                    "mechanism": was.mechanism,
                    "data": was.data,
                    "index": was.index,
                    "seeded": was.seeded,
                }
                | {key: value(was) for key, value in changes.items()}
            ),
        )
        check(example(ORACLES.get("grr")))


DP: dict[str, Callable[[], object]] = {
    "draw(x, size, rng) must stack `size` releases": lambda: check(
        broken(NUMBERS, "geometric", draw=lambda was: was[:-1])
    ),
    "`pairs` must have two neighbouring inputs for an audit": lambda: keeps_its_epsilon(
        broken(ORACLES, "grr", pairs=lambda _: ())  # type: ignore[arg-type]
    ),
    "draws from neighbouring inputs must not refute the guarantee": lambda: check(
        broken(NUMBERS, "geometric(epsilon=4)", guarantee=lambda was: replace(was, epsilon=0.1))
    ),
    "there must be a report of each value": lambda: reports(n=lambda _: 3),
    "the cost of reports must be a guarantee of a known kind": lambda: reports(cost=lambda _: ODD),
    "reports must have the spec of their oracle": lambda: reports(mechanism=lambda _: "other"),
    "the same seed must give the same reports": lambda: reports(
        data=lambda was: was.data + next(CALLS)
    ),
    "fresh randomness must give other reports": lambda: reports(data=lambda was: was.data * 0),
    "reports with a seed alone must be labelled seeded": lambda: reports(seeded=lambda _: False),
    "bad values must be refused with a VeilError": lambda: check(
        Lax(**dict(example(ORACLES.get("grr"))))
    ),
}


def echo(query: Any) -> str:  # noqa: ANN401
    return f"<p>{query.get('q', '')}</p>"


PAGES: dict[str, Callable[[], object]] = {
    "a page must return HTML as a string": lambda: check(lambda query: ""),
    "the same query must give the same page": lambda: check(lambda query: f"<p>{next(CALLS)}"),
    "a page must have no script, and load nothing from elsewhere": lambda: check(
        lambda query: "<script>"
    ),
    "a page must escape what it quotes from its address": lambda: check(echo),
}


FAULTS = PAGES | COMMON | TOYS | TEXT | SEARCH | PLACE | TABLE | RATING | DOCUMENTS | DP


@pytest.mark.parametrize("sentence", FAULTS)
def test_a_fault_is_named(sentence: str) -> None:
    with pytest.raises(AssertionError) as caught:
        FAULTS[sentence]()
    assert tells(str(caught.value), sentence)


def test_a_class_a_spec_and_an_instance_are_checked_alike() -> None:
    check(PLACES.get("donut"))
    check("donut(low=50, high=500)", PLACES)
    with pytest.raises(ParameterError, match="with its registry"):
        check("donut(low=50, high=500)")
    with pytest.raises(ParameterError, match="Got an object of type int instead"):
        check(3)  # type: ignore[arg-type]


def test_every_sentence_has_a_component_that_breaks_it() -> None:
    """No sentence of a check is without one; a new check is found here, too."""
    calls = [
        node
        for source in Path(testing.__file__).parent.glob("*.py")
        for node in ast.walk(ast.parse(source.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "require"
    ]
    known = {sentence for _, faults in CHECKS.values() for sentence in faults.values()}
    known |= {sentence for _, sentence in GIVEN}
    assert {_sentence(node.args[1]) for node in calls} == known | set(FAULTS)
    checks = {name for name in vars(testing) if name.startswith("check_")}
    assert checks == {*CHECKS, "check_domain"}  # which tests/studies/test_domain.py breaks


def _sentence(node: ast.expr) -> str:
    """Return the sentence, with * for what is filled in."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "*" for part in parts)
