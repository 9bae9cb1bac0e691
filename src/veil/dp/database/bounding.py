"""What of a unit counts: a uniform sample of its rows in each group, and of its groups.

Which ones is decided by a hash of a secret seed, the unit, the group, and the place of a row among
the unit's own rows of that group in the order of their values. So for every seed a unit's rows
decide alone what of it counts, and one unit more or less changes nothing of another: that is what
the sensitivities are proved by. The order in which rows are stored plays no part; rows that are
equal in all that is used may be exchanged.
"""

from dataclasses import dataclass

from veil.dp.database.bindings import Bindings
from veil.dp.database.pieces import ranked, select, within
from veil.dp.database.writing import Rows


@dataclass(frozen=True, slots=True)
class Bounds:
    """How many rows of a unit count in a group, and in how many groups; None: in all."""

    rows: int
    groups: int | None


def sampled(rows: Rows, bounds: Bounds, bindings: Bindings) -> str:
    """Write the rows that count, as a query with the columns u, g0 ... and v0 ..."""
    seed, digest = bindings.seed(), bindings.speech.digest
    own = ["u", *rows.groups]
    columns = [*own, *rows.numbers]
    extra, kept = [ranked("row_number", own, rows.numbers, "place")], list[str]()
    if bounds.groups is not None:
        order = [digest(seed, own), *rows.groups]
        extra.append(ranked("dense_rank", ["u"], order, "k"))
        kept.append(f"k <= {bounds.groups}")
    inner = select([*columns, *extra], within(rows.sql, "r"))
    by_hash = [digest(seed, [*own, "place"]), "place"]
    drawn = ranked("row_number", own, by_hash, "drawn")
    middle = select([*columns, drawn], within(inner, "a"), kept)
    return select(columns, within(middle, "b"), [f"drawn <= {bounds.rows}"])


def counted(rows: Rows, bounds: Bounds, bindings: Bindings) -> str:
    """Write units with their groups and their number of rows n there, where only that is used."""
    own = ["u", *rows.groups]
    least = bindings.speech.least("COUNT(*)", str(bounds.rows))
    inner = select([*own, f"{least} AS n"], within(rows.sql, "r"), by=own)
    if bounds.groups is None:
        return inner
    order = [bindings.speech.digest(bindings.seed(), own), *rows.groups]
    outer = select([*own, "n", ranked("row_number", ["u"], order, "k")], within(inner, "a"))
    return select([*own, "n"], within(outer, "b"), [f"k <= {bounds.groups}"])
