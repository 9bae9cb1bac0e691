"""The keys of a study of ratings, and what changes its results."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from veil.core.errors import InputError
from veil.data.files import digest as file_digest
from veil.ratings.aligned import aligned
from veil.ratings.load import load
from veil.ratings.ratings import Ratings
from veil.ratings.split import split
from veil.studies.study import Specs, Study

PATHS = ("train", "test", "items", "people")


class RatingsStudy(Study):
    """The keys of a study of ratings."""

    train: Annotated[str, Field(description="file of the ratings to protect")]
    test: Annotated[str, Field(description="file of held-out ratings; else a fifth of train")] = ""
    scale: Annotated[
        tuple[float, ...], Field(strict=False, description="lowest and highest rating")
    ] = ()
    columns: Annotated[
        Specs, Field(strict=False, description="columns: user, item, rating and perhaps time")
    ] = ()
    positive: Annotated[
        float | None, Field(description="from which rating on an item is liked; else 3/4 up")
    ] = None
    recommender: Annotated[str, Field(description="what is learnt of a release")] = "itemknn(k=20)"
    utility: Annotated[Literal["ndcg", "rmse"], Field(description="of lists, or of values")] = (
        "ndcg"
    )
    depth: Annotated[int, Field(ge=1, le=1000, description="length of a list")] = 10
    items: Annotated[str, Field(description="table of items, with titles for the report")] = ""
    title: Annotated[str, Field(description="its column of titles")] = "title"
    people: Annotated[str, Field(description="table of users, for attackers of attributes")] = ""


def parts_of(study: RatingsStudy) -> tuple[Ratings, Ratings]:
    """Read train and test, on the same users and items."""
    if len(study.scale) not in (0, 2):
        raise InputError("The 'scale' of a study has a lowest and a highest rating.")
    scale = (study.scale[0], study.scale[1]) if study.scale else None
    columns = study.columns or None
    whole = load(study.train, scale, columns)
    if not study.test:
        return split(whole)
    return aligned(whole, load(study.test, whole.scale if scale is None else scale, columns))


def made_from(study: RatingsStudy) -> dict[str, object]:
    """Return all of a study that changes results: the contents of files, and not their names."""
    own = {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in study
        if key not in Study.model_fields and key not in (*PATHS, "title")
    }
    files = {}
    for key in ("train", "test", "people"):
        if given := getattr(study, key):
            if not Path(given).is_file():
                raise InputError(f"There is no file {given}.")
            files[key] = file_digest(Path(given), "sha256")
    return {**own, **files, "seed": str(study.seed)}
