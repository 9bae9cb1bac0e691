"""The functions of a SELECT, of listed columns, and which noisy quantities each needs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from veil.core.errors import RefusedError
from veil.core.formatting import printable
from veil.dp.database.literals import value_of
from veil.dp.database.names import Place, Sources
from veil.dp.database.quantities import Count, Distinct, Quantity, Rank, Sum, Units
from veil.dp.database.whitelist import bare, kind_of, only, refused

_NAMES = {
    "Avg": "AVG", "Sum": "SUM", "Median": "MEDIAN", "Quantile": "QUANTILE",
    "Variance": "VARIANCE", "VariancePop": "VAR_POP", "Stddev": "STDDEV",
    "StddevSamp": "STDDEV", "StddevPop": "STDDEV_POP",
}  # fmt: skip
_SPELT = {"VAR": "VARIANCE", "STDDEV_SAMP": "STDDEV", "VAR_SAMP": "VARIANCE"}  # not sqlglot's own


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A function of the rows of a group, by its name, and the quantities that it needs."""

    name: str
    label: str
    needs: tuple[Quantity, ...]


def is_aggregate(node: Any) -> bool:  # noqa: ANN401 - sqlglot's
    """Tell whether a node is one of the functions."""
    return kind_of(node) == "Count" or kind_of(node) in _NAMES or _spelt(node) is not None


def aggregate_of(node: Any, sources: Sources, values: Sequence[object]) -> Aggregate:  # noqa: ANN401
    """Return the function that a node is, of listed columns."""
    if kind_of(node) == "Count":
        return _count(node, sources)
    spelt = _spelt(node)
    if spelt is not None:
        only(node, "this", "expressions")
        (inner,) = node.args["expressions"]
        return _moments(spelt, _bounded(inner, sources, spelt))
    name = _NAMES[kind_of(node)]
    if name in ("MEDIAN", "QUANTILE"):
        return _rank(node, name, sources, values)
    only(node, "this")
    return _moments(name, _bounded(node.this, sources, name))


def _spelt(node: Any) -> str | None:  # noqa: ANN401 - sqlglot's
    """Return a function that sqlglot does not know by itself."""
    if kind_of(node) != "Anonymous" or len(node.args.get("expressions") or []) != 1:
        return None
    return _SPELT.get(str(node.this).upper())


def _count(node: Any, sources: Sources) -> Aggregate:  # noqa: ANN401 - sqlglot's
    only(node, "this", "big_int")
    inner = bare(node.this)
    if kind_of(inner) == "Star":
        only(inner)
        return Aggregate("COUNT", "COUNT(*)", (Count(),))
    if kind_of(inner) != "Distinct":
        place = _listed(inner, sources)
        return Aggregate("COUNT", f"COUNT({place.name})", (Count(place),))
    only(inner, "expressions")
    columns = [bare(one) for one in inner.args["expressions"]]
    if len(columns) != 1:
        raise RefusedError("COUNT(DISTINCT ...) takes one column.")
    if sources.is_unit(columns[0]):
        unit = sources.first.unit
        label = f"COUNT(DISTINCT {unit.name if unit else ''})"
        return Aggregate("COUNT", label, (Units(),))
    place = _listed(columns[0], sources)
    return Aggregate("COUNT", f"COUNT(DISTINCT {place.name})", (Distinct(place),))


def _rank(node: Any, name: str, sources: Sources, values: Sequence[object]) -> Aggregate:  # noqa: ANN401
    only(node, "this", "quantile")
    share: object = 0.5
    if name == "QUANTILE":
        share = value_of(bare(node.args["quantile"]), values).value
    if isinstance(share, str) or share is None or not 0 <= share <= 1:  # type: ignore[operator]
        raise RefusedError("QUANTILE takes a column and a share from 0 to 1.")
    place, q = _bounded(node.this, sources, name), float(share)  # type: ignore[arg-type]
    label = f"MEDIAN({place.name})" if name == "MEDIAN" else f"QUANTILE({place.name}, {q:g})"
    return Aggregate("QUANTILE", label, (Rank(place, q),))


def _moments(name: str, place: Place) -> Aggregate:
    label = f"{name}({place.name})"
    if name == "SUM":
        return Aggregate(name, label, (Sum(place),))
    if name == "AVG":
        return Aggregate(name, label, (Count(place), Sum(place, 1)))
    return Aggregate(name, label, (Count(place), Sum(place, 1), Sum(place, 2)))


def _listed(node: Any, sources: Sources) -> Place:  # noqa: ANN401 - sqlglot's
    node = bare(node)
    if kind_of(node) != "Column":
        raise (
            refused(node)
            if kind_of(node) == "Star"
            else RefusedError(
                "Functions of a query take a listed column each, and nothing that is computed."
            )
        )
    return sources.find(node)


def _bounded(node: Any, sources: Sources, name: str) -> Place:  # noqa: ANN401 - sqlglot's
    place = _listed(node, sources)
    if place.listed.bounds is None:
        raise RefusedError(
            f"{name} takes a column with bounds; the policy gives none for"
            f" '{printable(place.name)}'."
        )
    return place
