"""The verb of tasks: classify protected texts, and print accuracy and risk as a table."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from veil.core.verb import NewPath, SpecOf, local
from veil.data.files import scratch_folder
from veil.studies.domains import make_study
from veil.studies.export import export
from veil.studies.results import PLAIN, Results, Row
from veil.studies.sweep import sweep
from veil.task.study import ABOVE, ACCURACY

_DEFAULT_SPECS = (
    *(f"{name}(epsilon={e})" for name in ("cmp", "mahalanobis", "vickrey") for e in (5, 10, 20)),
    *(f"{name}(epsilon={e})" for name in ("santext", "tem", "custext") for e in (1, 5, 10)),
)
_MEASURE = "active"
_MIN_WIDTH = 40  # of the column of mechanisms


@local
def sentiment(
    texts: Path,
    *,
    mechanism: tuple[str, ...] = (),
    attack: tuple[str, ...] = ("inference",),
    classifier: Annotated[tuple[str, ...], SpecOf("veil.task.study:CLASSIFIERS")] = (),
    text: str = "text",
    label: str = "label",
    test: int = 200,
    size: int = 1,
    vectors: str = "glove-100d",
    seed: int = 1,
    out: NewPath | None = None,
) -> str:
    """Classify TEXTS, a table with columns text and label, plain and protected by each mechanism.

    Prints the accuracy, the share of the plain texts' gain over the most common label, and how
    often an attack finds the text within ten guesses, each with its 95 % interval. The releases
    are seeded and not private.

    Parameters
    ----------
    texts
        Table of labelled texts.
    mechanism
        Spec of a mechanism; repeatable.  [default: six that replace words, at three epsilons each]
    attack
        Spec of an attack; repeatable.
    classifier
        Spec of a classifier; repeatable.  [default: logistic, on plain and on protected texts]
    text, label
        Column of that name in TEXTS.
    test
        Number of texts to protect and classify; the others train the classifier.
    size
        Number of variants of each text.
    vectors
        Word vectors of the mechanisms.
    seed
        Seed of the draws.
    out
        Folder for the releases and results.csv; results already in it are not computed again.
    """
    keys: dict[str, object] = {
        "domain": "task",
        "name": "sentiment",
        "texts": str(texts),
        "text": text,
        "label": label,
        "test": test,
        "sizes": [size],
        "vectors": vectors,
        "seed": seed,
        "attackers": list(attack),
        "mechanism": [{"spec": spec} for spec in mechanism or _DEFAULT_SPECS],
    }
    keys |= {"classifier": list(classifier)} if classifier else {}
    study = make_study(keys, "the command", Path.cwd())
    if out is not None:
        results = sweep(study, out, workers=0)
        export(results, out)
        return table(results)
    with scratch_folder() as folder:
        return table(sweep(study, folder, workers=0))


def table(results: Results) -> str:
    """Return accuracy, utility and risk of each configuration, one line each."""
    lines: list[str] = []
    width = max(_MIN_WIDTH, *(len(row.spec) for row in results.rows))
    for task in dict.fromkeys(row.task for row in results.rows if row.measure == ABOVE):
        lines += [
            *([""] if lines else []),
            task,
            _line(" " * width, [ACCURACY, ABOVE, "risk (active)"]),
        ]
        for spec in dict.fromkeys(row.spec for row in results.rows):
            cells = [_cell(results.rows, spec, task, measure) for measure in (ACCURACY, ABOVE)]
            risks = [row for row in results.rows if (row.spec, row.measure) == (spec, _MEASURE)]
            worst = max(
                (r for r in risks if r.kind == "risk"), key=lambda r: r.score, default=None
            )
            label = "plain texts" if spec == PLAIN else spec
            risk = "" if worst is None else _format(worst)
            lines.append(_line(label.ljust(width), [*cells, risk]))
    return "\n".join([*lines, "", *results.notes])


def _cell(rows: Sequence[Row], spec: str, task: str, measure: str) -> str:
    key = (spec, task, measure)
    return next((_format(r) for r in rows if (r.spec, r.task, r.measure) == key), "")


def _format(row: Row) -> str:
    return f"{row.score:.3f} [{row.low:.3f}, {row.high:.3f}]"


def _line(first: str, cells: Sequence[str]) -> str:
    return "  ".join([first, *(f"{cell:<23}" for cell in cells)]).rstrip()
