"""The verbs of places from file to file, as the command line has them."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np

from veil.core.errors import InputError, ParameterError
from veil.core.estimate import Estimate
from veil.core.types import Floats
from veil.places.attack import Attack, risk
from veil.places.attack import attack as attacked
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
from veil.places.mechanism import Mechanism
from veil.places.mechanisms import mechanism as method_of
from veil.places.plot import Kind
from veil.places.plot import plot as plotted
from veil.places.protect import protect as protected
from veil.places.release import Release, Steps

_UNKNOWN = (
    "Which rows of {} belong to which of {} is not known here, since a release is in a random"
    " order; release it on this machine, keep ids with --keep, or say --same-order if it has one."
)


def protect(
    source: Path,
    *,
    mechanism: Mechanism,
    out: Path,
    crs: str | None = None,
    within: Path | None = None,
    population: Path | None = None,
    snap: Path | None = None,
    prior: Path | None = None,
    users: str | None = None,
    times: str | None = None,
    keep: tuple[str, ...] = (),
    seed: int | None = None,
) -> Release:
    """Mask the points of SOURCE (CSV, GeoJSON, GeoParquet), and write them to OUT.

    OUT holds coordinates in a random order, and columns that are named by --keep. In which order
    the rows were is kept for this user alone, so that 'attack' and 'measure' can compare OUT with
    SOURCE; it is not in OUT.

    --crs tells the coordinates of tables, as EPSG:4326, or 'metres' of a plane; --within is
    GeoJSON of a region to stay in; --population, --snap and --prior are files of points; --users
    and --times name columns of a trace; --seed repeats the draws, for experiments.
    """
    points = load(source, crs=crs, users=users, times=times)
    release = protected(
        points,
        mechanism,
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
    masked: Path,
    *,
    original: Path,
    register: Path | None = None,
    attacker: str | Attack = "bayes",
    method: str | None = None,
    guesses: str = "1,5,10",
    crs: str | None = None,
    weights: str | None = None,
    users: str | None = None,
    times: str | None = None,
    population: Path | None = None,
    same_order: bool = False,
) -> str:
    """Guess which address of REGISTER is behind each point of MASKED, and say how often it is.

    The attacker bayes needs --method, the spec of what made MASKED. --weights, --users and --times
    name columns: people of REGISTER, and whose and when the points of ORIGINAL are. --population
    is what the method was handed, if not REGISTER. --same-order says that the rows of MASKED are
    in the order of ORIGINAL, where that is not known here.
    """
    points = load(original, crs=crs, users=users, times=times)
    seen = link_points(masked, points, crs, same_order=same_order)
    if seen is None:
        raise InputError(_UNKNOWN.format(masked.name, original.name))
    listed = None if register is None else open_like(register, points, crs, weights=weights)
    people = None if population is None else open_like(population, points, crs)
    digits = rounding(points)
    found = attacked(
        seen, points, listed, attacker, method, population=people, rounding=digits, same=digits
    )
    absent = found.details["absent"]
    lines = [f"{len(found):,} points, {found.candidates[0]:,} addresses."]
    if absent and listed is not None:
        lines.append(f"{absent:,} of the points are not in the register: they count as not found.")
    elif absent:
        lines.append(f"{absent:,} users have too few fixes, and are left out.")
    for count in _counts(guesses):
        share = risk(found, count)
        among = ""
        if absent and listed is not None:
            inside = min(1.0, float(share) / found.details["listed"])
            among = f"; of those in the register {inside:.4f}"
        lines.append(f"identified within {count:>3} guesses: {_said(share)}{among}")
    lines.append(f"motivated (1 / rank): {_said(risk(found, 'motivated'))}")
    if method is not None and listed is not None and method_of(method).lawful:
        law = method_of(method).blurred(digits)
        there = compare_positions(seen, points, listed, law, population=people)
        lines.append(
            f"posterior mean: {float(there.error):,.1f} m from the truth, without the release"
            f" {float(there.without):,.1f} m; risk by distance {there.risk:.4f}"
        )
    if assumes_metres(original.name, points, crs):
        lines.append(f"{ASSUMED} (--crs).")
    return "\n".join(lines)


def measure(
    original: Path,
    masked: Path,
    *,
    facilities: Path | None = None,
    crs: str | None = None,
    weights: str | None = None,
    values: str | None = None,
    times: str | None = None,
    same_order: bool = False,
) -> str:
    """Compare the map of MASKED with that of ORIGINAL: utility, its parts, and figures beside.

    --facilities is a file of places; --weights, --values and --times name columns of ORIGINAL:
    people, what Moran's I is of, and what Knox is of.
    """
    points = load(original, crs=crs, weights=weights, times=times)
    seen = link_points(masked, points, crs, same_order=same_order)
    whole = open_like(masked, points, crs) if seen is None else seen
    found = utility(
        points,
        whole,
        None if facilities is None else open_like(facilities, points, crs),
        values=_values(points.columns.get(values), values) if values else None,
        ordered=seen is not None,
    )
    lines = [f"{'utility':<24} {float(found.score):.4f}"]
    lines += [f"  {name:<22} {float(part):.4f}" for name, part in found.parts.items()]
    lines += _beside(found.beside)
    if assumes_metres(original.name, points, crs):
        lines.append(f"{ASSUMED} (--crs).")
    if seen is None:
        lines.append("Which rows belong together is not known here: displacements are left out.")
    return "\n".join(lines)


def plot(
    masked: Path,
    *,
    out: Path,
    original: Path | None = None,
    kind: str = "map",
    crs: str | None = None,
    same_order: bool = False,
) -> None:
    """Draw MASKED as a map (SVG); with --original the true points too: not for release.

    With --original there are also the kinds 'density', before and after, and 'rose', where points
    went.
    """
    seen = load(masked, crs=declared_crs(masked, crs))
    if original is None:
        plotted(seen, out, kind=cast(Kind, kind))
        return
    points = load(original, crs=crs)
    link = link_points(masked, points, crs, same_order=same_order)
    if link is None:
        raise InputError(_UNKNOWN.format(masked.name, original.name))
    plotted(link, out, points, kind=cast(Kind, kind))


def _steps(taken: Steps) -> str:
    """Say how a trace was released; what it came to bounds nothing that was promised before."""
    return (
        f"Of {taken.total:,} fixes in total {taken.hard:,} were hard steps, which cost all, and"
        f" {taken.easy:,} easy ones, which repeat the last release."
    )


def _beside(figures: Mapping[str, Estimate]) -> list[str]:
    """Return lines of figures; those before and after stand in one."""
    lines = []
    for name, figure in figures.items():
        after = figures.get(name.removesuffix("before") + "after")
        if name.endswith(" before") and after is not None:
            told = f"{float(figure):,.4g} before, {float(after):,.4g} after"
            lines.append(f"{name.removesuffix(' before'):<24} {told}")
        elif not name.endswith(" after"):
            lines.append(f"{name:<24} {float(figure):,.4g}")
    return lines


def _counts(guesses: str) -> list[int]:
    try:
        found = [int(count) for count in guesses.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < 1:
        raise ParameterError("The guesses must be whole numbers >= 1, as in 1,5,10.")
    return found


def _said(share: Estimate) -> str:
    return f"{float(share):.4f} [{share.low:.4f}, {share.high:.4f}]"


def _values(given: object, name: str) -> Floats:
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"The column '{name}' must hold numbers.") from None
