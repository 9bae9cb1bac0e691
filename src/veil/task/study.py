"""A task as an experiment: texts are protected, read by a classifier, and attacked."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np

from veil.core.formatting import count_of
from veil.core.guarantee import Guarantee
from veil.core.types import Floats
from veil.data.fetch import Report, silent
from veil.search.study.bench import absolute
from veil.search.study.steps import VERSIONS as SEARCH_VERSIONS
from veil.search.study.steps import compute as attacked
from veil.search.study.steps import inputs
from veil.search.study.study import attacker_specs
from veil.studies.experiment import (
    Axis,
    Cell,
    Experiment,
    Figure,
    Methods,
    Step,
    Vocabulary,
    digest,
    step_key,
)
from veil.studies.figures import ranked
from veil.studies.store import Result
from veil.studies.study import distinct_specs, locate_errors
from veil.studies.table import Example
from veil.task.bench import OWN, TaskBench
from veil.task.classifiers import CLASSIFIERS
from veil.task.keys import TaskStudy
from veil.task.measures.above_majority import above_majority
from veil.task.steps import answered, protected
from veil.text.attacks import ATTACKS
from veil.text.attacks.attack import EncoderAttack
from veil.text.mechanisms.find import TEXT_MECHANISMS
from veil.text.mechanisms.mechanism import QueryMechanism
from veil.text.mechanisms.queries.scramble import whole_cost

ABOVE, ACCURACY = "accuracy above majority", "accuracy"
_VERSION = 1  # of what is computed here
_EXAMPLES = 3
WORDS = Vocabulary(
    title="a task on protected texts",
    subject="text",
    subjects="texts",
    size="variants",
    plain="plain texts",
    utility=Axis(ABOVE, "accuracy above the commonest label's, over that on plain texts"),
    better="the classifier is right more often",
    families=("Cover groups", "Sampling", "Embedding perturbation", "Heuristics"),
    apart=("linkage", "session", "shortlist"),
)


class Tasks(Experiment):
    """Labelled texts: protected, read by a classifier, and attacked."""

    words: ClassVar[Vocabulary] = WORDS
    keys = TaskStudy
    mechanisms: ClassVar[Methods] = TEXT_MECHANISMS
    attackers: ClassVar[Methods | None] = ATTACKS
    verbs: ClassVar[dict[str, str]] = {"sentiment": "veil.task.verbs:sentiment"}
    source = "texts"

    def __init__(self, study: TaskStudy, report: Report = silent) -> None:
        self.study: TaskStudy = study
        self.bench = TaskBench(study, report)
        self.data, self.n = self.bench.labelled.name, len(self.bench.asked)

    @classmethod
    def settle(cls, study: TaskStudy, name: str, folder: Path) -> TaskStudy:
        """Make paths absolute and write specs in one way."""
        settled: dict[str, object] = {
            "texts": str((folder / study.texts).resolve()),
            "vectors": absolute(study.vectors, "vectors", name, folder),
        }
        if study.log != OWN:
            settled["log"] = absolute(study.log, "log", name, folder)
        with locate_errors(f"In {name}, 'classifier'"):
            settled["classifier"] = distinct_specs(map(CLASSIFIERS.parse, study.classifier))
        return study.model_copy(update=settled)

    @classmethod
    def spelt(cls, attackers: Sequence[str]) -> tuple[str, ...]:
        """Write the encoder of an attacker in one way, too."""
        return attacker_specs(attackers)

    @cached_property
    def _of(self) -> dict[str, object]:
        """What all steps depend on: the texts with their labels, and the seed."""
        parts = [
            digest([*one.texts, "", *one.labels]) for one in (self.bench.asked, self.bench.taught)
        ]
        return {"texts": parts, "seed": self.study.seed}

    def _read(self, classifier: str) -> dict[str, object]:
        chosen = CLASSIFIERS.parse(classifier)
        return {"classifier": str(chosen), "weights": chosen.key()}

    def plain(self) -> list[Step]:
        """Return the reading of the plain texts, one per classifier."""
        return [
            Step("plain", step_key("plain", _VERSION, {**self._of, **self._read(each)}), by=each)
            for each in self.study.classifier
        ]

    def cells(self) -> list[Cell]:
        """Return a release for each mechanism, value and size, read and attacked."""
        found = []
        for size in dict.fromkeys(self.study.sizes):
            for grid in self.study.mechanism:
                for mechanism, value in grid.mechanisms(TEXT_MECHANISMS):
                    made = {**self._of, "size": size, "training": self.bench.protected}
                    made |= inputs(mechanism, self.bench, size)
                    key = step_key("protect", _VERSION, made)
                    release = Step("protect", key, str(mechanism), size)
                    steps = tuple(self._steps(release, self.study.against(grid)))
                    found.append(Cell(mechanism, grid.parameter, value, size, release, steps))
        return found

    def _steps(self, release: Step, attackers: Sequence[str]) -> Iterator[Step]:
        spec, size, of = release.spec, release.size, release.key
        for each in self.study.classifier:
            key = step_key("read", _VERSION, {"of": of, **self._read(each)})
            yield Step("read", key, spec, size, of, each, size)
        for each in attackers:
            attacker = ATTACKS.parse(each)
            known = {"of": of, "attacker": str(attacker), "reads": attacker.reads}
            known["version"] = str(SEARCH_VERSIONS["attack"])
            if "log" in attacker.needs:
                known["log"] = self.bench.log_digest
            if isinstance(attacker, EncoderAttack):
                known["encoder"] = self.bench.encoder_key(attacker.encoder)
            key = step_key("attack", _VERSION, known)
            yield Step("attack", key, spec, size, of, each, size)

    def prepare(self, missing: Sequence[Step]) -> None:
        """Have on disk what mechanisms and attackers need."""
        attacks: dict[str, dict[str, None]] = {}
        for step in missing:
            if step.kind == "protect":
                self.bench.mechanism(step.spec, step.size)
            elif step.kind == "attack":
                attacks.setdefault(step.by, {})[step.spec] = None
        for attacker, specs in attacks.items():
            self.bench.prepare(attacker, list(specs))

    def compute(self, step: Step, of: Result | None) -> Result:
        """Protect, read or attack."""
        if step.kind == "protect":
            return protected(self.bench, step)
        if step.kind == "attack":
            return attacked(self.bench, step, of)
        return answered(self.bench, CLASSIFIERS.parse(step.by), of)

    def figures(self, cell: Cell | None, step: Step, found: Result) -> Iterator[Figure]:
        """Yield the utility with the accuracy behind it, and the risks."""
        del cell
        if "gap" in found.data or step.kind == "protect":
            return
        if step.kind == "attack":
            outcome = found.outcome()
            unit = WORDS.subject if outcome.unit == "query" else outcome.unit
            yield from ranked(replace(outcome, unit=unit), step.by, WORDS)
            return
        right, plain, majority = (found.arrays[name] for name in ("right", "plain", "majority"))
        yield Figure("utility", ABOVE, above_majority(right, plain, majority), task=step.by)
        yield Figure("utility", ACCURACY, right, task=step.by, plane=False)

    def cost(self, cell: Cell, made: Result) -> Guarantee:
        """Return what all variants of a text of the usual length cost."""
        mechanism = self.bench.mechanism(str(cell.mechanism), cell.size)
        if isinstance(mechanism, QueryMechanism) and mechanism.whole:
            return whole_cost(mechanism.guarantee, 1)
        usual = int(np.median(made.arrays["protected"]))
        size = f"{count_of(usual, 'word')} x {count_of(cell.size, 'variant')}"
        return cell.mechanism.guarantee.compose(usual * cell.size, f"text ({size})")

    def examples(self, cell: Cell, made: Result) -> Iterator[Example]:
        """Yield the first texts that have variants, and some of those."""
        rows = zip(self.bench.texts, made.data["variants"], strict=True)
        for text, row in [(text, row) for text, row in rows if row][:_EXAMPLES]:
            yield Example(str(cell.mechanism), text, tuple(dict.fromkeys(row[:_EXAMPLES])))

    def facts(self) -> Sequence[tuple[str, str]]:
        """Say how much there is, and what a constant guess reaches."""
        asked, taught = self.bench.asked, self.bench.taught
        guess: Floats = np.array([label == taught.majority for label in asked.labels])
        return [
            ("texts that are asked", f"{len(asked):,}"),
            ("texts that may teach", f"{len(taught):,}"),
            ("labels", f"{len(self.bench.labelled.classes)}"),
            ("commonest label", f"right for {guess.mean():.3f} of the texts"),
            ("log", f"{len(self.bench.log):,} distinct texts"),
            ("vectors", Path(self.study.vectors).name),
        ]

    def notes(self) -> Sequence[str]:
        """Say what the figures are not."""
        found = [
            "The texts that are asked are in the attackers' log, so that the risk is not a lower"
            " bound for want of them."
        ]
        if self.bench.protected:
            found.append(
                "Texts that teach a classifier 'train=protected' have one protected form each;"
                " attackers are not shown those."
            )
        return found
