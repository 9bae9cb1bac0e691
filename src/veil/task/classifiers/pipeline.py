"""Any text classifier on Hugging Face, without further training."""

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
    """Use a classifier from Hugging Face as it was trained there.

    Its labels must have the names of the labels in the data, except for case. If they differ,
    `labels` translates them: ``LABEL_0=negative, LABEL_1=neutral``. Labels that the data does not
    have are ignored.

    References
    ----------
    Camacho-Collados et al. TweetNLP. EMNLP 2022 demonstrations, section 3: the default model,
    which was used in pyPANTERA's experiment. arXiv:2206.14774

    Notes
    -----
    The model is fetched from Hugging Face the first time, which reveals its name to Hugging Face.
    It runs on this machine, and no text leaves. Code that comes with a model is never run.
    """

    name: ClassVar[str] = "pipeline"

    model: Annotated[
        str, Field(min_length=1, max_length=500, description="name on Hugging Face, or a folder")
    ] = "cardiffnlp/twitter-roberta-base-sentiment-latest"
    revision: Annotated[
        str, Field(max_length=200, description="commit; default: the latest version")
    ] = ""
    labels: Annotated[
        str,
        Field(max_length=2_000, description="model label = data label, separated by commas"),
    ] = ""

    def key(self, report: Report = no_progress) -> str:
        """Return the model's name and revision, which identify its weights."""
        del report
        return f"pipeline {self.model} {self.revision}"

    def learn(
        self, taught: Labelled, classes: Sequence[str], report: Report = no_progress
    ) -> "OpenPipeline":
        """Open the model, which is already trained."""
        del taught
        report(f"opening {self.model}", 0, 0)
        pipe = _open_pipeline(self.model, self.revision)
        return OpenPipeline(pipe, tuple(classes), _parse_labels(self.labels))


@dataclass(frozen=True, eq=False)
class OpenPipeline:
    """An open pipeline, the labels of the data, and a map from model labels to data labels."""

    pipe: Any
    classes: tuple[str, ...]
    renamed: dict[str, str]

    def shares(self, texts: Sequence[str]) -> Floats:
        """Return the share (n, classes) of each label for each text."""
        codes = {label.casefold(): number for number, label in enumerate(self.classes)}
        shares: Floats = np.zeros((len(texts), len(self.classes)))
        matched = False
        for row, answers in zip(shares, self.pipe(list(texts), top_k=None), strict=True):
            for answer in answers:
                label = str(answer["label"]).casefold()
                code = codes.get(self.renamed.get(label, label))
                if code is not None:
                    row[code], matched = float(answer["score"]), True
        if len(texts) and not matched:
            raise InputError(
                "The model has none of the labels of the data. Translate its labels with 'labels',"
                " such as labels='LABEL_0=negative, LABEL_1=neutral'."
            )
        return shares


def _parse_labels(labels: str) -> dict[str, str]:
    pairs = [part.partition("=") for part in labels.split(",") if part.strip()]
    if any(not sign for _, sign, _ in pairs):
        raise InputError("The 'labels' of pipeline must be pairs, such as 'LABEL_0=negative'.")
    return {theirs.strip().casefold(): ours.strip().casefold() for theirs, _, ours in pairs}


def _open_pipeline(name: str, revision: str) -> Any:  # noqa: ANN401 - the library has no types
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
            f"The model {name} could not be opened ({type(error).__name__}). Check its name and"
            " the connection."
        ) from None
