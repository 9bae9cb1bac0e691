"""What a check consists of, and the checks that all kinds of components share.

A check is a function of a component. It returns if the component keeps one part of its contract,
and else raises AssertionError with one sentence. No sentence quotes data or a parameter.
"""

import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

import numpy as np

from veil.core.component import Component, example
from veil.core.errors import AssetError, MissingExtraError, ParameterError, VeilError
from veil.core.guarantee import KINDS, Guarantee
from veil.core.registry import read_spec

P = ParamSpec("P")
Part = Any  # a component, whose kind only the checks of its domain know
Check = Callable[[Part], None]
CANARY = "xanthippe"  # occurs in bad input, and in no message
SEED = 20261118


class BrokenError(AssertionError):
    """A violation of a contract, in one sentence."""


def require(holds: object, sentence: str) -> None:
    """Fail with `sentence` unless `holds`."""
    if not holds:
        raise BrokenError(sentence)


def in_one_sentence(hint: str = "") -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Make a check fail with one sentence, too, if a component raises an error of another type.

    The message of such an error is not shown, because it could quote a text.
    """

    def decorate(check: Callable[P, None]) -> Callable[P, None]:
        @wraps(check)
        def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
            try:
                check(*args, **kwargs)
            except VeilError:
                raise
            except BrokenError as broken:
                sentence = str(broken)
            except Exception as error:  # noqa: BLE001 - a component may raise anything
                sentence = _describe(error) + hint
            else:
                return
            raise BrokenError(sentence)

        return wrapped

    return decorate


def _describe(error: Exception) -> str:
    """Return the type of an error and its location, without its message."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(last.filename).name}:{last.lineno}"
    return f"a component may raise only VeilErrors; at {where} it raised {type(error).__name__}"


def declared(cls: type[Component], *, hyphens: bool = False) -> None:
    """Check the declarations that lists, help and documentation are generated from."""
    name = getattr(cls, "name", "")
    word = name.replace("-", "") if hyphens and isinstance(name, str) else name
    require(
        isinstance(word, str) and word.isascii() and word.isidentifier(),
        "`name` must consist of ASCII letters, digits and _, as in a spec",
    )
    require(
        bool((vars(cls).get("__doc__") or "").strip()),
        "the class must have its own docstring, whose first line is listed",
    )
    for key, field in cls.model_fields.items():
        require(
            bool(field.examples) or not field.is_required(),
            f"the required field '{key}' must have an example: Field(examples=[...])",
        )
    require(builds(cls), "the first example of each required field must be valid")


def builds(cls: type[Component]) -> bool:
    """Return whether a component can be built from the examples of its parameters."""
    try:
        example(cls)
    except ParameterError:
        return False
    return True


def declarations(component: Component) -> None:
    """Check name, docstring, parameters, and that the spec gives the component back."""
    cls = type(component)
    declared(cls, hyphens=True)
    for key, field in cls.model_fields.items():
        require(
            bool((field.description or "").strip()),
            f"the field '{key}' must have a description: Field(description='...')",
        )
    require(
        cls.load(read_spec(str(component))[1]) == component,
        "the spec of a component must give an equal component",
    )
    require(bool(cls.model_config.get("frozen")), "a component must be frozen")


def parameters(component: Component) -> None:
    """Check that unknown parameters are refused, and that no message quotes a value."""
    cls = type(component)
    values = dict(component)
    require(
        refusal(lambda: cls.load({**values, "no_such_parameter": 1})) is not None,
        "a parameter that a component does not have must be refused",
    )
    for key in values:
        refusal(lambda key=key: cls.load({**values, key: CANARY}))  # type: ignore[misc]


def refusal(call: Callable[[], object]) -> VeilError | None:
    """Return the VeilError that a call raises, or None; fail if its message quotes the input."""
    try:
        call()
    except (AssetError, MissingExtraError):  # nothing was checked
        raise
    except VeilError as error:
        sentence = str(error)
        require(CANARY not in sentence.lower(), "an error must not quote its input")
        require("\n" not in sentence and sentence.strip() == sentence, "an error must be one line")
        return error
    return None


def fingerprint(value: object) -> object:
    """Return something that equals that of another value if both hold the same data."""
    if isinstance(value, np.ndarray):
        data = tuple(value.ravel().tolist()) if value.dtype == object else value.tobytes()
        return value.dtype.str, value.shape, data
    if isinstance(value, Component):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        return tuple((f.name, fingerprint(getattr(value, f.name))) for f in fields(value))
    if isinstance(value, Mapping):
        return tuple((str(key), fingerprint(item)) for key, item in value.items())
    if isinstance(value, str | bytes | int | float | None):
        return type(value).__name__, str(value)
    if isinstance(value, Sequence):
        return tuple(map(fingerprint, value))
    return type(value).__name__


def share(value: object) -> bool:
    """Return whether a figure, or every number of an array, is from 0 to 1."""
    numbers = np.asarray(value, dtype=np.float64)
    return bool(((numbers >= 0) & (numbers <= 1 + 1e-9)).all())


@dataclass(frozen=True)
class Protection:
    """How the mechanisms of a domain are tried.

    Attributes
    ----------
    original
        Returns small data that a mechanism can protect.
    protect
        ``protect(mechanism, original, rng)``: the public call of the domain.
    bad
        Returns originals that must be refused.
    content
        Returns what leaves with a release: nothing else has to be equal or to differ.
    """

    original: Callable[[Any], Any]
    protect: Callable[[Any, Any, Any], Any]
    bad: Callable[[], Sequence[Any]]
    content: Callable[[Any], object]

    @property
    def checks(self) -> tuple[Check, ...]:
        """The checks of a mechanism that can be made without knowing its domain."""
        return (
            declarations,
            parameters,
            self.keeps_its_input,
            self.labels_its_release,
            self.draws_from_its_generator,
            self.refuses_bad_input,
        )

    def keeps_its_input(self, mechanism: Part) -> None:
        """Check that protecting data does not modify them."""
        original = self.original(mechanism)
        before = fingerprint(original)
        self.protect(mechanism, original, SEED)
        require(fingerprint(original) == before, "a mechanism must not modify its input")

    def labels_its_release(self, mechanism: Part) -> None:
        """Check the labels of a release."""
        release = self.protect(mechanism, self.original(mechanism), SEED)
        require(
            isinstance(release.cost, Guarantee) and release.cost.kind in KINDS,
            "the cost of a release must be a guarantee of a known kind",
        )
        require(
            mechanism.guarantee.kind in KINDS, "the guarantee must be a guarantee of a known kind"
        )
        require(
            release.mechanism == str(mechanism), "a release must have the spec of its mechanism"
        )
        fresh = self.protect(mechanism, self.original(mechanism), None)
        require(not fresh.seeded, "a release with fresh randomness must not be labelled as seeded")

    def draws_from_its_generator(self, mechanism: Part) -> None:
        """Check that a seed repeats a release, and that nothing else does, unless it is exact."""
        original = self.original(mechanism)
        release, again = (self.protect(mechanism, original, SEED) for _ in range(2))
        content = fingerprint(self.content(release))
        require(
            content == fingerprint(self.content(again)), "the same seed must give the same release"
        )
        fresh = {fingerprint(self.content(self.protect(mechanism, original, None))) for _ in "123"}
        if release.seeded and getattr(mechanism, "random", True):
            require(len(fresh) > 1, "fresh randomness must give another release")
        else:
            require(
                fresh == {content},
                "a random mechanism must not declare `random = False`, and must label a release"
                " with a seed as seeded",
            )

    def refuses_bad_input(self, mechanism: Part) -> None:
        """Check that bad input gives an error, and no release."""
        for original in self.bad():
            require(
                refusal(lambda data=original: self.protect(mechanism, data, SEED)) is not None,  # type: ignore[misc]
                "bad input must be refused with a VeilError",
            )


@dataclass(frozen=True)
class Attacking:
    """How to test the attacks of a domain.

    Attributes
    ----------
    scene
        Returns the original and its unprotected release.
    attack
        ``attack(attack, original, released)``: the public call, with a fixed seed.
    unrelated
        Returns a release of other data, which reveals nothing about the original; None if the
        attack accepts no such release.
    """

    scene: Callable[[Any], tuple[Any, Any]]
    attack: Callable[[Any, Any, Any], Any]
    unrelated: Callable[[Any], Any]

    @property
    def checks(self) -> tuple[Check, ...]:
        """The checks of an attack that can be made without knowing its domain."""
        return (
            declarations,
            parameters,
            self.reports_a_risk,
            self.repeats_itself,
            self.looks_at_the_release,
        )

    def reports_a_risk(self, attack: Part) -> None:
        """Check that the outcome has a risk, for all and for each record."""
        outcome = self.attack(attack, *self.scene(attack))
        require(share(float(outcome.risk)), "the risk must be from 0 to 1")
        per_record = getattr(outcome, "per_record", None)
        require(
            per_record is None or (np.ndim(per_record) == 1 and share(np.nan_to_num(per_record))),
            "the risks per record must be an array (n,) of numbers from 0 to 1",
        )
        blind = getattr(outcome, "baseline", None)
        require(blind is None or share(float(blind)), "the baseline must be from 0 to 1")

    def repeats_itself(self, attack: Part) -> None:
        """Check that an attack is repeatable, and modifies nothing."""
        original, released = self.scene(attack)
        before = fingerprint((original, released))
        first = self.attack(attack, original, released)
        require(fingerprint((original, released)) == before, "an attack must not modify its input")
        again = self.attack(attack, original, released)
        require(float(first.risk) == float(again.risk), "the same seed must give the same risk")

    def looks_at_the_release(self, attack: Part) -> None:
        """Check that an attack fails if the release is not of the original: no peeking."""
        original, released = self.scene(attack)
        risk = float(self.attack(attack, original, released).risk)
        require(risk > 0, "an attack must succeed against unprotected data")
        other = self.unrelated(attack)
        if other is None:
            return
        require(
            float(self.attack(attack, original, other).risk) <= max(0.5 * risk, 0.05),
            "an attack must fail on a release of other data; otherwise it looks at the truth",
        )
