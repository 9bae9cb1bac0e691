"""The verbs of tasks from file to table, as the command line has them."""

from collections.abc import Sequence
from pathlib import Path

from veil.data.files import scratch_folder
from veil.studies.domains import make_study
from veil.studies.export import export
from veil.studies.results import PLAIN, Results, Row
from veil.studies.sweep import sweep
from veil.task.study import ABOVE, ACCURACY

_USUAL = (
    *(f"{name}(epsilon={e})" for name in ("cmp", "mahalanobis", "vickrey") for e in (5, 10, 20)),
    *(f"{name}(epsilon={e})" for name in ("santext", "tem", "custext") for e in (1, 5, 10)),
)
_MEASURE = "active"
_WIDE = 40  # of a name of a mechanism, or as wide as the longest is


def sentiment(
    texts: Path,
    *,
    mechanism: tuple[str, ...] = (),
    attacker: tuple[str, ...] = ("inference",),
    classifier: tuple[str, ...] = (),
    text: str = "text",
    label: str = "label",
    test: int = 200,
    size: int = 1,
    vectors: str = "glove-100d",
    seed: int = 1,
    out: Path | None = None,
) -> str:
    """Classify TEXTS, a table with columns text and label, protected by each mechanism, and plain.

    Prints the accuracy, the share of what plain texts give above the commonest label, and how
    often an attacker finds the text within ten guesses, each with its 95 % interval. -m names
    mechanisms, several times; without it six that replace words are tried at three epsilons each.
    --out keeps the releases and results.csv in a folder of your own; what is there already is not
    computed again. The releases are seeded and not private.
    """
    given: dict[str, object] = {
        "domain": "task",
        "name": "sentiment",
        "texts": str(texts),
        "text": text,
        "label": label,
        "test": test,
        "sizes": [size],
        "vectors": vectors,
        "seed": seed,
        "attackers": list(attacker),
        "mechanism": [{"spec": spec} for spec in mechanism or _USUAL],
    }
    given |= {"classifier": list(classifier)} if classifier else {}
    study = make_study(given, "the command", Path.cwd())
    if out is not None:
        found = sweep(study, out, workers=0)
        export(found, out)
        return table(found)
    with scratch_folder() as folder:
        return table(sweep(study, folder, workers=0))


def table(found: Results) -> str:
    """Return accuracy, utility and risk of each configuration, one line each."""
    lines: list[str] = []
    wide = max(_WIDE, *(len(row.spec) for row in found.rows))
    for task in dict.fromkeys(row.task for row in found.rows if row.measure == ABOVE):
        lines += [
            *([""] if lines else []),
            task,
            _line(" " * wide, [ACCURACY, ABOVE, "risk (active)"]),
        ]
        for spec in dict.fromkeys(row.spec for row in found.rows):
            cells = [_cell(found.rows, spec, task, one) for one in (ACCURACY, ABOVE)]
            risks = [row for row in found.rows if (row.spec, row.measure) == (spec, _MEASURE)]
            worst = max(
                (r for r in risks if r.kind == "risk"), key=lambda r: r.score, default=None
            )
            shown = "plain texts" if spec == PLAIN else spec
            lines.append(_line(shown.ljust(wide), [*cells, "" if worst is None else _told(worst)]))
    return "\n".join([*lines, "", *found.notes])


def _cell(rows: Sequence[Row], spec: str, task: str, measure: str) -> str:
    wanted = (spec, task, measure)
    return next((_told(r) for r in rows if (r.spec, r.task, r.measure) == wanted), "")


def _told(row: Row) -> str:
    return f"{row.score:.3f} [{row.low:.3f}, {row.high:.3f}]"


def _line(first: str, cells: Sequence[str]) -> str:
    return "  ".join([first, *(f"{cell:<23}" for cell in cells)]).rstrip()
