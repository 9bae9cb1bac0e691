"""Find a domain by its name: in the table `DOMAINS`, or among the entry points of others."""

import time
from functools import lru_cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import cast

from veil.core.component import Component
from veil.core.errors import StepError, UnknownNameError, VeilError, place
from veil.core.registry import unknown_name
from veil.studies import DEFAULT, DOMAINS, GROUP
from veil.studies.experiment import Experiment, Step
from veil.studies.store import Result
from veil.studies.study import Study
from veil.studies.vocabulary import Vocabulary

OTHER = "Other"  # the family of a mechanism that is not known here

Domain = type[Experiment]


def domains() -> dict[str, str]:
    """Return the names of all domains, and the sentence of each."""
    return {name: row.says for name, row in DOMAINS.items()} | {
        name: f"A domain of {place.partition(':')[0]}." for name, place in _plugins().items()
    }


@lru_cache
def domain(name: str) -> Domain:
    """Return the experiments of that domain."""
    place = DOMAINS[name].place if name in DOMAINS else _plugins().get(name, "")
    if not place:
        raise unknown_name("domain", name, sorted(domains()))
    module, _, attribute = place.partition(":")
    return cast(Domain, getattr(import_module(module), attribute))


def _plugins() -> dict[str, str]:
    found: dict[str, str] = {}
    for point in entry_points(group=GROUP):
        other = DOMAINS[point.name].place if point.name in DOMAINS else found.get(point.name, "")
        if other not in ("", point.value):
            raise UnknownNameError(
                f"There are two domains called '{point.name}': {other} and {point.value}; rename"
                " an entry point, or uninstall one."
            )
        found[point.name] = point.value
    return found


def words_of(name: str) -> Vocabulary:
    """Return the nouns of a domain."""
    return domain(name or DEFAULT).words


def method(name: str, mechanism: str) -> type[Component] | None:
    """Return a mechanism of a domain by its name, None for one that is not installed here."""
    found = domain(name or DEFAULT)
    try:
        named = found.words.elsewhere.get(mechanism, mechanism)
        return cast(type[Component], found.mechanisms.get(named))
    except VeilError:
        return None


@lru_cache(maxsize=2)
def opened(study: Study) -> Experiment:
    """Return the experiment of a study: the same for every step that this process computes."""
    return domain(study.domain)(study)


def compute(study: Study, step: Step, of: Result | None) -> Result:
    """Compute a step in this process, and say how long it took."""
    started = time.perf_counter()
    try:
        made = opened(study).compute(step, of)
    except (VeilError, OSError):  # told as they are: a full disk, a missing file
        raise
    except Exception as error:  # noqa: BLE001 - its own message could quote what is protected
        by = f" by {step.by}" if step.by else ""
        raise StepError(
            f"The step '{step.kind}' of {step.spec or 'the data'}{by} failed:"
            f" {place(error)}; what is done is kept."
        ) from None
    return Result(made.arrays, made.data, time.perf_counter() - started)
