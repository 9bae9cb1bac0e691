"""The material of a study of a task: the texts that are asked are its queries."""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from veil.core.types import Ids
from veil.corpus.collection import Collection, Document, Documents
from veil.corpus.logs import read_log
from veil.data.fetch import Report, silent
from veil.search.study.bench import Bench
from veil.search.study.study import SearchStudy
from veil.task.classifier import Classifier, Model
from veil.task.classifiers import CLASSIFIERS
from veil.task.keys import TaskStudy
from veil.task.labelled import Labelled, load

OWN = "texts"  # the log of a study that names none: all texts of its file


class TaskBench(Bench):
    """Texts with labels, and what mechanisms and attackers of texts work with."""

    def __init__(self, study: TaskStudy, report: Report = silent) -> None:
        super().__init__(
            SearchStudy(
                name=study.name,
                seed=study.seed,
                sizes=study.sizes,
                vectors=study.vectors,
                log="collection",
                log_size=study.log_size,
                encoder="none",
                attackers=study.attackers,
                mechanism=study.mechanism,
            ),
            report,
        )
        self.task = study
        self.labelled = load(study.texts, study.text, study.label)
        self.asked, self.taught = self.labelled.split(study.test, study.seed)
        self._models: dict[str, Model] = {}
        self._plain: dict[str, Ids] = {}
        self._told = report

    @cached_property
    def collection(self) -> Collection:
        """The texts that teach, as documents; the attacker's log."""
        documents = (Document(f"{i}", "", text) for i, text in enumerate(self.taught.texts))
        log = self.labelled.texts if self.task.log == OWN else tuple(read_log(Path(self.task.log)))
        return Collection(self.labelled.name, Documents.of(documents), log=log)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the texts that are asked: their numbers."""
        return tuple(str(number) for number in range(len(self.asked)))

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The texts that are asked."""
        return self.asked.texts

    def teaching(self, classifier: Classifier) -> Labelled:
        """Return the texts that teach a classifier."""
        return self.taught.some(range(min(classifier.taught, len(self.taught))))

    @cached_property
    def protected(self) -> int:
        """How many of the texts that teach are protected, too."""
        chosen = map(CLASSIFIERS.parse, self.task.classifier)
        wanted = (one.taught for one in chosen if one.protected)
        return min(max(wanted, default=0), len(self.taught))

    def plain_model(self, classifier: Classifier) -> Model:
        """Return a classifier that plain texts have taught, once per process."""
        spec = str(classifier)
        if spec not in self._models:
            self._models[spec] = self.learn(classifier, self.teaching(classifier))
        return self._models[spec]

    def remembered(self, spec: str, read: Callable[[], Ids]) -> Ids:
        """Return what a classifier reads in the plain texts, once per process."""
        if spec not in self._plain:
            self._plain[spec] = read()
        return self._plain[spec]

    def learn(self, classifier: Classifier, taught: Labelled) -> Model:
        """Teach a classifier."""
        return classifier.learn(taught, self.labelled.classes, self._told)
