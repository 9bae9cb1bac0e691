"""Print what a sentiment classifier still reads in protected tweets, beside what the paper says.

``python -m benchmarks.tasks [STUDY] [--out FOLDER]`` sweeps ``studies/task/tweets.toml`` (what is
in the folder already is not computed again), prints its figures, and checks the observations of
pyPANTERA, section 4.2, text by text: accuracy of one mechanism minus that of another on the same
texts, as the mean over the epsilons that both have, with its 95 % bootstrap interval. These are
eighteen intervals, each of 95 %: about one would miss 0 if nothing differed. They are over texts,
for one draw of the noise and one set of texts that teach.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import benchmarks.report  # noqa: F401 - says in one sentence what is missing
import numpy as np

from veil.core.estimate import Estimate, bootstrap
from veil.core.types import Floats
from veil.studies.domains import load_study
from veil.studies.experiment import Cell
from veil.studies.store import Store
from veil.studies.sweep import sweep
from veil.task.api import table
from veil.task.study import Tasks

ROOT = Path(__file__).resolve().parents[1]
CLAIMS = (  # better, worse, and what the paper says
    ("tem", "cmp", "TEM surpasses CMP"),
    ("custext", "santext", "CusText performs better than SanText"),
    ("cmp", "vickrey", "Vickrey is lower than CMP"),
    ("mahalanobis", "vickrey", "Vickrey is lower than Mahalanobis"),
    ("custext", "vickrey", "Vickrey is lower than CusText"),
    ("santext", "vickrey", "Vickrey is lower than SanText"),
    ("tem", "vickrey", "Vickrey is lower than TEM"),
    ("cmp", "mahalanobis", "CMP and Mahalanobis are alike"),
)
LOW = 5.0  # where the paper sees sampling ahead of noise on vectors
FAMILIES = (("tem", "custext", "santext"), ("cmp", "mahalanobis", "vickrey"))

Right = dict[tuple[str, float], Floats]  # which texts were read right, by mechanism and value


def right(experiment: Tasks, store: Store, classifier: str) -> Right:
    """Return what was read right of each configuration that is computed."""
    found: Right = {}
    for cell in experiment.cells():
        step = next(s for s in cell.steps if (s.kind, s.by) == ("read", classifier))
        kept = store.get(step.key)
        if kept is not None:
            found[_name(cell), cell.value] = kept.arrays["right"]
    return found


def _name(cell: Cell) -> str:
    return cell.mechanism.name


def gap(found: Right, better: Sequence[str], worse: Sequence[str], most: float) -> Estimate | None:
    """Return the mean difference of two groups of mechanisms at the values that all have."""
    values = [
        {value for mechanism, value in found if mechanism == name and value <= most}
        for name in (*better, *worse)
    ]
    shared = sorted(set.intersection(*values))
    if not shared:
        return None

    def mean(names: Sequence[str]) -> Floats:
        rows: Floats = np.mean([found[name, value] for name in names for value in shared], axis=0)
        return rows

    return bootstrap(mean(better) - mean(worse))


def verdict(difference: Estimate | None, *, alike: bool = False) -> str:
    """Say what an interval says of "better minus worse"."""
    if difference is None:
        return "not measured"
    told = f"{float(difference):+.3f} [{difference.low:+.3f}, {difference.high:+.3f}]"
    if alike:
        held = difference.low <= 0 <= difference.high
        return f"{told}  {'not told apart' if held else 'told apart'}"
    if difference.low > 0:
        return f"{told}  confirmed"
    return f"{told}  {'refuted' if difference.high < 0 else 'neither'}"


def main() -> None:
    """Sweep, and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument(
        "study", nargs="?", type=Path, default=ROOT / "studies" / "task" / "tweets.toml"
    )
    parser.add_argument("--out", type=Path, default=ROOT / ".benchmarks" / "task-tweets")
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    study = load_study(given.study)
    print(table(sweep(study, given.out, workers=given.workers)))
    experiment = Tasks(study)
    with Store(given.out) as store:
        for classifier in experiment.study.classifier:
            found = right(experiment, store, classifier)
            print(f"\n{classifier}: difference of accuracy")
            for better, worse, says in CLAIMS:
                made = gap(found, [better], [worse], np.inf)
                print(f"  {says:<40} {verdict(made, alike='alike' in says)}")
            ahead = gap(found, *FAMILIES, LOW)
            print(f"  {'Sampling is ahead at low epsilons':<40} {verdict(ahead)}")


if __name__ == "__main__":
    main()
