"""Check that a domain keeps its contract: swept, stopped and resumed, drawn, and chosen from."""

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
    """Raise AssertionError where a domain breaks the contract of `Experiment`.

    `keys` are those of a small study of it, with at least two configurations of one mechanism and
    an attacker. The domain must be known: a row of `veil.studies.DOMAINS`, or an entry point.
    """
    study = make_study({"name": "check", **keys, "domain": name}, "the check", Path.cwd())
    _check_cells(domain(name)(study), domain(name)(study))
    with tempfile.TemporaryDirectory(prefix="veil-check-") as scratch:
        found = _check_sweep(study, Path(scratch))
        _check_table(found, domain(name)(study))
        _check_files(found, Path(scratch))


def _check_cells(one: Experiment, again: Experiment) -> None:
    cells = list(one.cells())
    _require(one.n >= 2 and bool(one.data), "data needs a name, and at least two subjects")
    _require(len(cells) >= 2, "the study must have two configurations")
    _require(bool(one.plain()), "the work without protection is what utility is measured by")
    keys = [step.key for cell in cells for step in (cell.release, *cell.steps)]
    keys += [step.key for step in one.plain()]
    _require(len(set(keys)) == len(keys), "each step needs a key of its own")
    others = [step.key for cell in again.cells() for step in (cell.release, *cell.steps)]
    _require(keys[: len(others)] == others, "the same study must give the same keys")
    for cell in cells:
        _require(bool(cell.mechanism.name), "a mechanism needs a name")
        _require(cell.mechanism.guarantee.kind in KINDS, "a guarantee must be of a known kind")
        _require(
            str(one.mechanisms.parse(str(cell.mechanism))) == str(cell.mechanism),
            "a mechanism must be what its spec says",
        )
        _require(
            all(step.of in ("", cell.release.key) for step in cell.steps),
            "a step works on the release of its cell",
        )


def _check_sweep(study: Study, scratch: Path) -> Results:
    """Sweep at once, and with an end in the middle; both must give the same."""
    whole = sweep(study, scratch / "whole", workers=0)

    def stop(message: str, done: int, total: int) -> None:
        del message, total
        if done == 2:
            raise _Stopped

    with suppress(_Stopped):
        sweep(study, scratch / "part", workers=0, report=stop)
    with Store(scratch / "part") as store:
        kept = store.keys()
    _require(len(kept) == 2, "what was done before the end must be kept")
    resumed = sweep(study, scratch / "part", workers=0)
    _require(resumed.rows == whole.rows, "a sweep that is resumed must give the same figures")
    _require(not any("not computed" in note for note in whole.notes), "every step gives a result")
    return whole


def _check_table(found: Results, experiment: Experiment) -> None:
    words, rows = experiment.words, found.rows
    utilities = [row for row in rows if is_utility(row)]
    protected = [row for row in utilities if row.mechanism != PLAIN]
    _require(bool(protected), f"each configuration needs a {words.utility.name}")
    _require(len(utilities) > len(protected), "the work without protection needs a utility, too")
    for row in utilities:
        _require(0 <= row.score <= words.utility.top, "a utility must be from 0 to its top")
    risks = [row for row in rows if row.kind == "risk"]
    _require(bool(risks), "an attacker must give a risk: see veil.studies.figures.ranked")
    for row in risks:
        _require(0 <= row.score <= words.axis(row.measure).top, "a risk must be from 0 to its top")
        _require(row.n <= experiment.n, "no more subjects than there are")
        _require(bool(row.attacker), "a risk must say who attacked")
    _require(all(np.isfinite(row.score) for row in rows), "figures must be numbers")
    _require(bool(found.scores), "a curve of the plane needs risks and utilities of its points")


def _check_files(found: Results, scratch: Path) -> None:
    export(found, scratch / "files")
    back = read_csv(scratch / "files" / "results.csv")
    _require(back == found.rows, "a table must be read back as it was written")
    page = render(found)
    _require("<svg" in page and found.name in page, "the report must show a plane")
    measure = next(row.measure for row in found.rows if row.kind == "risk")
    for row in found.rows:
        _require(row.domain == found.domain, "each row must say its domain")
    choice = choose(found.rows, max_risk=1.0, attacker=measure, cautious=False)
    _require(bool(choice.best.spec), "something must be chosen where everything is allowed")


def _require(holds: bool, sentence: str) -> None:
    if not holds:
        raise AssertionError(sentence)
