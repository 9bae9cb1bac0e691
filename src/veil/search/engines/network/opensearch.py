"""OpenSearch and Elasticsearch, through their ``_search`` endpoint."""

import json
import re
import urllib.parse
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from veil.core.types import Released
from veil.search.engines.engine import Hit
from veil.search.engines.network.answer import first, follow, hit, items, parse, read_json
from veil.search.engines.network.exchange import Answer, exchange, most_bytes, require_connection
from veil.search.engines.network.remote import Auth, Megabytes, Remote, Timeout, Url, shaped

_FIELD = r"[\w.@-]{1,200}"
_WEIGHTED = rf"{_FIELD}(\^\d+(\.\d+)?)?"
Name = Annotated[str, shaped(rf"({_FIELD})?", "the name of a field, or ''")]


class OpenSearch(Remote):
    """Full-text search of one index, one request for each query.

    Queries never share a request (``_msearch``), and requests differ only in the query. `title`
    and `text` are the fields returned with each document; `fields` are the fields to search, with
    weights such as ``title^2,text``.
    """

    name: ClassVar[str] = "opensearch"

    url: Url = Field(examples=["http://localhost:9200"])
    index: Annotated[
        str, shaped(r"[a-z0-9][a-z0-9_.-]{0,254}", "the name of one index: a-z, 0-9, _ . and -")
    ] = Field(description="name of the index", examples=["documents"])
    fields: Annotated[
        str, shaped(rf"{_WEIGHTED}(,{_WEIGHTED}){{0,20}}", "fields such as title^2,text")
    ] = Field(
        default="title,text",
        description="fields to search, with weights",
        examples=["title^2,text"],
    )
    title: Name = Field(default="title", description="field with the title; '' for none")
    text: Name = Field(default="text", description="field with the text; '' for none")
    match: Literal["any", "all"] = Field(
        default="any", description="whether a document must contain any or all words of the query"
    )
    auth: Auth = ""
    timeout: Timeout = 15.0
    megabytes: Megabytes = 0

    def require_reachable(self) -> None:
        """Connect without sending a query."""
        require_connection(self.url, self.timeout)

    def ask(self, query: Released, k: int) -> list[Hit]:
        """Send one query and return the hits."""
        answer = exchange(
            "POST",
            f"{self.url.rstrip('/')}/{urllib.parse.quote(self.index, safe='')}/_search",
            timeout=self.timeout,
            most=most_bytes(k, self.megabytes),
            auth=self.auth,
            body=json.dumps(self._body(query, k), separators=(",", ":")).encode(),
            kind="application/json",
        )
        hits = items(read_json(answer, k, code=_fault(answer)), "hits.hits", answer.where)
        return first(hits, k, "_id", self._hit, answer)

    def _body(self, query: str, k: int) -> dict[str, object]:
        matching = {
            "query": query,
            "fields": self.fields.split(","),
            "operator": "or" if self.match == "any" else "and",
        }
        return {
            "size": k,
            "query": {"multi_match": matching},
            "_source": [field for field in (self.title, self.text) if field],
            "track_total_hits": False,
        }

    def _hit(self, item: object, name: str) -> Hit:
        source = follow(item, "_source")
        title = follow(source, self.title) if self.title else None
        text = follow(source, self.text) if self.text else None
        return hit(name, follow(item, "_score"), title, text)


def _fault(answer: Answer) -> str:
    """Return the type of the server's error, never its reason, which quotes the query."""
    kind = follow(parse(answer.body), "error.type") if answer.status >= 400 else None
    quotable = isinstance(kind, str) and re.fullmatch(r"[a-z_]{1,60}_exception", kind)
    return str(kind) if quotable else ""
