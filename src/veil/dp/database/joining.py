"""The same sample as `veil.dp.database.bounding`, for sums, where joins are faster than windows.

Most units have no more rows than count, and are added up as they are; windows see the others
alone. A group is chosen by the least hash; where two groups of a unit have the same one, which
happens once in 2^64, the least key decides, so that even then the unit alone does.
"""

from veil.dp.database.bindings import Bindings
from veil.dp.database.bounding import Bounds
from veil.dp.database.pieces import of, part, ranked, same, select, within
from veil.dp.database.writing import Rows


def summed(rows: Rows, bounds: Bounds, bindings: Bindings) -> str:
    """Write sums per group: g0 ..., units, n, and two of each value: how many, and their sum."""
    own = ["u", *rows.groups]
    parts = _chosen(rows, bounds, bindings)
    single = bounds.groups == 1
    ends = [f"{word}({g}) AS {name}{g}" for g in rows.groups for word, name in _ENDS]
    sums = [f"{word}({v}) AS {name}{v}" for v in rows.numbers for word, name in _SUMS]
    columns = ["u", *ends] if single else own
    by = ["u"] if single else own
    parts.append(part("e", select([*columns, "COUNT(*) AS n", *sums], "j", by=by), kept=True))
    easy = [f"e.n <= {bounds.rows}"]
    easy += [f"e.{g} IS NOT DISTINCT FROM e.m{g}" for g in rows.groups] if single else []
    if not rows.numbers:  # which of its rows count makes no difference
        totals = ["COUNT(*)", f"SUM(least(n, {bounds.rows}))"]
        return _joined(parts, select([*rows.groups, *totals], "e", by=rows.groups))
    parts += _hard(rows, bounds, bindings, easy)
    simple = ["1 AS units", "n", *(f"{name}{v}" for v in rows.numbers for _, name in _SUMS)]
    drawn = ["CASE WHEN drawn = 1 THEN 1 ELSE 0 END", "1"]
    for v in rows.numbers:
        drawn += [f"CASE WHEN {v} IS NULL THEN 0 ELSE 1 END", v]
    both = " UNION ALL ".join(
        [select([*rows.groups, *simple], "e", easy), select([*rows.groups, *drawn], "picked")]
    )
    totals = ["SUM(units)", "SUM(n)"]
    totals += [f"SUM({name}{v})" for v in rows.numbers for _, name in _SUMS]
    return _joined(parts, select([*rows.groups, *totals], within(both, "q"), by=rows.groups))


def _joined(parts: list[str], final: str) -> str:
    return f"WITH {', '.join(parts)} {final}"


_ENDS = (("MIN", ""), ("MAX", "m"))
_SUMS = (("COUNT", "c"), ("SUM", "s"))


def _hard(rows: Rows, bounds: Bounds, bindings: Bindings, easy: list[str]) -> list[str]:
    """Draw rows of units that have more than count."""
    own, numbers, seed = ["u", *rows.groups], rows.numbers, bindings.seed()
    place = ranked("row_number", of("j", own), of("j", numbers), "place")
    many = within(select([*own, "n"], "e", [f"NOT ({' AND '.join(easy)})"]), "d")
    joined = f"j JOIN {many} ON j.u = d.u"
    columns = [*of("j", [*own, *numbers]), "d.n", place]
    hard = part("hard", select(columns, joined, same("j", "d", rows.groups)))
    if bounds.rows == 1:  # any place is as likely, and no second window is needed
        chance = f"{bindings.speech.digest(seed, [*own, 'n'])} % CAST(n AS UBIGINT)"
        test = f"CAST(place AS UBIGINT) = 1 + {chance}"
        return [
            hard,
            part("picked", select([*rows.groups, *numbers, "1 AS drawn"], "hard", [test])),
        ]
    order = [bindings.speech.digest(seed, [*own, "place"]), "place"]
    drawn = select([*own, *numbers, ranked("row_number", own, order, "drawn")], "hard")
    picked = select(
        [*rows.groups, *numbers, "drawn"], within(drawn, "d"), [f"drawn <= {bounds.rows}"]
    )
    return [hard, part("picked", picked)]


def _chosen(rows: Rows, bounds: Bounds, bindings: Bindings) -> list[str]:
    """Write j, the rows of the groups that are chosen."""
    if bounds.groups is None:
        return [part("j", rows.sql)]
    own, columns = ["u", *rows.groups], ["u", *rows.groups, *rows.numbers]
    digest = bindings.speech.digest(bindings.seed(), own)
    if bounds.groups == 1:
        return [
            part("r", select([*columns, f"{digest} AS h"], within(rows.sql, "a"))),
            part("m", select(["u", "MIN(h) AS h"], "r", by=["u"])),
            part("j", select(of("r", columns), "r JOIN m ON r.u = m.u AND r.h = m.h"), kept=True),
        ]
    pairs = within(select([f"DISTINCT {', '.join(own)}"], "r"), "p")
    ordered = ranked("row_number", ["u"], [digest, *rows.groups], "k")
    chosen = select(own, within(select([*own, ordered], pairs), "o"), [f"k <= {bounds.groups}"])
    on = " AND ".join(["r.u = m.u", *same("r", "m", rows.groups)])
    return [
        part("r", rows.sql, kept=True),
        part("m", chosen),
        part("j", select(of("r", columns), f"r JOIN m ON {on}"), kept=True),
    ]
