"""Parameters that engines on a network share, declared once."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from veil.search.engines.network._address import check_url


def shaped(pattern: str, wanted: str) -> AfterValidator:
    """Let strings of a pattern pass; of any other say what is wanted, without quoting it."""

    def check(value: str) -> str:
        if not re.fullmatch(pattern, value):
            raise PydanticCustomError("shape", "{wanted}", {"wanted": f"must be {wanted}"})
        return value

    return AfterValidator(check)


def _check_base(url: str) -> str:
    if "?" in url:
        raise PydanticCustomError("url", "must hold no query string (?)")
    return check_url(url)


Url = Annotated[
    str, AfterValidator(_check_base), Field(max_length=2_000, description="address of the engine")
]
Auth = Annotated[
    str,
    shaped(r"([A-Za-z_][A-Za-z0-9_]*)?", "the name of an environment variable"),
    Field(
        description="environment variable with user:password, or a whole Authorization value",
        examples=["ENGINE_AUTH"],
    ),
]
Timeout = Annotated[
    float,
    Field(gt=0, le=600, description="seconds for one request, to its last byte", examples=[15.0]),
]
Megabytes = Annotated[
    int,
    Field(
        ge=0,
        le=256,
        description="size of one answer at most; 0: 1, and 40 kB more for each item asked for",
        examples=[16],
    ),
]
Concurrency = Annotated[
    int, Field(ge=1, le=64, description="requests under way at a time", examples=[4])
]
Attempts = Annotated[
    int, Field(ge=1, le=10, description="times to ask before giving a query up", examples=[3])
]
