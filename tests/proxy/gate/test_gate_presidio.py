"""Presidio finds personal data, and neither fetches, logs nor skips anything.

Everything is asked of a stand-in with the bad habits of the real one; of the real one, too, where
it is installed.
"""

import logging
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.reference import fake_presidio

from veil.core.errors import AssetError, MissingExtraError, ParameterError, VeilError
from veil.proxy.gate import Gate
from veil.text.redact.presidio import PresidioFinder

REAL = pytest.param(
    "real",
    marks=[
        pytest.mark.skipif(
            find_spec("presidio_analyzer") is None,
            reason="Presidio is not installed: pip install 'veil[pii]'",
        ),
        pytest.mark.filterwarnings("default"),  # those of its many parts
    ],
)


@pytest.fixture(params=["fake", REAL])
def presidio(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_: pytest.fail("it reached for a network"))
    if request.param == "fake":
        fake_presidio.install(monkeypatch)
    return str(request.param)


@pytest.fixture
def model(presidio: str, tmp_path: Path) -> str:
    """A folder with a model that knows one person and one number."""
    folder = tmp_path / "model"
    folder.mkdir()
    if presidio == "real":
        pipeline = import_module("spacy").blank("en")
        pipeline.add_pipe("entity_ruler").add_patterns(
            [{"label": "PERSON", "pattern": "Ada"}, {"label": "CARDINAL", "pattern": "seven"}]
        )
        pipeline.to_disk(folder)
    return str(folder)


def rules(folder: Path, text: str) -> Path:
    path = folder / "gate.toml"
    path.write_text(text)
    return path


def test_patterns_need_no_model(presidio: str) -> None:
    detector = PresidioFinder()
    entities = ["PHONE_NUMBER", "EMAIL_ADDRESS"]
    assert detector.scores("ring 212-555-5555", entities) == {"PHONE_NUMBER": pytest.approx(0.4)}
    assert detector.scores("to ada@example.org", entities).keys() == {"EMAIL_ADDRESS"}
    assert detector.scores("to ada@machine.internal", entities).keys() == {"EMAIL_ADDRESS"}
    assert detector.scores("a pizza", entities) == {}
    assert detector.scores("", entities) == {}


def test_names_need_a_model(presidio: str, model: str) -> None:
    with pytest.raises(ParameterError, match=r"Entry 2 of 'pii' in rule 1 must be one of .*EMAIL"):
        PresidioFinder().check(["PHONE_NUMBER", "PERSON"], "rule 1")
    detector = PresidioFinder(model)
    detector.check(["PHONE_NUMBER", "PERSON"], "rule 1")
    assert detector.scores("Ada", ["PERSON"]) == {"PERSON": pytest.approx(0.85)}
    assert detector.scores("pizza", ["PERSON"]) == {}
    with pytest.raises(ParameterError, match="Entry 1 of 'pii'"):  # the model has no such label
        detector.check(["NRP"], "rule 1")


def test_labels_that_presidio_does_not_know_are_no_trouble(presidio: str, model: str) -> None:
    assert PresidioFinder(model).scores("seven", ["PERSON"]) == {}


def test_a_missing_model_is_not_fetched(presidio: str, tmp_path: Path) -> None:
    path = rules(
        tmp_path,
        'pii_model = "missing"\n[[rule]]\nname = "people"\npii = ["PERSON"]\naction = "refuse"\n',
    )
    with pytest.raises(AssetError, match="python -m spacy download en_core_web_sm"):
        Gate.load(path)


@pytest.mark.parametrize("name", ["presidio_analyzer", "tldextract"])
def test_without_presidio_rules_on_personal_data_cannot_be_loaded(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_presidio.install(monkeypatch)
    monkeypatch.setitem(sys.modules, name, None)
    path = rules(tmp_path, '[[rule]]\nname = "a"\npii = ["PERSON"]\naction = "refuse"\n')
    with pytest.raises(MissingExtraError, match=r"pip install .*\[pii\]'"):
        Gate.load(path)
    other = rules(tmp_path, '[[rule]]\nname = "a"\nkinds = ["url"]\naction = "refuse"\n')
    assert len(Gate.load(other)) == 1


def test_a_presidio_that_has_changed_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_presidio.install(monkeypatch)
    monkeypatch.delattr(sys.modules["presidio_analyzer"], "AnalyzerEngine")
    with pytest.raises(AssetError, match=r"does not work \(AttributeError\)"):
        PresidioFinder()


def test_nothing_is_logged(presidio: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    detector = PresidioFinder()
    loggers = [logging.getLogger(name) for name in ("presidio-analyzer", "decision_process")]
    for logger in loggers:
        logger.addHandler(caplog.handler)
        logger.setLevel(logging.DEBUG)  # as somebody else might
    texts = ["phone canary 212-555-5555", "canary@example.org", "my ip canary 10.0.0.1", "odd"]
    for text in texts:
        with suppress(VeilError):
            detector.scores(text, sorted(detector.entities))
    for logger in loggers:
        logger.removeHandler(caplog.handler)
    assert caplog.records == []


def test_what_presidio_skips_is_an_error(presidio: str, monkeypatch: pytest.MonkeyPatch) -> None:
    detector = PresidioFinder()
    text = "slow"
    if presidio == "real":
        patterns = import_module("presidio_analyzer.pattern_recognizer")
        if not hasattr(patterns, "REGEX_TIMEOUT_SECONDS"):
            pytest.skip("this Presidio skips nothing: it has no time-out")
        monkeypatch.setattr(patterns, "REGEX_TIMEOUT_SECONDS", 1e-9)
        text = "a1b2" * 2_000
    with pytest.raises(VeilError, match="failed to search the text"):
        detector.scores(text, sorted(detector.entities))
    monkeypatch.undo()
    if presidio == "real":
        assert detector.scores("pizza", ["PHONE_NUMBER"]) == {}


def test_the_gate_asks_it(presidio: str, model: str, tmp_path: Path) -> None:
    path = rules(
        tmp_path,
        'pii_model = "model"\n'  # beside the rules
        '[[rule]]\nname = "people"\npii = ["PERSON"]\naction = "refuse"\n'
        '[[rule]]\nname = "calls"\npii = ["PHONE_NUMBER"]\naction = "obfuscate"\n'
        '[[rule]]\nname = "sure"\npii = ["PHONE_NUMBER"]\npii_score = 0.99\naction = "refuse"\n'
        '[[rule]]\nname = "rest"\nall = true\naction = "pass"\n',
    )
    gate = Gate.load(path)
    assert gate.decide("Ada").rules == ("people",)
    assert gate.decide("A\u200bda").action == "refuse"
    assert gate.decide("２１２-５５５-５５５５").rules == ("calls",)
    assert gate.decide("212-55\u200b5-5555").rules == ("calls",)
    assert gate.decide("212-555-5555").action == "obfuscate"
    assert gate.decide("pizza").action == "pass"


def test_trouble_is_a_refusal(presidio: str, tmp_path: Path) -> None:
    path = rules(
        tmp_path,
        '[[rule]]\nname = "calls"\npii = ["PHONE_NUMBER"]\naction = "obfuscate"\n'
        '[[rule]]\nname = "rest"\nall = true\naction = "pass"\n',
    )
    gate = Gate.load(path)
    decision = gate.decide("pizza \ud800")  # spaCy cannot take it
    assert (decision.action, decision.rules) == ("refuse", ())
    assert "could not be checked" in decision.reason


def test_many_threads_ask_at_once(presidio: str) -> None:
    detector = PresidioFinder()
    texts = ["ring 212-555-5555", "pizza"] * 20
    with ThreadPoolExecutor(4) as pool:
        result = list(pool.map(lambda text: detector.scores(text, ["PHONE_NUMBER"]), texts))
    assert [bool(value) for value in result] == [True, False] * 20
