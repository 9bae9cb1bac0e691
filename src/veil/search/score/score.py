"""Score files: the plane, the QuIPU scores and all that a report shows."""

from collections.abc import Sequence
from pathlib import Path

from veil.core.errors import InputError
from veil.corpus.trec import read_judgements
from veil.data.fetch import Report, silent
from veil.data.lines import require_file
from veil.search.score.experiment import FileExperiment
from veil.search.score.knowledge import knowledge
from veil.search.score.material import material
from veil.search.score.points import Point
from veil.studies.experiment import Step
from veil.studies.figures import gather
from veil.studies.store import Result
from veil.studies.table import Results


def score(
    points: Sequence[Point],
    qrels: Path,
    *,
    log: Path | None = None,
    attackers: Sequence[str] = ("inference",),
    plain: Path | None = None,
    vectors: str = "glove-100d",
    as_is: bool = False,
    name: str = "",
    report: Report = silent,
) -> Results:
    """Measure the risk of variants by attackers, and the utility of runs by judgements.

    Parameters
    ----------
    points
        Variants with their runs: see `veil.search.score.pairing`.
    qrels
        Judgements as TREC writes them.
    log, attackers
        Queries that attackers have; who attacks.
    plain
        Run of the same pipeline without protection, to compare with.
    as_is
        Whether originals that the log lacks stay out of it: the risk is then a lower bound.
    name
        What the queries are called in the report; the name of the judgements by default.
    """
    require_file(qrels, "judgements")
    judgements = read_judgements(qrels)
    if not judgements:
        raise InputError(
            f"{qrels.name} is empty; it must hold judgements: query 0 document grade."
        )
    found = material(points, judgements, qrels.name, plain)
    knows = knowledge(attackers, log, found.texts, vectors=vectors, as_is=as_is, report=report)
    experiment = FileExperiment(name or qrels.name.partition(".")[0], found, knows)
    cells, plain_steps = experiment.cells(), experiment.plain()
    steps: list[Step] = [*plain_steps]
    for cell in cells:
        steps += [cell.release, *cell.steps]
    made: dict[str, Result] = {}
    for number, step in enumerate(steps):
        report(f"{step.kind} {step.spec}".strip(), number, len(steps))
        made[step.key] = experiment.compute(step)
    return gather(experiment, cells, plain_steps, made)
