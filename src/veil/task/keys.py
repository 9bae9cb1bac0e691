"""The keys of a study of a task."""

from typing import Annotated

from pydantic import Field

from veil.studies.study import Specs, Study
from veil.task.labelled import LEAST


class TaskStudy(Study):
    """What is measured of labelled texts."""

    texts: Annotated[str, Field(description="table of texts with labels")]
    text: Annotated[str, Field(description="column of the texts")] = "text"
    label: Annotated[str, Field(description="column of the labels")] = "label"
    test: Annotated[
        int, Field(ge=LEAST, le=1_000_000, description="texts that are asked, at most")
    ] = 400
    classifier: Annotated[Specs, Field(min_length=1, strict=False)] = (
        "logistic",
        "logistic(train=protected, texts=400)",
    )
    vectors: Annotated[str, Field(description="word vectors")] = "glove-100d"
    log: Annotated[
        str, Field(description="what attackers guess from: texts, all of the table, or a file")
    ] = "texts"
    log_size: Annotated[int, Field(ge=0, description="texts of the log, at most; 0: all")] = 0
    attackers: Annotated[Specs, Field(strict=False)] = ("inference",)
