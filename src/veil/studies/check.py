"""Check the contract of a domain: sweep it, stop and resume, draw it, and choose from it."""

import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from veil.core.guarantee import KINDS
from veil.studies.choose import choose
from veil.studies.domains import domain, make_study
from veil.studies.experiment import Experiment
from veil.studies.export import export, read_csv
from veil.studies.panels import is_utility
from veil.studies.report.report import render
from veil.studies.results import PLAIN, Results
from veil.studies.store import Store
from veil.studies.study import Study
from veil.studies.sweep import sweep


class _Stopped(BaseException):
    """Ends a sweep in the middle, as Ctrl-C does."""


def check_domain(name: str, keys: Mapping[str, Any]) -> None:
    """Raise AssertionError if a domain breaks the contract of `Experiment`.

    `keys` describe a small study with at least two configurations of one mechanism and an attack.
    The domain must be a row of `veil.studies.DOMAINS`, or an entry point.
    """
    study = make_study({"name": "check", **keys, "domain": name}, "the check", Path.cwd())
    _check_cells(domain(name)(study), domain(name)(study))
    with tempfile.TemporaryDirectory(prefix="veil-check-") as scratch:
        results = _check_sweep(study, Path(scratch))
        _check_table(results, domain(name)(study))
        _check_files(results, Path(scratch))


def _check_cells(experiment: Experiment, again: Experiment) -> None:
    cells = list(experiment.cells())
    _require(
        experiment.n >= 2 and bool(experiment.data),
        "the data must have a name and at least two subjects",
    )
    _require(len(cells) >= 2, "the study must have two configurations")
    _require(
        bool(experiment.plain()),
        "utility is relative to the unprotected data: plain() has no steps",
    )
    keys = [step.key for cell in cells for step in (cell.release, *cell.steps)]
    keys += [step.key for step in experiment.plain()]
    _require(len(set(keys)) == len(keys), "each step must have a different key")
    others = [step.key for cell in again.cells() for step in (cell.release, *cell.steps)]
    _require(keys[: len(others)] == others, "the same study must give the same keys")
    for cell in cells:
        _require(bool(cell.mechanism.name), "a mechanism must have a name")
        _require(cell.mechanism.guarantee.kind in KINDS, "a guarantee must be of a known kind")
        _require(
            str(experiment.mechanisms.parse(str(cell.mechanism))) == str(cell.mechanism),
            "a mechanism must equal the one that its spec builds",
        )
        _require(
            all(step.of in ("", cell.release.key) for step in cell.steps),
            "a step must work on the release of its cell",
        )


def _check_sweep(study: Study, scratch: Path) -> Results:
    """Sweep once in full and once with an interruption; both must give the same results."""
    whole = sweep(study, scratch / "whole", workers=0)

    def stop(message: str, done: int, total: int) -> None:
        del message, total
        if done == 2:
            raise _Stopped

    with suppress(_Stopped):
        sweep(study, scratch / "part", workers=0, report=stop)
    with Store(scratch / "part") as store:
        stored = store.keys()
    _require(len(stored) == 2, "steps finished before the interruption must be kept")
    resumed = sweep(study, scratch / "part", workers=0)
    _require(resumed.rows == whole.rows, "a resumed sweep must give the same figures")
    _require(
        not any("not computed" in note for note in whole.notes), "every step must give a result"
    )
    return whole


def _check_table(results: Results, experiment: Experiment) -> None:
    words, rows = experiment.words, results.rows
    utilities = [row for row in rows if is_utility(row)]
    protected = [row for row in utilities if row.mechanism != PLAIN]
    _require(bool(protected), f"each configuration must have a {words.utility.name}")
    _require(len(utilities) > len(protected), "the unprotected data must also have a utility")
    for row in utilities:
        _require(0 <= row.score <= words.utility.top, "a utility must be from 0 to its top")
    risks = [row for row in rows if row.kind == "risk"]
    _require(bool(risks), "an attack must give a risk: see veil.studies.figures.ranked")
    for row in risks:
        _require(0 <= row.score <= words.axis(row.measure).top, "a risk must be from 0 to its top")
        _require(row.n <= experiment.n, "a risk must not have more subjects than the data")
        _require(bool(row.attacker), "a risk must name its attack")
    _require(all(np.isfinite(row.score) for row in rows), "figures must be finite numbers")
    _require(bool(results.scores), "a curve of the plane must have risks and utilities")


def _check_files(results: Results, scratch: Path) -> None:
    export(results, scratch / "files")
    back = read_csv(scratch / "files" / "results.csv")
    _require(back == results.rows, "reading a table back must give the same rows")
    page = render(results)
    _require("<svg" in page and results.name in page, "the report must show a plane")
    measure = next(row.measure for row in results.rows if row.kind == "risk")
    for row in results.rows:
        _require(row.domain == results.domain, "each row must name its domain")
    choice = choose(results.rows, max_risk=1.0, attacker=measure, cautious=False)
    _require(bool(choice.best.spec), "with a bound of 1, a configuration must be chosen")


def _require(holds: bool, sentence: str) -> None:
    if not holds:
        raise AssertionError(sentence)
