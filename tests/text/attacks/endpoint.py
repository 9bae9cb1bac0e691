"""A language model's endpoint that replays answers, and a cross-encoder that counts letters."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

import numpy as np

Answer = Callable[[dict[str, Any]], "str | bytes | int"]


def shared(one: str, other: str) -> int:
    """Count the words that two texts share."""
    return len(set(one.split()) & set(other.split()))


def likeliest(question: dict[str, Any]) -> str:
    """Answer as a model that reads: the candidate that shares most words with the versions."""
    told = json.loads(question["messages"][-1]["content"])
    scores: dict[str, int] = {
        number: sum(shared(text, version) for version in told["versions"])
        for number, text in told["candidates"].items()
    }
    return max(scores, key=lambda number: (scores[number], -int(number)))


class Endpoint(ThreadingHTTPServer):
    """Answers by a function: a text as the model's, bytes as they are, a number as a status."""

    daemon_threads = True

    def __init__(self, answer: Answer) -> None:
        self.answer, self.asked = answer, list[dict[str, Any]]()
        self.paths: list[str] = []
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        question = json.loads(body)
        self.server.asked.append(question)
        self.server.paths.append(self.path)
        said = self.server.answer(question)
        if isinstance(said, str):
            said = json.dumps({"choices": [{"message": {"content": said}}]}).encode()
        status, sent = (said, b"") if isinstance(said, int) else (200, said)
        self.send_response(status)
        self.send_header("Location", f"{self.server.url}/elsewhere")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        with suppress(OSError):  # nobody waits any more
            self.wfile.write(sent)

    def log_message(self, *arguments: object) -> None:
        del arguments


@contextmanager
def serving(answer: Answer) -> Iterator[Endpoint]:
    """Run an endpoint."""
    with Endpoint(answer) as endpoint:
        thread = threading.Thread(target=endpoint.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield endpoint
        finally:
            endpoint.shutdown()
            thread.join()


def late(question: dict[str, Any]) -> str:
    """Answer when nobody waits any more."""
    time.sleep(1.5)
    return likeliest(question)


class CrossEncoder:
    """Stands in for the model of sentence-transformers."""

    def __init__(self, name: str, *, trust_remote_code: bool) -> None:
        if trust_remote_code:
            raise AssertionError
        if name == "nobody/nothing":
            raise OSError

    def predict(self, pairs: Sequence[tuple[str, str]], *, show_progress_bar: bool) -> Any:  # noqa: ANN401
        del show_progress_bar
        return np.array([float(shared(one, other)) for one, other in pairs])


LIBRARY = SimpleNamespace(CrossEncoder=CrossEncoder)
