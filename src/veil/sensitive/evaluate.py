"""Answer the queries of a collection, measure the lists, and compare mechanisms."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from veil.core.errors import InputError, ParameterError
from veil.core.estimate import Estimate, bootstrap, interval, resamples
from veil.core.types import Floats
from veil.corpus.collection import Judgements
from veil.data.files import require_folder, whole_file
from veil.drawing.markup import Markup, join, number, percent, tag
from veil.drawing.markup import interval as between
from veil.drawing.page import head, page, table
from veil.sensitive.collection import SensitiveCollection
from veil.sensitive.cross_validate import CrossValidated
from veil.sensitive.inputs import Run, check_k, prices_of, probabilities_of, read_lists
from veil.sensitive.measures import Judged, Pool, Prices, extremes, measure, unclipped_ncs_dcg
from veil.sensitive.mechanism import Answer, Mechanism, Scene, Shown
from veil.sensitive.mechanisms import mechanism as mechanism_of
from veil.studies.results import Section


def rank(
    collection: SensitiveCollection,
    strategy: str | Mechanism,
    p: ArrayLike | None,
    k: int = 10,
) -> Shown:
    """Return one list of at most `k` documents per query, in the order of the queries.

    Parameters
    ----------
    strategy
        The mechanism, such as ``postfilter(threshold=0.1)``.
    p
        (n,) probability that each document is sensitive, in document order: 1 and 0 are human
        labels, nan is unknown. Every mechanism withholds documents with 1 or nan. None is for
        ``relevance`` only, which then withholds nothing.

    Notes
    -----
    Mechanisms that learn (joint, trained demotion, the optimum's gains) are cross-fitted both
    ways: the model that scores a document for a topic was trained without that topic and without
    that document, its copies, and all others of its fold. `Shown.notes` states this. Ties are
    broken by document order; nothing is random.
    """
    parsed, k = mechanism_of(strategy), check_k(k)
    searcher = parsed.open(scene_of(collection, parsed, p))
    answers = [
        searcher.answer(text, k, collection.topic(name))
        for name, text in collection.queries.items()
    ]
    return _shown(collection, answers, k, parsed, searcher.notes)


def scene_of(collection: SensitiveCollection, mechanism: Mechanism, p: ArrayLike | None) -> Scene:
    """Return the input of a mechanism; only relevance needs no probabilities."""
    n = len(collection.documents)
    if p is not None:
        return Scene(collection, probabilities_of(p, n))
    if mechanism.name != "relevance":
        raise ParameterError(
            f"The mechanism {mechanism.name} needs the probability of each document. Use"
            " sensitive.cross_validate."
        )
    return Scene(collection, np.zeros(n))


def _shown(
    collection: SensitiveCollection,
    answers: list[Answer],
    k: int,
    spec: Mechanism,
    notes: tuple[str, ...],
) -> Shown:
    used = sorted({place for answer in answers for place in answer.positions.tolist()})
    numbers = {place: number for number, place in enumerate(used)}
    index = np.full((len(answers), k), -1, dtype=np.int64)
    scores = np.full((len(answers), k), -np.inf)
    for row, answer in enumerate(answers):
        own = [numbers[place] for place in answer.positions.tolist()]
        index[row, : len(own)] = own
        scores[row, : len(own)] = answer.scores
    return Shown(
        items=tuple(collection.documents.ids[place] for place in used),
        index=index,
        scores=scores,
        mechanism=str(spec),
        cost=spec.guarantee,
        notes=notes,
    )


def bounds(
    grades: Mapping[str, int],
    labels: Mapping[str, int],
    k: int,
    cost: float,
    pool: Pool = "collection",
    decay: float = 1.0,
) -> tuple[float, float]:
    """Return the best and the worst CS-DCG over all lists of 0 to k distinct documents.

    `grades` has the judged documents of one query, `labels` 0 or 1 for the whole collection.

    >>> bounds({"a": 2}, {"a": 0, "b": 1}, k=5, cost=12.0)
    (3.0, -12.0)
    """
    prices = prices_of(cost, 0.0, pool, decay)
    judged = read_lists({}, {"query": grades}, labels, k)
    best, worst = extremes(judged, prices)
    return float(best[0]), float(worst[0])


@dataclass(frozen=True, slots=True)
class Summary:
    """The mean of a measure over topics, the same for the empty list, and the skill.

    skill = (value - empty)/(1 - empty): 0 is as good as showing nothing, below 0 is worse. It is
    nan for CS-DCG, which has no common maximum.
    """

    value: Estimate
    empty: Estimate
    skill: Estimate


class Scores(dict[str, dict[str, float]]):
    """Values as ``{measure: {query: value}}``.

    Attributes
    ----------
    empty
        The values of empty lists: the utility of showing nothing.
    counts
        Numbers of queries that were left out or changed, by reason.
    says
        Cost, gain, base and pool of the values, without which they cannot be compared.
    """

    def __init__(
        self,
        values: Mapping[str, dict[str, float]],
        empty: Mapping[str, dict[str, float]],
        counts: Mapping[str, int],
        says: str,
    ) -> None:
        super().__init__(values)
        self.empty, self.counts, self.says = dict(empty), dict(counts), says

    def summary(self, measure: str, topics: Mapping[str, str] | None = None) -> Summary:
        """Return means over topics, after averaging the queries of each.

        The bootstrap interval is over topics; without `topics` each query is a topic.
        """
        values, empty = (by_topic(scores[measure], topics) for scores in (self, self.empty))
        return Summary(bootstrap(values), bootstrap(empty), _skill(measure, values, empty))


def by_topic(values: Mapping[str, float], topics: Mapping[str, str] | None) -> Floats:
    """Return the mean of each topic, in order, without queries that are nan."""
    means: dict[str, list[float]] = {}
    for query, value in values.items():
        if not np.isnan(value):
            means.setdefault(query if topics is None else topics.get(query, query), []).append(
                value
            )
    return np.array([np.mean(own) for own in means.values()])


def _skill(measure: str, values: Floats, empty: Floats) -> Estimate:
    if measure.upper().startswith("CS") or empty.mean() >= 1:
        return Estimate(np.nan, np.nan, np.nan, len(values))
    draws = np.concatenate(list(resamples(len(values))))
    means, nothing = values[draws].mean(axis=1), empty[draws].mean(axis=1)
    resampled = (means - nothing) / np.maximum(1 - nothing, 1e-12)
    value = float((values.mean() - empty.mean()) / (1 - empty.mean()))
    return interval(value, resampled, len(values))


USUAL = ("nCS-DCG@10", "nDCG-visible@10", "SENS@10", "TERN@10", "CS-DCG@10")


def evaluate(
    run: Run,
    qrels: Judgements,
    labels: Mapping[str, int],
    measures: Sequence[str] | str = USUAL,
    cost: float = 12.0,
    penalty: float = 1.0,
    pool: Pool = "collection",
    decay: float = 1.0,
) -> Scores:
    """Return ``{measure: {query: value}}``, next to those of the empty list (`Scores.empty`).

    >>> scores = evaluate({"q": []}, {"q": {"a": 2}}, {"a": 0, "b": 1}, ["nCS-DCG@5"])
    >>> scores["nCS-DCG@5"], scores.empty["nCS-DCG@5"]
    ({'q': 0.8}, {'q': 0.8})

    Parameters
    ----------
    run
        Ids of the documents shown for each query, best first; a judged query without a list counts
        as an empty list, and a query without judgements is left out and counted.
    qrels, labels
        Grades per query and document; 0 or 1 for every document of the collection.
    measures
        ``CS-DCG``, ``nCS-DCG``, ``TERN``, ``SENS``, ``nDCG-visible``, each with ``@k``.
    cost, decay
        C of the first sensitive document shown; each further one costs `decay` times the previous
        one.
    penalty
        M of TERN and SENS.
    pool
        Documents whose lists define the best and worst nCS-DCG: the "collection", or "judged".
    """
    prices = prices_of(cost, penalty, pool, decay)
    names = [measures] if isinstance(measures, str) else list(measures)
    parsed = {name: measure(name) for name in names}
    judged = {query: grades for query, grades in qrels.items() if grades}
    if not judged:
        raise InputError("The judgements must be of at least one query. Got none instead.")
    depths = {depth for _, _, depth in parsed.values()}
    lists = {depth: read_lists(run, judged, labels, depth) for depth in depths}
    nothing = {depth: empty_lists(own) for depth, own in lists.items()}
    values, empty = (
        {
            name: _by_query(among[depth], function(among[depth], prices))
            for name, (_, function, depth) in parsed.items()
        }
        for among in (lists, nothing)
    )
    counts = {"without judgements": sum(query not in judged for query in run)}
    for name, (kind, _, depth) in parsed.items():
        if kind == "nCS-DCG":
            counts |= _odd(lists[depth], prices)
        if kind == "nDCG-visible":
            undefined = sum(math.isnan(value) for value in values[name].values())
            counts["without a visible relevant document"] = undefined
    says = (
        f"gain 2^grade - 1, discount 1/log2(rank + 1), cost {prices.cost:g}"
        f"{f' decaying by {decay:g}' if decay != 1 else ''}, penalty {prices.penalty:g},"
        f" best and worst over the {'collection' if pool == 'collection' else 'judged documents'}"
    )
    return Scores(values, empty, counts, says)


def empty_lists(judged: Judged) -> Judged:
    """Return the same queries with empty lists."""
    return replace(
        judged,
        lists=((),) * len(judged.queries),
        grades=np.zeros_like(judged.grades),
        sensitive=np.zeros_like(judged.sensitive),
    )


def _by_query(judged: Judged, values: np.ndarray) -> dict[str, float]:
    return dict(zip(judged.queries, values.tolist(), strict=True))


def _odd(judged: Judged, prices: Prices) -> dict[str, int]:
    values = unclipped_ncs_dcg(judged, prices)
    return {
        "with best = worst": int(np.isnan(values).sum()),
        "clipped to [0, 1]": int(((values < 0) | (values > 1)).sum()),
    }


EMPTY = "empty list"


@dataclass(frozen=True, eq=False)
class Line:
    """The utility of one mechanism, and how many sensitive documents it shows.

    Attributes
    ----------
    value, skill, visible
        nCS-DCG, its skill over the empty list, and nDCG over documents that may be shown.
    share, any_shown
        Share of sensitive documents among those shown; share of queries that show any.
    shown, judged
        Documents per query; share of them with judgements (others count as not relevant).
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
    mechanisms: Sequence[str],
    p: ArrayLike,
    k: int = 10,
    cost: float = 12.0,
) -> list[Line]:
    """Return a line for each mechanism, and one for the empty list at the end."""
    lines = []
    for spec in mechanisms:
        lists = rank(collection, spec, p, k)
        lines.append(line_of(collection, spec, lists, k, cost))
    nothing = {query: list[str]() for query in collection.queries}
    return [*lines, _line(collection, EMPTY, nothing, k, cost, ())]


def line_of(collection: SensitiveCollection, spec: str, lists: Shown, k: int, cost: float) -> Line:
    """Return the line of a mechanism's lists."""
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
        any_shown=float(np.mean([any(row) for row in flags])),
        shown=documents / max(1, len(flags)),
        judged=sum(judged) / max(1, documents),
        topics=by_topic(scores[names[0]], collection.topics),
        notes=notes,
        says=scores.says,
    )


_HOW = (
    "nCS-DCG places a list between the worst (0) and the best (1) of all lists. At this cost it"
    " shows little more than the number of sensitive documents. The skill compares a mechanism"
    " with the empty list: below 0, showing nothing is better. Visible nDCG measures what a"
    " searcher gets."
)
_LIMITS = (
    "Nothing is proved about these mechanisms: documents that the classifier missed are shown."
    " Documents without a judgement count as not relevant. This page contains no text of the"
    " collection."
)


def check_page(path: Path) -> None:
    """Raise unless a page can be written to `path`."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"The report must be an .html file. Got {path.name} instead.")
    require_folder(path)


def write_report(
    path: Path, name: str, lines: Sequence[Line], validated: CrossValidated, k: int, cost: float
) -> None:
    """Write the page, atomically."""
    check_page(path)
    title = f"{name}: search among sensitive documents, {k} shown, cost {cost:g}"
    top = max(lines[:-1], key=lambda line: float(line.value), default=lines[-1])
    summary = [
        join(
            f"The mechanism with the highest nCS-DCG is {top.spec} ({top.value:.3f}); the empty"
            f" list has {lines[-1].value:.3f}."
        )
    ]
    notes = list(dict.fromkeys(note for line in lines for note in line.notes))
    sections = [
        Section("figures", "Mechanisms", (tag("p", _HOW, class_="hint"), figures(lines, k))),
        Section("classifier", "The classifier", (classifier(validated),)),
        Section(
            "limits",
            "How to read it",
            tuple(tag("p", text) for text in (f"Here: {lines[0].says}.", *notes, _LIMITS)),
        ),
    ]
    with whole_file(path, private=True) as part:
        part.write_text(page(title, summary, sections), encoding="utf-8")


def figures(lines: Sequence[Line], k: int) -> Markup:
    """Return a table with a row for each mechanism."""
    body = [
        tag(
            "tr",
            tag("th", line.spec, scope="row"),
            tag(
                "td",
                number(line.value),
                " ",
                tag("small", between(line.value.low, line.value.high)),
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
        "mechanism", f"nCS-DCG@{k}", "skill", "visible nDCG", "sensitive shown",
        "queries with any", "shown", "judged",
    )  # fmt: skip
    return table("Means over topics, with 95 % intervals", [heads], body)


def classifier(validated: CrossValidated) -> Markup:
    """Return a table of the quality of the probabilities."""
    quality = {
        "AUC": validated.auc,
        "AUC among the best 100 of each query": validated.candidate_auc,
        "average precision": validated.average_precision,
        "Brier score": validated.brier,
        "expected calibration error": validated.ece,
    }
    body = [
        tag("tr", tag("th", name, scope="row"), tag("td", number(value)))
        for name, value in quality.items()
    ]
    return table(f"{validated.spec}, out of fold", [head("measure", "value")], body)
