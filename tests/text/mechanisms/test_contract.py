"""What every mechanism must keep, built-in or plugin."""

from importlib.metadata import EntryPoint

import numpy as np
import pytest
from annotated_types import Ge, Gt, Le, Lt
from numpy.random import Generator
from tests.conftest import make_space
from tests.text.rows import BUDGETED, NAMES

import veil
from veil.core import registry
from veil.core.component import example
from veil.core.guarantee import KINDS
from veil.testing import check_mechanism
from veil.text.vectors.embeddings import Embeddings


@pytest.mark.parametrize("name", NAMES)
def test_check_suite(name: str) -> None:
    check_mechanism(example(veil.MECHANISMS.get(name)))


def test_the_seven_are_there() -> None:
    assert {"cmp", "mahalanobis", "vickrey", "santext", "tem", "custext", "wbb"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_out_of_range_values_are_named_in_the_error(name: str) -> None:
    cls = veil.MECHANISMS.get(name)
    good: dict[str, object] = dict(example(cls))
    checked = 0
    for key, field in cls.model_fields.items():
        for rule in field.metadata:
            bad: object
            if isinstance(rule, Gt):
                bad = rule.gt
            elif isinstance(rule, Lt):
                bad = rule.lt
            elif isinstance(rule, Ge):
                bad = rule.ge - 1  # type: ignore[operator]
            elif isinstance(rule, Le):
                bad = rule.le + 1  # type: ignore[operator]
            else:
                continue
            checked += 1
            with pytest.raises(veil.ParameterError, match=f"'{key}' parameter of {name} must"):
                cls.load(good | {key: bad})
    assert checked or not good


@pytest.mark.parametrize("name", BUDGETED)
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), "ten", None, [1]])
def test_epsilon_must_be_a_finite_number(name: str, bad: object) -> None:
    cls = veil.MECHANISMS.get(name)
    with pytest.raises(veil.ParameterError, match=f"'epsilon' parameter of {name} must be"):
        cls.load(dict(example(cls)) | {"epsilon": bad})


@pytest.mark.parametrize("name", NAMES)
def test_choices_are_named_in_the_error(name: str) -> None:
    cls = veil.MECHANISMS.get(name)
    for key, field in cls.model_fields.items():
        if "Literal" in str(field.annotation):
            with pytest.raises(veil.ParameterError, match=f"'{key}' parameter of {name} must be"):
                cls.load(dict(example(cls)) | {key: "nonsense"})


@pytest.mark.parametrize("name", NAMES)
def test_guarantee_says_what_it_means(name: str) -> None:
    guarantee = example(veil.MECHANISMS.get(name)).guarantee
    assert guarantee.kind in KINDS
    assert guarantee.unit == "word"
    assert guarantee.caveat.endswith(".")
    assert (guarantee.kind == "none") == np.isinf(guarantee.epsilon)


@pytest.mark.parametrize("name", NAMES)
def test_docstring_cites_the_paper(name: str) -> None:
    text = veil.MECHANISMS.get(name).__doc__ or ""
    assert "References" in text
    assert "lgorithm" in text
    assert "roved" in text


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("cmp(", "name\\(key=value"),
        ("cmp(10)", "name\\(key=value"),
        ("cmp(epsilon=1, epsilon=2)", "name\\(key=value"),
        ("cmp(epsilon=__import__('os'))", "name\\(key=value"),
        ("cmp(**{})", "name\\(key=value"),
        ("(" * 3000, "name\\(key=value"),
        ("cmp()", "'epsilon' parameter of cmp is required"),
        ("cmp(epsilon=1, lam=2)", "cmp has no parameter 'lam'; its parameters are: epsilon"),
    ],
)
def test_bad_specs_are_refused(spec: str, message: str) -> None:
    with pytest.raises(veil.ParameterError, match=message):
        veil.MECHANISMS.parse(spec)


def test_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(veil.UnknownNameError, match="Did you mean 'santext'"):
        veil.MECHANISMS.parse("santxt(epsilon=3)")


def test_spec_values_may_be_bare_or_quoted() -> None:
    bare = veil.MECHANISMS.parse("vickrey(epsilon=1, noise=mahalanobis, unit_direction=true)")
    assert bare == veil.MECHANISMS.parse(
        "vickrey(epsilon=1, noise='mahalanobis', unit_direction=True)"
    )


def test_plugins_join_but_cannot_replace(monkeypatch: pytest.MonkeyPatch) -> None:
    def points(*entries: tuple[str, str]) -> None:
        result = [EntryPoint(n, v, "veil.mechanisms.words") for n, v in entries]
        monkeypatch.setattr(registry, "entry_points", lambda **_: result)

    points(("mine", "veil.text.mechanisms.words.cmp:CMP"))
    assert "mine" in veil.MECHANISMS.names()
    points(("cmp", "evil:CMP"))
    with pytest.raises(veil.UnknownNameError, match="may not replace the built-in 'cmp'"):
        veil.MECHANISMS.names()
    points(("mine", "one:A"), ("mine", "two:B"))
    with pytest.raises(veil.UnknownNameError, match="one:A and two:B"):
        veil.MECHANISMS.names()


def test_check_suite_exposes_a_broken_mechanism(rng: Generator) -> None:
    """A mechanism that returns the word itself for some input shape must not pass."""

    class Lazy(veil.CMP):
        """The first word, once."""

        name = "lazy"

        def bind(self, space: Embeddings) -> object:  # type: ignore[override]
            class Kernel:
                def sample(self, ids: object, size: int, rng: Generator) -> object:
                    return np.zeros((size, 1), dtype=np.int64)

            return Kernel()

    with pytest.raises(AssertionError, match="must return \\(size, n\\) draws"):
        check_mechanism(Lazy(epsilon=1))


def test_laws_are_cached_within_the_bound(rng: Generator) -> None:
    space = make_space(2000, 3)
    space.memo.limit = 10 * 2000 * 4
    kernel = veil.SanText(epsilon=1).bind(space)
    for start in range(0, 200, 20):
        kernel.sample(np.arange(start, start + 20), 2, rng)
        assert space.memo.nbytes <= space.memo.limit
    assert space.memo.nbytes > 0.8 * space.memo.limit


def test_two_mechanisms_do_not_share_laws(space: Embeddings, rng: Generator) -> None:
    ids = np.array([3])
    weak = veil.SanText(epsilon=0.01).bind(space).sample(ids, 4000, rng)
    strong = veil.SanText(epsilon=50).bind(space).sample(ids, 4000, rng)
    assert len(np.unique(weak)) > 50
    assert (strong == 3).all()


@pytest.mark.parametrize("name", NAMES)
def test_a_brief_spec_means_the_same(name: str) -> None:
    made = example(veil.MECHANISMS.get(name))
    assert len(made.brief) <= len(str(made))
    assert str(veil.mechanism(made.brief)) == str(made)
