"""Mask, attack, measure and plot files; commands and HTTP routes derive from these functions."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from veil import places
from veil.core.errors import InputError, ParameterError
from veil.core.estimate import Estimate
from veil.core.types import Floats
from veil.core.verb import Columns, File, NewPath, Reply
from veil.places.attack import risk
from veil.places.attacks.addresses import compare_positions
from veil.places.formats.files import load, save
from veil.places.links import (
    ASSUMED,
    assumes_metres,
    declared_crs,
    link_points,
    open_like,
    remember,
    rounding,
)
from veil.places.measures import utility
from veil.places.mechanisms import mechanism as mechanism_of
from veil.places.pictures import Kind
from veil.places.release import Release, Steps

_UNKNOWN = (
    "Rows of {} cannot be matched with rows of {}: a release is in random order. Protect on this"
    " machine, keep ids with --keep, or use --same-order if the order is the same."
)


def protect(
    source: File,
    *,
    mechanism: str,
    out: NewPath,
    crs: str | None = None,
    within: File | None = None,
    population: File | None = None,
    snap: File | None = None,
    prior: File | None = None,
    users: str | None = None,
    times: str | None = None,
    keep: Columns = (),
    seed: int | None = None,
) -> Release:
    """Mask the points of SOURCE (CSV, GeoJSON, GeoParquet) and write them to OUT.

    OUT holds coordinates in random order and the columns named by --keep. The order of the rows is
    kept for this user only, so that 'attack' and 'measure' can compare OUT with SOURCE.

    Parameters
    ----------
    source
        Points: CSV, GeoJSON or GeoParquet.
    mechanism
        Spec of the mechanism, for example donut(low=50, high=500).
    out
        File to write, in the format of its name.
    crs
        Coordinates of tables: EPSG:4326, another code, or 'metres' for a plane.
    within
        GeoJSON of the region to stay in.
    population
        File of points of people, for mechanisms that count them.
    snap
        File of points; each released point moves to the nearest of them.
    prior
        File of public points for the prior of the mechanism.
    users
        Column with the user of each point, for traces.
    times
        Column with the time of each point, for traces.
    keep
        Columns to keep, separated by commas.
    seed
        Makes the release reproducible, for experiments: NOT PRIVATE.
    """
    points = load(source, crs=crs, users=users, times=times)
    release = places.protect(
        points,
        mechanism_of(mechanism),
        within=within,
        population=None if population is None else open_like(population, points, crs),
        snap=None if snap is None else open_like(snap, points, crs),
        prior=None if prior is None else open_like(prior, points, crs),
        rng=seed,
    )
    save(release, out, keep=keep)
    remember(out, release)
    if assumes_metres(source.name, points, crs):
        release = replace(release, cost=release.cost.with_caveat(f"{ASSUMED} (--crs)."))
    if release.steps is None:
        return release
    return replace(release, cost=release.cost.with_caveat(_steps(release.steps)))


def attack(
    masked: File,
    *,
    of: File,
    register: File | None = None,
    attack: str = "bayes",
    mechanism: str | None = None,
    guesses: str = "1,5,10",
    crs: str | None = None,
    weights: str | None = None,
    users: str | None = None,
    times: str | None = None,
    population: File | None = None,
    same_order: bool = False,
) -> Reply:
    """Guess the address behind each point of MASKED, and report how often the guess is right.

    The attack 'bayes' needs -m, the spec of the mechanism that made MASKED.

    Parameters
    ----------
    masked
        Released points.
    of
        The original points, which score the guesses.
    register
        File of addresses to guess from.
    attack
        Spec of the attack; see 'veil places attacks'.
    mechanism
        Spec of the mechanism that made MASKED, if the attacker knows it.
    guesses
        Numbers of guesses to report, separated by commas.
    crs
        Coordinates of tables: EPSG:4326, another code, or 'metres' for a plane.
    weights
        Column of REGISTER with the number of people at each address.
    users, times
        Columns of the original with the user and the time of each point.
    population
        Population that the mechanism used, if it was not the register.
    same_order
        The rows of MASKED are in the order of the original.
    """
    points = load(of, crs=crs, users=users, times=times)
    release = link_points(masked, points, crs, same_order=same_order)
    if release is None:
        raise InputError(_UNKNOWN.format(masked.name, of.name))
    addresses = None if register is None else open_like(register, points, crs, weights=weights)
    people = None if population is None else open_like(population, points, crs)
    digits = rounding(points)
    outcome = places.attack(
        release, points, addresses, attack, mechanism,
        population=people, rounding=digits, same=digits,
    )  # fmt: skip
    absent, entries = int(outcome.details["absent"]), int(outcome.candidates[0])
    lines = [f"{len(outcome):,} points, {entries:,} addresses."]
    if absent and addresses is not None:
        lines.append(f"{absent:,} points are not in the register and count as not found.")
    elif absent:
        lines.append(f"{absent:,} users have too few fixes and are left out.")
    data: dict[str, object] = {"points": len(outcome), "addresses": entries,
                               "absent": absent}  # fmt: skip
    for count in _counts(guesses):
        share = risk(outcome, count)
        listed = ""
        if absent and addresses is not None:
            inside = min(1.0, float(share) / outcome.details["listed"])
            listed = f"; of those in the register {inside:.4f}"
        lines.append(f"identified within {count:>3} guesses: {_with_interval(share)}{listed}")
        data[f"within_{count}"] = [float(share), share.low, share.high]
    motivated = risk(outcome, "motivated")
    lines.append(f"motivated (1 / rank): {_with_interval(motivated)}")
    data["motivated"] = [float(motivated), motivated.low, motivated.high]
    if mechanism is not None and addresses is not None and mechanism_of(mechanism).lawful:
        law = mechanism_of(mechanism).blurred(digits)
        position = compare_positions(release, points, addresses, law, population=people)
        lines.append(
            f"posterior mean: {float(position.error):,.1f} m from the truth, without the release"
            f" {float(position.without):,.1f} m; risk by distance {position.risk:.4f}"
        )
        data["position"] = {"error": float(position.error), "without": float(position.without),
                            "risk": float(position.risk)}  # fmt: skip
    notes = [f"{ASSUMED} (--crs)."] if assumes_metres(of.name, points, crs) else []
    return Reply(lines, notes, data=data)


def measure(
    masked: File,
    *,
    of: File,
    facilities: File | None = None,
    crs: str | None = None,
    weights: str | None = None,
    values: str | None = None,
    times: str | None = None,
    same_order: bool = False,
) -> Reply:
    """Compare the map of MASKED with the original one: utility, its parts, and other figures.

    Parameters
    ----------
    masked
        Released points.
    of
        The original points.
    facilities
        File of places, for distances to the nearest one.
    crs
        Coordinates of tables: EPSG:4326, another code, or 'metres' for a plane.
    weights
        Column of the original: people.
    values
        Column of the original: the values of Moran's I.
    times
        Column of the original: the times of the Knox test.
    same_order
        The rows of MASKED are in the order of the original.
    """
    points = load(of, crs=crs, weights=weights, times=times)
    release = link_points(masked, points, crs, same_order=same_order)
    whole = open_like(masked, points, crs) if release is None else release
    result = utility(
        points,
        whole,
        None if facilities is None else open_like(facilities, points, crs),
        values=_values(points.columns.get(values), values) if values else None,
        ordered=release is not None,
    )
    lines = [f"{'utility':<24} {float(result.score):.4f}"]
    lines += [f"  {name:<22} {float(part):.4f}" for name, part in result.parts.items()]
    lines += _other_figures(result.beside)
    notes = [f"{ASSUMED} (--crs)."] if assumes_metres(of.name, points, crs) else []
    if release is None:
        notes.append("Rows cannot be matched, so displacements are left out.")
    parts = {name: float(part) for name, part in result.parts.items()}
    others = {name: float(figure) for name, figure in result.beside.items()}
    data = {"utility": float(result.score), "parts": parts, "figures": others}
    return Reply(lines, notes, data=data)


def plot(
    masked: File,
    *,
    out: NewPath,
    of: File | None = None,
    kind: Kind = "map",
    crs: str | None = None,
    same_order: bool = False,
) -> None:
    """Draw MASKED as a map (SVG); with --of the true points too, which is not for release.

    Parameters
    ----------
    masked
        Released points.
    out
        SVG file to write.
    of
        The original points, drawn too.
    kind
        'map'; with --of also 'density' (before and after) and 'rose' (displacements).
    crs
        Coordinates of tables: EPSG:4326, another code, or 'metres' for a plane.
    same_order
        The rows of MASKED are in the order of the original.
    """
    released = load(masked, crs=declared_crs(masked, crs))
    if of is None:
        places.plot(released, out, kind=kind)
        return
    points = load(of, crs=crs)
    release = link_points(masked, points, crs, same_order=same_order)
    if release is None:
        raise InputError(_UNKNOWN.format(masked.name, of.name))
    places.plot(release, out, points, kind=kind)


def _steps(steps: Steps) -> str:
    return (
        f"Of {steps.total:,} fixes, {steps.hard:,} were hard steps, which cost at most epsilon"
        f" each, and {steps.easy:,} easy steps, which repeat the last release."
    )


def _other_figures(figures: Mapping[str, Estimate]) -> Iterator[str]:
    """Yield a line for each figure; before and after share one."""
    for name, figure in figures.items():
        after = figures.get(name.removesuffix("before") + "after")
        if name.endswith(" before") and after is not None:
            values = f"{float(figure):,.4g} before, {float(after):,.4g} after"
            yield f"{name.removesuffix(' before'):<24} {values}"
        elif not name.endswith(" after"):
            yield f"{name:<24} {float(figure):,.4g}"


def _counts(guesses: str) -> list[int]:
    try:
        counts = [int(count) for count in guesses.split(",")]
    except ValueError:
        counts = []
    if not counts or min(counts) < 1:
        raise ParameterError("The guesses must be integers >= 1, for example 1,5,10.")
    return counts


def _with_interval(share: Estimate) -> str:
    return f"{float(share):.4f} [{share.low:.4f}, {share.high:.4f}]"


def _values(column: object, name: str) -> Floats:
    try:
        return np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"The column '{name}' must contain numbers.") from None
