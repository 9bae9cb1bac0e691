"""SearXNG, a metasearch engine, through its JSON interface."""

import urllib.parse
from typing import Annotated, ClassVar

from pydantic import Field

from veil.core.types import Released
from veil.search.engines.engine import Hit
from veil.search.engines.network.answer import first, follow, hit, items, read_json
from veil.search.engines.network.exchange import exchange, most_bytes, require_connection
from veil.search.engines.network.remote import (
    Auth,
    Megabytes,
    NoAnswer,
    Remote,
    Timeout,
    Url,
    shaped,
)

_HINTS = {
    403: "does not return JSON. Add json to search.formats in the settings.yml of the instance",
    429: "asks for fewer requests. Lower 'concurrency', or set server.limiter in its settings.yml",
}


class SearXNG(Remote):
    """Web search through an instance of SearXNG. A result's id is its URL.

    A query takes one request per page of results, and requests another page only while there are
    fewer than `k` results.
    """

    name: ClassVar[str] = "searxng"

    url: Url = Field(examples=["http://localhost:8888"])
    categories: Annotated[
        str, shaped(r"[\w &-]{1,40}(,[\w &-]{1,40}){0,20}", "categories such as general,science")
    ] = Field(default="general", description="categories to search")
    language: Annotated[
        str, shaped(r"all|auto|[a-z]{2,3}(-[A-Za-z]{2,4})?", "all, auto, or a code such as en")
    ] = Field(default="en", description="language of the results: all, auto, or a code")
    pages: int = Field(default=1, ge=1, le=10, description="maximum number of result pages")
    auth: Auth = ""
    timeout: Timeout = 15.0
    megabytes: Megabytes = 0

    def require_reachable(self) -> None:
        """Connect without sending a query."""
        require_connection(self.url, self.timeout)

    def ask(self, query: Released, k: int) -> list[Hit]:
        """Send one query and return the hits."""
        results: dict[str, Hit] = {}
        for page in range(1, self.pages + 1):
            try:
                hits = self._page(query, page, k)
            except NoAnswer:
                if results:
                    break  # the earlier pages are an answer
                raise
            before = len(results)
            for item in hits:
                results.setdefault(item.id, item)
            if len(results) >= k or len(results) == before:
                break
        return list(results.values())

    def _page(self, query: str, page: int, k: int) -> list[Hit]:
        form = {
            "q": query,
            "categories": self.categories,
            "language": self.language,
            "pageno": str(page),
            "format": "json",
        }
        answer = exchange(
            "POST",
            f"{self.url.rstrip('/')}/search",
            timeout=self.timeout,
            most=most_bytes(k, self.megabytes),
            auth=self.auth,
            body=urllib.parse.urlencode(form).encode(),
            kind="application/x-www-form-urlencoded",
        )
        value = read_json(answer, k, hints=_HINTS)
        hits = first(items(value, "results", answer.where), k, "url", _hit, answer)
        silent = follow(value, "unresponsive_engines")
        if not hits and page == 1 and isinstance(silent, list) and silent:
            raise NoAnswer(
                f"The engine at {answer.where} found nothing, and {len(silent)} of its sources"
                " did not respond."
            )
        return hits


def _hit(result: object, name: str) -> Hit:
    return hit(name, *(follow(result, path) for path in ("score", "title", "content")))
