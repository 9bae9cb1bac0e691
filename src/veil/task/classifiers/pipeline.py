"""Any text classifier of Hugging Face, as it is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from veil.core.errors import AssetError, InputError, MissingExtraError
from veil.core.types import Floats
from veil.data.fetch import Report, no_progress
from veil.task.classifiers import Classifier
from veil.task.labelled import Labelled


class Pipeline(Classifier):
    """Ask a classifier of Hugging Face, which was taught elsewhere.

    Its labels must be called as those of the data, but for capitals; `labels` says how, where they
    are not: ``LABEL_0=negative, LABEL_1=neutral``. A label that the data has not is left out.

    References
    ----------
    Camacho-Collados et al. TweetNLP. EMNLP 2022 demonstrations, section 3: the model that is the
    default, which pyPANTERA's experiment used. arXiv:2206.14774

    Notes
    -----
    The model is fetched from Hugging Face the first time, which thereby learns its name; it runs
    on this machine, and no text leaves. Code that comes with a model is never run.
    """

    name: ClassVar[str] = "pipeline"

    model: Annotated[
        str, Field(min_length=1, max_length=500, description="name on Hugging Face, or a folder")
    ] = "cardiffnlp/twitter-roberta-base-sentiment-latest"
    revision: Annotated[
        str, Field(max_length=200, description="commit; default: what its owner shows now")
    ] = ""
    labels: Annotated[
        str, Field(max_length=2_000, description="its labels = those of the data, with commas")
    ] = ""

    def key(self, report: Report = no_progress) -> str:
        """Name the model; its parameters tell all."""
        del report
        return f"pipeline {self.model} {self.revision}"

    def learn(
        self, taught: Labelled, classes: Sequence[str], report: Report = no_progress
    ) -> "OpenPipeline":
        """Open the model: it was taught elsewhere."""
        del taught
        report(f"opening {self.model}", 0, 0)
        return OpenPipeline(
            _opened(self.model, self.revision), tuple(classes), _renamed(self.labels)
        )


@dataclass(frozen=True, eq=False)
class OpenPipeline:
    """An open pipeline, the labels of the data, and how it calls them."""

    pipe: Any
    classes: tuple[str, ...]
    renamed: dict[str, str]

    def shares(self, texts: Sequence[str]) -> Floats:
        """Return the share (n, classes) that each label has, for each text."""
        at = {label.casefold(): number for number, label in enumerate(self.classes)}
        found: Floats = np.zeros((len(texts), len(self.classes)))
        known = False
        for row, answers in zip(found, self.pipe(list(texts), top_k=None), strict=True):
            for answer in answers:
                called = str(answer["label"]).casefold()
                place = at.get(self.renamed.get(called, called))
                if place is not None:
                    row[place], known = float(answer["score"]), True
        if len(texts) and not known:
            raise InputError(
                "The labels of the model are none of the data; say which is which with 'labels',"
                " as in labels='LABEL_0=negative, LABEL_1=neutral'."
            )
        return found


def _renamed(labels: str) -> dict[str, str]:
    pairs = [part.partition("=") for part in labels.split(",") if part.strip()]
    if any(not sign for _, sign, _ in pairs):
        raise InputError("The 'labels' of pipeline must be pairs, as in 'LABEL_0=negative'.")
    return {theirs.strip().casefold(): ours.strip().casefold() for theirs, _, ours in pairs}


def _opened(name: str, revision: str) -> Any:  # noqa: ANN401 - of a library without types
    try:
        import transformers
    except ImportError:
        raise MissingExtraError(
            "The pipeline classifier needs transformers: pip install 'veil[neural]'"
        ) from None
    try:
        return transformers.pipeline(
            "text-classification",
            model=name,
            revision=revision or None,
            truncation=True,
            trust_remote_code=False,
        )
    except (OSError, ValueError, ImportError, LookupError) as error:
        raise AssetError(
            f"The model {name} could not be opened ({type(error).__name__}); check its name and"
            " the connection."
        ) from None
