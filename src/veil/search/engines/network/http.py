"""Any engine that answers an HTTP request with JSON, described by a template."""

import json
import urllib.parse
from typing import Annotated, ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from veil.core.types import Released
from veil.search.engines.engine import Hit
from veil.search.engines.network.answer import first, follow, hit, items, parse, read_json
from veil.search.engines.network.exchange import exchange, most_bytes, require_connection
from veil.search.engines.network.remote import (
    Auth,
    Megabytes,
    NoAnswer,
    Remote,
    Timeout,
    check_url,
)

Path = Annotated[str, Field(max_length=200)]


class Http(Remote):
    """A request template, and the paths of the fields in the answer.

    ``{query}`` occurs once: in `url`, where it is percent-encoded, or in `body`, where it becomes
    a JSON string with quotes. ``{k}`` is the number of items to return. Paths are dotted names
    with numbers for list indices, such as ``hits.0.title``. `items` is a path from the top of the
    answer; the other paths start at each item.
    """

    name: ClassVar[str] = "http"

    url: str = Field(
        max_length=2_000,
        description="address, with the placeholders {query} and {k}",
        examples=["http://localhost:8080/search?q={query}&n={k}"],
    )
    method: Literal["GET", "POST"] = Field(default="GET", description="HTTP method")
    body: str = Field(
        default="",
        max_length=10_000,
        validate_default=True,
        description="JSON to send by POST, with {query} and {k}",
    )
    items: Path = Field(default="", description="path of the list of items; '' for the top")
    id: Path = Field(default="id", description="path of an item's id")
    title: Path = Field(default="", description="path of an item's title; '' for none")
    text: Path = Field(default="", description="path of an item's text; '' for none")
    score: Path = Field(default="", description="path of an item's score; '' for none")
    auth: Auth = ""
    timeout: Timeout = 15.0
    megabytes: Megabytes = 0

    @field_validator("url")
    @classmethod
    def _check_url(cls, url: str) -> str:
        bare = url.replace("{query}", "").replace("{k}", "")
        if "{" in bare or "}" in bare or "{" in "".join(url.split("/", 3)[:3]):
            raise _wrong("must not contain braces except {query} and {k}, after the host")
        check_url(_fill_url(url, "q", 1))
        return url

    @field_validator("body")
    @classmethod
    def _check_body(cls, body: str, info: ValidationInfo) -> str:
        if (info.data.get("url", "{query}") + body).count("{query}") != 1:
            raise _wrong("must contain {query} if 'url' does not: once in total")
        if body and info.data.get("method") != "POST":
            raise _wrong("needs method=POST. Set 'method', or remove 'body'")
        if body and parse(_fill_body(body, "q", 1)) is None:
            raise _wrong("must be JSON, with {query} not in quotes")
        return body

    def require_reachable(self) -> None:
        """Connect without sending a query."""
        require_connection(_fill_url(self.url, "q", 1), self.timeout)

    def ask(self, query: Released, k: int) -> list[Hit]:
        """Send one query and return the hits."""
        answer = exchange(
            self.method,
            _fill_url(self.url, query, k),
            timeout=self.timeout,
            most=most_bytes(k, self.megabytes),
            auth=self.auth,
            body=_fill_body(self.body, query, k),
            kind="application/json" if self.body else "",
        )
        entries = items(read_json(answer, k), self.items, answer.where)
        hits = first(entries, k, self.id, self._hit, answer)
        if entries and not hits:
            raise NoAnswer(
                f"The engine at {answer.where} answered with items that have no id at"
                f" '{self.id}'. Check the 'id' parameter."
            )
        return hits

    def _hit(self, item: object, name: str) -> Hit:
        title, text, score = (
            follow(item, path) if path else None for path in (self.title, self.text, self.score)
        )
        return hit(name, score, title, text)


def _fill_url(url: str, query: str, k: int) -> str:
    # {k} first: braces in a query must not be read as a template
    return url.replace("{k}", str(k)).replace("{query}", urllib.parse.quote(query, safe=""))


def _fill_body(body: str, query: str, k: int) -> bytes:
    return body.replace("{k}", str(k)).replace("{query}", json.dumps(query)).encode()


def _wrong(rule: str) -> PydanticCustomError:
    return PydanticCustomError("template", "{wanted}", {"wanted": rule})
