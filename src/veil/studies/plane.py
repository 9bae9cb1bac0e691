"""Measure mechanisms on the risk-utility plane, in this process and without a store."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from veil.core.component import Component
from veil.core.errors import InputError, ParameterError
from veil.core.estimate import Estimate
from veil.measures.plane import NOTHING, UNATTACKED, Plane, PlanePoint
from veil.studies.domains import compute_step
from veil.studies.experiment import Cell, Experiment, Step
from veil.studies.figures import ATTACK, Sheet
from veil.studies.panels import is_utility
from veil.studies.results import Row
from veil.studies.store import Result


def plane(
    experiment: Experiment,
    mechanisms: Sequence[str | Component],
    attackers: Sequence[str | Component] = (),
    *,
    measure: str = "",
    parameter: str = "",
    spec: Callable[[Component], str] = str,
    utility: str = "",
    recommender: str = "",
) -> Plane:
    """Protect the data of an experiment by each mechanism, attack the releases, and measure them.

    The cells, steps and figures are those of a sweep. With the same material and the same seed a
    study gives the same figures.

    Parameters
    ----------
    experiment
        The data and the domain; its own mechanisms and attacks are ignored.
    mechanisms
        Specs, or objects, which need not be registered.
    attackers
        Specs or objects; by default the usual attacks of the domain on each mechanism. The risk of
        a point is the highest among them.
    measure
        Measure of success; by default the first of the domain's measures that each attack has.
    parameter
        The parameter in which the mechanisms differ, which is the `value` of a point.
    spec
        Formats a mechanism for its point.
    utility, recommender
        Labels of the plane: the measure of utility, and the model that is fitted to a release.
    """
    if isinstance(mechanisms, str) or not len(mechanisms):
        raise ParameterError("A plane needs a list of mechanisms, with at least one spec.")
    experiment = experiment.trying(mechanisms, attackers)
    cells = experiment.cells()
    measures = (
        measure or experiment.plane_measure or experiment.words.risks[0].name,
        experiment.words.utility.name,
    )
    experiment.prepare([step for cell in cells for step in (cell.release, *cell.steps)])
    shared: dict[str, Result] = {}
    points = {
        str(cell.mechanism): _cell_point(experiment, cell, measures, shared) for cell in cells
    }
    components = [
        experiment.mechanisms.parse(item) if isinstance(item, str) else item for item in mechanisms
    ]
    rows = [
        points[str(item)]._replace(
            spec=spec(item), value=float(getattr(item, parameter)) if parameter else 0.0
        )
        for item in components
    ]
    by = (step.by for cell in cells for step in cell.steps if step.kind == ATTACK)
    return Plane.of(
        rows,
        components,
        parameter,
        plain=_plain_point(experiment, measures),
        attacker=", ".join(dict.fromkeys(by)),
        measure=utility or measures[1],
        recommender=recommender,
        name=experiment.data,
        subjects=experiment.words.subjects,
    )


def _cell_point(
    experiment: Experiment, cell: Cell, measures: tuple[str, str], shared: dict[str, Result]
) -> PlanePoint:
    """Return the point of a configuration; raise an error if it cannot be measured.

    `shared` caches results that several releases use, such as the probabilities of a classifier.
    """
    for step in experiment.plain() if cell.release.of else ():
        if step.key == cell.release.of and step.key not in shared:
            _compute(experiment, step, shared)
    results = dict(shared)
    for step in (cell.release, *cell.steps):
        _compute(experiment, step, results)
    for result in results.values():
        if reason := result.data.get("refused") or result.data.get("gap"):
            raise InputError(str(reason))
    sheet = Sheet(experiment, results, measures)
    for step in (cell.release, *cell.steps):
        if step.key in results:
            sheet.add(cell, step)
    risk, utility = _strongest(sheet.rows), _utility(sheet.rows)
    if risk is None or utility is None:
        raise InputError(
            f"No attack on {cell.mechanism.name} measures '{measures[0]}'. Choose another attack"
            " or measure."
        )
    attack = next(s for s in cell.steps if s.kind == ATTACK and s.by == risk.attacker)
    release, attacked = results[cell.release.key], results[attack.key]
    details: dict[str, Any] = {
        "worst": float(attacked.data.get("worst", math.nan)),
        "guarantee": str(experiment.claim(cell, release)),
        "cost": experiment.cost(cell, release),
    }
    details |= experiment.details(cell, release, attacked)
    return PlanePoint(str(cell.mechanism), _estimate(risk), _estimate(utility), **details)


def _plain_point(experiment: Experiment, measures: tuple[str, str]) -> PlanePoint:
    """Return the point of the unprotected data, or `UNATTACKED` if no attack applies to it."""
    if not experiment.attacks_plain:
        return UNATTACKED
    results: dict[str, Result] = {}
    sheet = Sheet(experiment, results, measures)
    for step in experiment.plain():
        _compute(experiment, step, results)
        if step.key in results:
            sheet.add(None, step)
    risk, utility = _strongest(sheet.rows), _utility(sheet.rows)
    if risk is None or utility is None:
        return UNATTACKED
    attack = next(s for s in experiment.plain() if s.kind == ATTACK and s.by == risk.attacker)
    worst = float(results[attack.key].data.get("worst", math.nan))
    return PlanePoint(NOTHING, _estimate(risk), _estimate(utility), worst=worst)


def _compute(experiment: Experiment, step: Step, results: dict[str, Result]) -> None:
    if step.kind not in experiment.report_only:
        results[step.key] = compute_step(experiment, step, results.get(step.of))


def _strongest(rows: Sequence[Row]) -> Row | None:
    """Return the row of the most successful attacker."""
    risks = [row for row in rows if row.kind == "risk"]
    return max(risks, key=lambda row: row.score, default=None)


def _utility(rows: Sequence[Row]) -> Row | None:
    return next(filter(is_utility, rows), None)


def _estimate(row: Row) -> Estimate:
    return Estimate(row.score, row.low, row.high, row.n)
