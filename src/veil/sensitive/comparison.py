"""Strategies compared, also as a page."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from veil.core.errors import InputError
from veil.core.estimate import Estimate
from veil.core.types import Floats
from veil.data.files import require_folder, whole_file
from veil.drawing.markup import Markup, interval, join, number, percent, tag
from veil.drawing.page import head, page, table
from veil.sensitive.collection import SensitiveCollection
from veil.sensitive.cross_validate import CrossValidated
from veil.sensitive.evaluate import Scores, by_topic, evaluate
from veil.sensitive.mechanism import Shown
from veil.sensitive.rank import rank
from veil.studies.results import Section

EMPTY = "empty list"


@dataclass(frozen=True, eq=False)
class Line:
    """What one strategy is worth, and what it shows that it should not.

    Attributes
    ----------
    value, skill, visible
        nCS-DCG, its skill beside the empty list, and nDCG over what may be shown.
    share, any_shown
        Sensitive documents among those shown; queries with at least one.
    shown, judged
        Documents per query; how many of them were judged (others count as not relevant).
    topics
        (t,) nCS-DCG of each topic, for paired comparisons.
    """

    spec: str
    value: Estimate
    skill: Estimate
    visible: Estimate
    share: float
    any_shown: float
    shown: float
    judged: float
    topics: Floats
    notes: tuple[str, ...] = ()
    says: str = ""


def compare(
    collection: SensitiveCollection,
    strategies: Sequence[str],
    p: ArrayLike,
    k: int = 10,
    cost: float = 12.0,
) -> list[Line]:
    """Return a line per strategy, the empty list last."""
    lines = []
    for spec in strategies:
        lists = rank(collection, spec, p, k)
        lines.append(line_of(collection, spec, lists, k, cost))
    nothing = {query: list[str]() for query in collection.queries}
    return [*lines, _line(collection, EMPTY, nothing, k, cost, ())]


def line_of(collection: SensitiveCollection, spec: str, lists: Shown, k: int, cost: float) -> Line:
    """Return the line of lists that a strategy made."""
    run = lists.run(list(collection.queries))
    return _line(collection, spec, run, k, cost, lists.notes)


def _line(
    collection: SensitiveCollection,
    spec: str,
    run: dict[str, list[str]],
    k: int,
    cost: float,
    notes: tuple[str, ...],
) -> Line:
    names = [f"nCS-DCG@{k}", f"nDCG-visible@{k}"]
    scores: Scores = evaluate(run, collection.judgements, collection.labels, names, cost)
    summary = scores.summary(names[0], collection.topics)
    flags = [[collection.labels[name] for name in shown] for shown in run.values()]
    judged = [
        sum(name in collection.judgements.get(query, {}) for name in shown)
        for query, shown in run.items()
    ]
    documents = sum(map(len, flags))
    return Line(
        spec=spec,
        value=summary.value,
        skill=summary.skill,
        visible=scores.summary(names[1], collection.topics).value,
        share=sum(map(sum, flags)) / max(1, documents),
        any_shown=float(np.mean([any(one) for one in flags])),
        shown=documents / max(1, len(flags)),
        judged=sum(judged) / max(1, documents),
        topics=by_topic(scores[names[0]], collection.topics),
        notes=notes,
        says=scores.says,
    )


_HOW = (
    "nCS-DCG places a list between the worst (0) and the best (1) of all lists. At this cost it"
    " says little more than how many sensitive documents are shown: the empty list stands beside,"
    " and the skill says how far a strategy is above it (below 0: better to show nothing)."
    " Visible nDCG is what a searcher gets."
)
_LIMITS = (
    "Nothing is proved of these strategies: a document that the classifier missed is shown."
    " Documents that nobody judged count as not relevant. No text of the collection is on this"
    " page."
)


def check_page(path: Path) -> None:
    """Raise unless a page can be written there."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError("The report is a page; name a file that ends in .html.")
    require_folder(path)


def write_report(
    path: Path, name: str, lines: Sequence[Line], validated: CrossValidated, k: int, cost: float
) -> None:
    """Write the page, whole or not at all."""
    check_page(path)
    title = f"{name}: search among sensitive documents, {k} shown, cost {cost:g}"
    top = max(lines[:-1], key=lambda line: float(line.value), default=lines[-1])
    summary = [
        join(
            f"Of the strategies {top.spec} has the highest nCS-DCG ({top.value:.3f}); the empty"
            f" list has {lines[-1].value:.3f}."
        )
    ]
    notes = list(dict.fromkeys(note for line in lines for note in line.notes))
    sections = [
        Section("figures", "Strategies", (tag("p", _HOW, class_="hint"), strategies(lines, k))),
        Section("classifier", "The classifier", (classifier(validated),)),
        Section(
            "limits",
            "How to read it",
            tuple(tag("p", text) for text in (f"Here: {lines[0].says}.", *notes, _LIMITS)),
        ),
    ]
    with whole_file(path, private=True) as part:
        part.write_text(page(title, summary, sections), encoding="utf-8")


def strategies(lines: Sequence[Line], k: int) -> Markup:
    """Return a table with a line of each strategy."""
    body = [
        tag(
            "tr",
            tag("th", line.spec, scope="row"),
            tag(
                "td",
                number(line.value),
                " ",
                tag("small", interval(line.value.low, line.value.high)),
            ),
            tag("td", f"{line.skill:+.2f}"),
            tag("td", number(line.visible)),
            tag("td", percent(line.share)),
            tag("td", percent(line.any_shown)),
            tag("td", f"{line.shown:.1f}"),
            tag("td", percent(line.judged)),
        )
        for line in lines
    ]
    heads = head(
        "strategy", f"nCS-DCG@{k}", "skill", "visible nDCG", "sensitive shown",
        "queries with any", "shown", "judged",
    )  # fmt: skip
    return table("Means over topics, with 95 % intervals", [heads], body)


def classifier(validated: CrossValidated) -> Markup:
    """Return a table of how good the probabilities are."""
    figures = {
        "AUC": validated.auc,
        "AUC among the best 100 of each query": validated.candidate_auc,
        "average precision": validated.average_precision,
        "Brier score": validated.brier,
        "expected calibration error": validated.ece,
    }
    body = [
        tag("tr", tag("th", name, scope="row"), tag("td", number(value)))
        for name, value in figures.items()
    ]
    return table(f"{validated.spec}, out of fold", [head("measure", "value")], body)
