"""The judge and the cross-encoder: order, refusals, and an endpoint that answers nonsense."""

import hashlib
import json
import socket
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from tests.search.conftest import BagEncoder
from tests.text.attacks.endpoint import LIBRARY, late, likeliest, serving

from veil.cli import veil
from veil.core.errors import AssetError, EngineError, MissingExtraError, ParameterError
from veil.text.attack import EncoderAttack, Outcome, Scene
from veil.text.attacks import ATTACKS
from veil.text.attacks.candidates import MAX_ANSWER, candidates
from veil.text.attacks.inference import Inference
from veil.text.log import QueryLog

LOG = [f"w{i} w{i + 1} w{i + 2}" for i in range(30)]
TRUTH = LOG[4:10]


def scene(variants: Sequence[tuple[str, ...]] | None = None) -> Scene:
    """Texts whose variants share two words with the truth, and all with another query."""
    rows = variants or [(f"w{i} w{i + 1} w9{i}", f"w{i} w{i + 1}") for i in range(4, 10)]
    return Scene(tuple(rows), tuple(TRUTH), QueryLog.of(LOG))


def judged(answer: Any, **given: object) -> tuple[Outcome, list[dict[str, Any]]]:  # noqa: ANN401
    with serving(answer) as endpoint:
        return attack({"url": endpoint.url, **given}), endpoint.asked


def attack(given: dict[str, object], name: str = "judge", at: Scene | None = None) -> Outcome:
    attacker = ATTACKS.get(name).load(given)
    assert isinstance(attacker, EncoderAttack)
    return attacker.rank(at or scene(), BagEncoder())


def number_of(question: dict[str, Any], text: str) -> str:
    shown = json.loads(question["messages"][-1]["content"])["candidates"]
    return next((number for number, one in shown.items() if one == text), "1")


def test_what_the_model_names_comes_first_and_the_others_stay_in_order() -> None:
    first = Inference().rank(scene(), BagEncoder())
    wrong = LOG[6]  # of the third text it is the truth
    result, asked = judged(lambda question: number_of(question, wrong), n=30)
    assert len(asked) == len(TRUTH)
    assert result.ranks[2] == 1
    for i in (0, 1, 3, 4, 5):  # the named one moved ahead of the truth unless it was ahead before
        assert first.ranks[i] <= result.ranks[i] <= first.ranks[i] + 1
    assert (result.candidates == len(LOG)).all()
    assert result.silences == 0


def test_a_truth_that_is_not_shown_stays_behind_the_candidates() -> None:
    others = [(f"w{i} w{i + 1} w{i + 2}",) for i in range(20, 26)]
    result, asked = judged(likeliest, n=3)
    assert len(json.loads(asked[0]["messages"][1]["content"])["candidates"]) == 3
    with serving(likeliest) as endpoint:
        far = attack({"url": endpoint.url, "n": 3}, at=scene(others))
    first = Inference().rank(scene(others), BagEncoder())
    assert (far.ranks == first.ranks).all()
    assert far.ranks.min() > 3
    assert result.ranks.min() >= 1


def test_questions_are_bounded_say_no_order_and_draw_nothing() -> None:
    long = [("x" * 5000, *(f"w{i}" for i in range(60)))] * 6
    with serving(likeliest) as endpoint:
        attack({"url": endpoint.url, "model": "m", "versions": 5}, at=scene(long))
        asked, paths = endpoint.asked, endpoint.paths
    told = json.loads(asked[0]["messages"][1]["content"])
    assert len(told["versions"]) == 5
    assert max(map(len, told["versions"])) == 500
    assert (asked[0]["temperature"], asked[0]["model"]) == (0, "m")
    assert asked[0]["max_tokens"] == 16
    assert paths[0] == "/v1/chat/completions"
    orders = {tuple(json.loads(q["messages"][1]["content"])["candidates"].values()) for q in asked}
    assert len(orders) == 1  # six texts with the same variants: whose they are changes nothing
    plain, again = judged(likeliest, n=8), judged(likeliest, n=8)
    assert np.array_equal(plain[0].ranks, again[0].ranks)
    assert plain[1] == again[1]
    shown = list(json.loads(plain[1][0]["messages"][1]["content"])["candidates"].values())
    alone = candidates(scene(), BagEncoder(), 8).texts(0)
    assert sorted(shown) == sorted(alone)
    assert shown == sorted(alone, key=lambda text: hashlib.sha256(text.encode()).digest())
    assert shown != alone


@pytest.mark.parametrize(
    "said",
    [
        "",
        "0",
        "11",
        "I think it is 3",
        "1, 2",
        "-1",
        "²",
        "9" * 300,
        b"",
        b"not json",
        b"[]",
        b'{"choices": []}',
        b'{"choices": [{"message": {"content": 3}}]}',
        b"[" * 100_000,
        b'"' + b"x" * MAX_ANSWER + b'"',
        404,
        500,
        307,
    ],
    ids=lambda said: repr(said)[:30],
)
def test_nonsense_is_no_guess_and_the_rest_goes_on(said: str | bytes | int) -> None:
    calls: list[int] = []

    def answer(question: dict[str, Any]) -> str | bytes | int:
        calls.append(1)
        return said if len(calls) == 2 else likeliest(question)

    result, asked = judged(answer)
    assert len(asked) == len(TRUTH)
    assert result.unanswered is not None
    assert result.unanswered.tolist() == [0, 1, 0, 0, 0, 0]
    assert result.ranks[1] == len(LOG) + 1
    assert (result.ranks[[0, 2, 3, 4, 5]] <= len(LOG)).all()


def test_an_answer_is_not_read_beyond_its_bound() -> None:
    long = {"choices": [{"message": {"content": "1"}}], "more": "x" * MAX_ANSWER}
    with pytest.raises(EngineError, match="more than 256 kB"):
        judged(lambda question: json.dumps(long).encode())


def test_an_endpoint_that_answers_nothing_gives_no_risk_of_zero() -> None:
    with pytest.raises(EngineError, match=r"no answers.*6 of 6.*not the number of a candidate"):
        judged(lambda question: "no idea")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(EngineError, match="refuses connections"):
        attack({"url": f"http://127.0.0.1:{port}/v1"})


def test_an_answer_that_is_late_or_drips_is_none() -> None:
    with pytest.raises(EngineError, match="no answer within 0.2 s"):
        judged(late, timeout=0.2)
    with dripping() as url, pytest.raises(EngineError, match="no answer within 0.3 s"):
        attack(
            {"url": url, "timeout": 0.3}, at=Scene((("w4 w5",),), (TRUTH[0],), QueryLog.of(LOG))
        )


@contextmanager
def dripping() -> Iterator[str]:
    """Send a header now and then, for as long as somebody listens."""
    end = threading.Event()

    def drip(server: socket.socket) -> None:
        sock, _ = server.accept()
        with sock:
            sock.sendall(b"HTTP/1.1 200 OK\r\n")
            while not end.wait(0.05):
                try:
                    sock.sendall(b"X: y\r\n")
                except OSError:
                    return

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=drip, args=[server])
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        end.set()
        thread.join()


@pytest.mark.parametrize(
    "url",
    [
        "http://models.example/v1",
        "https://192.0.2.7/v1",
        "http://127.0.0.1.example/v1",
        "http://localhost.example/v1",
        "http://0.0.0.0/v1",
    ],
)
def test_another_host_is_refused_before_anything_is_sent(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda *_, **__: pytest.fail("a host was looked up")
    )
    with pytest.raises(ParameterError, match=r"must be of this machine.*'send_texts_to'"):
        attack({"url": url})
    with pytest.raises(ParameterError, match="must be of this machine"):
        attack({"url": url, "send_texts_to": "other.example"})


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/", "127.0.0.7:81", "http://u:p@127.0.0.1/v1"])
def test_what_is_no_address_is_refused_without_quoting_it(url: str) -> None:
    with pytest.raises(ParameterError, match="must be an address") as told:
        attack({"url": url})
    assert url not in str(told.value)


def test_a_name_of_this_machine_that_leads_elsewhere_is_told_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from veil.text.attacks import candidates as _endpoint

    with serving(likeliest) as endpoint:
        monkeypatch.setattr(_endpoint, "is_local", lambda host: host == "localhost")
        port = endpoint.server_address[1]
        with pytest.raises(EngineError, match="does not lead to this machine"):
            attack({"url": f"http://localhost:{port}/v1"})
        assert endpoint.asked == []


def test_a_text_without_variants_is_not_asked_about() -> None:
    rows = [(), *(scene().variants[1:])]
    with serving(likeliest) as endpoint:
        result = attack({"url": endpoint.url}, at=scene([tuple(row) for row in rows]))
        assert len(endpoint.asked) == 5
    assert result.silences == 0
    assert result.ranks[0] <= len(LOG)


def test_the_command_counts_what_had_no_answer(tmp_path: Path, encoder: BagEncoder) -> None:
    del encoder
    variants = tmp_path / "variants.csv"
    rows = [f"{i},{text},{text}" for i, text in enumerate(TRUTH)]
    variants.write_text("id,text,obfuscatedText\n" + "\n".join(rows) + "\n")
    log = tmp_path / "log.txt"
    log.write_text("\n".join(LOG) + "\n")
    calls: list[int] = []

    def answer(question: dict[str, Any]) -> str:
        calls.append(1)
        return "perhaps" if len(calls) < 3 else likeliest(question)

    with serving(answer) as endpoint:
        spec = f"judge(url='{endpoint.url}', encoder='wordllama')"
        told = CliRunner().invoke(
            veil, ["attack", str(variants), "--log", str(log), "--attacker", spec]
        )
    if "could not be" in told.output:
        pytest.skip("the encoder cannot be fetched")
    assert told.exit_code == 0, told.output
    assert "2 of 6 guesses" in " ".join(told.output.split())
    assert "lower bound" in told.output


def test_a_cross_encoder_orders_the_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", LIBRARY)
    result = attack({"n": 30}, "crossencoder")
    told = scene()
    for i, (row, truth) in enumerate(zip(told.variants, told.originals, strict=True)):
        scores = [sum(len(set(v.split()) & set(q.split())) for v in row) for q in LOG]
        own = scores[LOG.index(truth)]
        above, level = sum(s > own for s in scores), sum(s == own for s in scores)
        assert above < result.ranks[i] <= above + level
    with pytest.raises(AssetError, match="could not be opened"):
        attack({"model": "nobody/nothing"}, "crossencoder")
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtraError, match="neural"):
        attack({}, "crossencoder")
