"""Tell words that were asked for from others by the time of one call each, and print how well.

One session asks for words, half of them by ``/api/protect`` and half by a search. Then another
one times a single call of ``/api/protect`` for each of these words and as many others, in random
order, in the same process as the server, which hides nothing behind a network. The figure is the
area under the ROC curve: 0.5 is chance, 1 is certainty.
"""

import argparse
import asyncio
import json
import random
import secrets
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from benchmarks.report import Report
from scipy import stats

from veil.corpus.wordnet import wordnet_at_hand
from veil.proxy.opening import open_desk
from veil.proxy.slider import SHIPPED, load_plane
from veil.text.vectors.catalogue import load_embeddings, vectors_folder
from veil.web.app import make_app
from veil.web.messages import ASGIApp, Message

HOST = "127.0.0.1:8765"
MECHANISMS = ("santext", "tem", "wbb", "custext", "cmp", "aea")
QUERIES = ("aea", "fea")  # rewrite whole queries with WordNet
WARM_UP = 5  # calls that are not counted
RARE = range(2_000, 40_000)  # places of words that people ask for


class CallError(Exception):
    """A call was not answered as it should be."""


class Session:
    """Calls the interface of an application, one call after the other."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._token = app, token

    async def call(self, path: str, body: dict[str, object]) -> float:
        """Make one call, and return how many seconds it took."""
        headers = {
            "host": HOST,
            "content-type": "application/json",
            "authorization": f"Bearer {self._token}",
        }
        scope = {
            "type": "http",
            "method": "POST",
            "path": path,
            "query_string": b"",
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }
        told = [{"type": "http.request", "body": json.dumps(body).encode(), "more_body": False}]
        status = 0

        async def receive() -> Message:
            if told:
                return told.pop()
            await asyncio.sleep(3_600)  # nobody leaves
            return {}

        async def send(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)

        start = time.perf_counter()
        await self._app(scope, receive, send)
        seconds = time.perf_counter() - start
        if status != 200 and path != "/api/search":  # which refuses what nothing is drawn for
            raise CallError(f"{path} answered with {status}.")
        return seconds


@contextmanager
def application(folder: Path) -> Iterator[Session]:
    """Make the application of a server with glove-100d and an engine without a log."""
    (folder / "docs.tsv").write_text("1\tknee pain\n2\tskin cancer\n")
    desk = open_desk(
        engine="bm25",
        collection=str(folder / "docs.tsv"),
        encoder="none",
        budget=None,
        folder=folder / "data",
    )
    with closing(desk):
        token = secrets.token_urlsafe(32)
        plane = load_plane(SHIPPED)
        app = make_app(
            desk, plane, token=token, hosts=[HOST], vectors=lambda: desk.space, rate=1_000_000
        )
        yield Session(app, token)


def protecting(word: str, mechanism: str) -> dict[str, object]:
    """Ask for a variant of a word, whatever its part of speech; aea takes whole queries."""
    chosen = {} if mechanism.startswith(QUERIES) else {"select": "all"}
    return {"texts": [word], "mechanism": mechanism, **chosen}


async def measure(session: Session, mechanism: str, words: Sequence[str]) -> float:
    """Return how well one timed call tells the first half of the words from the others."""
    half = len(words) // 2
    asked = words[:half]
    for number, word in enumerate(asked):
        if number % 2:
            await session.call("/api/protect", protecting(word, mechanism))
        else:
            search = {"query": word, "mechanism": mechanism, "size": 1}
            await session.call("/api/search", search)
    seconds = {}
    for word in random.sample(words, len(words)):
        seconds[word] = await session.call("/api/protect", protecting(word, mechanism))
    fast = [seconds[word] for word in asked]
    slow = [seconds[word] for word in words[half:]]
    # how often a word that was asked for is quicker than one that was not
    return float(stats.mannwhitneyu(slow, fast).statistic) / (len(fast) * len(slow))


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--words", type=int, default=150, help="asked, and as many that were not")
    parser.add_argument("names", nargs="*", help="mechanisms; all of them by default")
    arguments = parser.parse_args()
    if not vectors_folder("glove-100d").is_dir():
        raise SystemExit("glove-100d is not in the cache: run 'veil fetch glove-100d' first.")
    report = Report()
    with tempfile.TemporaryDirectory(prefix="veil-timing-") as name:
        folder = Path(name)
        (folder / "data").mkdir(mode=0o700)
        try:
            with application(folder) as session:
                asyncio.run(run(session, arguments.names or MECHANISMS, arguments.words, report))
        except CallError as error:  # here, since the loop does not end well by SystemExit
            raise SystemExit(str(error)) from None
    print(report.table())


async def run(session: Session, names: Sequence[str], count: int, report: Report) -> None:
    """Measure each mechanism with words of its own."""
    vocabulary = [
        word for word in load_embeddings("glove-100d").words[RARE.start : RARE.stop]
        if word.isalpha() and len(word) > 3
    ]  # fmt: skip
    left = random.Random(7).sample(vocabulary, len(vocabulary))  # noqa: S311
    for name in names:
        if name in QUERIES and not wordnet_at_hand():
            continue
        mechanism = name if name in QUERIES else f"{name}(epsilon=10)"
        warm, words = left[:WARM_UP], left[WARM_UP : WARM_UP + 2 * count]
        del left[: WARM_UP + 2 * count]
        for word in warm:
            await session.call("/api/protect", protecting(word, mechanism))
        found = await measure(session, mechanism, words)
        report.add(f"{name}: words asked before, told by time (AUC)", f"{found:.2f}", "0.6")


if __name__ == "__main__":
    main()
