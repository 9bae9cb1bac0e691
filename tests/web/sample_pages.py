"""One page of each kind, and the same with words of others that must stay words."""

from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import get_args

from veil.core.guarantee import Guarantee
from veil.proxy.results import MARKS, ResultItem, SearchOutcome, SentVariant, VariantPiece
from veil.proxy.settings import (
    Budget,
    Configuration,
    Decision,
    PreflightResult,
    Release,
    TruthRank,
)
from veil.proxy.slider import MeasuredPlane, SliderStop
from veil.studies.results import Row
from veil.web import pages

QUERY = "kidney treatment for anna"


def rows_of(spec: str, risk: float, utility: float, attacker: str = "bayes") -> list[Row]:
    name, _, value = spec.rstrip(")").partition("(epsilon=")
    start = ("icd", "", name, spec, "epsilon", float(value or 0), 20)
    found = [
        Row(*start, "risk", measure, attacker, risk, risk - 0.05, risk + 0.05, 80, 1 / 1000)
        for measure in ("lazy", "active")
    ]
    useful = Row(*start, "utility", "nDCG@10", "", utility, utility - 0.1, utility + 0.1, 80)
    return [*found, replace(useful, task="bm25")]


SPECS = ("cmp(epsilon=5.0)", "cmp(epsilon=10.0)", "tem(epsilon=2.0)")


@cache
def plane() -> MeasuredPlane:
    start = ("icd", "bm25", "plain", "plain", "", 0.0, 1)
    rows = [Row(*start, "utility", "nDCG@10", "", 0.7, 0.6, 0.8, 80)]
    stops = []
    for spec, risk, utility in zip(SPECS, (0.15, 0.5, 0.75), (0.3, 0.5, 0.6), strict=True):
        lazy, active, useful = rows_of(spec, risk, utility)
        rows += [lazy, active, useful]
        stops.append(SliderStop(Configuration(spec, 20), lazy, useful, risk + 0.081, ""))
    return MeasuredPlane("shipped with Veil", True, "icd", "bm25", tuple(stops), tuple(rows), 1)


def common(**changes: object) -> pages.Common:
    made = pages.Common("bm25(index='x')", False, Budget("2026-11-16", 720.0, 10000.0), plane(), 1)
    return replace(made, **changes)  # type: ignore[arg-type]


def seen(*pairs: tuple[str, str], gap: str = "") -> SentVariant:
    marks = tuple(VariantPiece(text, kind) for text, kind in pairs)  # type: ignore[arg-type]
    return SentVariant("".join(text for text, _ in pairs), marks, gap)


def found(**changes: object) -> SearchOutcome:
    variants = (
        seen(("renal", "changed"), (" ", "layout"), ("treatment", "same"), ("?", "layout")),
        seen(("zkv", "unknown"), (" ", "layout"), ("anna", "kept")),
        seen(("renal", "changed"), (" ", "layout"), ("treatment", "same"), ("?", "layout")),
        seen(("lung", "changed"), gap="it took too long"),
    )
    made = SearchOutcome(
        results=(
            ResultItem(1, "https://host.example/a/b?c#d", "Kidneys", "All about them.", 2.0),
            ResultItem(2, "N18.9", "", "Chronic " * 100, 1.0),
        ),
        seen=variants,
        setting=plane().stops[0].setting,
        release=12,
        words=3,
        kept=("anna",),
        cost=Guarantee("metric-dp", 300.0, "euclidean", "text", "What is kept is not covered."),
        spent=300.0,
        earlier=0.0,
        reused=0,
        shared=0,
        sent=3,
        budget=Budget("2026-11-16", 1020.0, 10000.0),
        gate=Decision("obfuscate"),
        preflight=PreflightResult((TruthRank("inference", 3, 1001), TruthRank("bayes", 1, 1001))),
        back=(8, 10),
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def entry(number: int, **changes: object) -> Release:
    when = datetime(2026, 11, 16, 9, 5)
    made = Release(
        number, when, when, 1, SPECS[0], ("renal care", "lung care"), 2, 0, 200.0, False
    )
    return replace(made, **changes)  # type: ignore[arg-type]


PLAIN = entry(3, mechanism="plain", variants=(), words=0, spent=0.0)
IN_CLEAR = found(
    plain=True,
    seen=(),
    kept=(),
    spent=0.0,
    preflight=None,
    back=None,
    setting=Configuration("plain", 20),
    cost=Guarantee("none", unit="query"),
)
OWN = {"standing": "own", "collection": "mine"}
HERE = found(plain=True, here=True, ledger=False, seen=(), kept=(), spent=0.0, release=0, sent=0,
             preflight=None, back=None, setting=Configuration("plain", 0))  # fmt: skip
KINDS: tuple[pages.Kind, ...] = get_args(pages.Kind)
ALL = {
    "home": pages.home(common()),
    "results": pages.results(common(), QUERY, found()),
    "in clear": pages.results(common(), QUERY, IN_CLEAR),
    "passed": pages.results(common(), QUERY, found(gate=Decision("pass", "Why.", ("weather",)))),
    "empty": pages.results(common(), QUERY, found(results=(), preflight=None, back=None)),
    "own": pages.home(common(**OWN)),
    "here": pages.results(common(**OWN), QUERY, HERE),
    "demonstration": pages.results(common(**OWN), QUERY, found()),
    "held": pages.confirm(common(), QUERY, "Another site opened this address."),
    "plane": pages.plane(common()),
    "ledger": pages.ledger(common(), [entry(4, asked=3), PLAIN], 3),
    "new ledger": pages.ledger(common(), [], None),
    "error": pages.error(404, "There is nothing at this address."),
    **{f"refused, {kind}": pages.refused(common(), QUERY, kind, "Why.") for kind in KINDS},
}


def evil(name: str) -> str:
    """Words that would load something if they were not escaped; `name` says from which field."""
    return f'</title><script src=//evil.example/{name}></script><img src=x onerror="x">&\'\0'


FIELDS = frozenset(
    "attacker caveat chosen-by collection engine entry gap gate-reason id kept kept-reason link"
    " message metric note origin query reason scheme snippet spec stop-warning title unable unit"
    " variant waiting where-asked where-found".split()
)


@cache
def hostile_pages() -> dict[str, str]:
    """Every page, with such words in every place that somebody else may fill."""
    spec, asked, where = evil("spec"), evil("where-asked"), evil("where-found")
    rows = tuple(
        replace(row, spec=spec, attacker=evil("attacker"), data=where, task=asked)
        for row in rows_of(SPECS[0], 0.1, 0.2)
    )
    stop = SliderStop(Configuration(spec, 20), rows[0], rows[2], 0.2, evil("stop-warning"))
    measured = MeasuredPlane(evil("origin"), False, where, asked, (stop,), rows, 0, evil("note"))
    bad = common(engine=evil("engine"), plane=measured, stop=0)
    address = "https://h.example/" + evil("link").replace(" ", "/").replace("\0", "")
    names = (address, "javascript:" + evil("scheme"), evil("id"))
    everything = found(
        results=tuple(
            ResultItem(i, name, evil("title") if i else "", evil("snippet"), 1.0)
            for i, name in enumerate(names)
        ),
        seen=tuple(seen((evil("variant"), kind), gap=evil("gap")) for kind in MARKS),
        setting=stop.setting,
        kept=(evil("kept"),),
        cost=Guarantee("metric-dp", 1.0, evil("metric"), evil("unit"), evil("caveat")),
        gate=Decision("pass", evil("gate-reason"), ("x",)),
        preflight=PreflightResult(
            (TruthRank(evil("chosen-by"), 2, 3),), (evil("waiting"),), (evil("unable"),), 2
        ),
    )
    kept = Decision("obfuscate", evil("kept-reason"), ("x",))
    release = entry(1, mechanism=spec, variants=(evil("entry"),))
    own = replace(bad, standing="own", collection=evil("collection"))
    near = replace(bad, standing="stand-in", collection=evil("collection"))
    return {
        "home": pages.home(bad),
        "stand-in": pages.results(near, evil("query"), everything),
        "demonstration": pages.results(own, evil("query"), everything),
        "results": pages.results(bad, evil("query"), everything),
        "obfuscated": pages.results(bad, evil("query"), replace(everything, gate=kept, seen=())),
        "held": pages.confirm(bad, evil("query"), evil("reason")),
        "refused": pages.refused(bad, evil("query"), "gate", evil("message"), everything.gate),
        "kept": pages.refused(bad, evil("query"), "gate", "x", kept),
        "plane": pages.plane(bad),
        "ledger": pages.ledger(bad, [release], None),
        "error": pages.error(422, evil("message")),
    }
