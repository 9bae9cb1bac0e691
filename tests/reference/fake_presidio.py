"""A Presidio of a few patterns, with the habits of the real one that must be broken.

It fetches a model, it fetches the public suffixes when it sees an address, it logs the text, it
asks a remote service, and it skips a pattern that takes too long.
"""

import logging
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import NoReturn

import pytest

LOG = logging.getLogger("presidio-analyzer")


@dataclass
class Result:
    entity_type: str
    score: float
    start: int = 0
    end: int = 0


@dataclass
class Recognizer:
    name: str
    supported_entities: list[str]
    pattern: str = ""
    score: float = 0.4

    def validate_result(self, text: str) -> bool:
        return True

    def analyze(self, text: str, ents: Sequence[str]) -> list[Result]:
        found = list(re.finditer(self.pattern, text)) if self.pattern else []
        if "slow" in text:
            LOG.warning("Regex pattern '%s' timed out, skipping.", self.name)
            return []
        return [
            Result(self.supported_entities[0], self.score, *each.span())
            for each in found
            if self.validate_result(text)
        ]


class Email(Recognizer):
    def validate_result(self, text: str) -> NoReturn:
        pytest.fail("the list of public suffixes was fetched")


class Remote(Recognizer):
    def analyze(self, text: str, ents: Sequence[str]) -> NoReturn:
        pytest.fail("a text was sent to a service")


class Named(Recognizer):
    def __init__(self, supported_entities: list[str]) -> None:
        super().__init__("SpacyRecognizer", supported_entities)

    def analyze(self, text: str, ents: Sequence[str]) -> list[Result]:
        return [
            Result(each, 0.85, 0, len(text)) for each in ents if each in self.supported_entities
        ]


@dataclass
class Configuration:
    labels_to_ignore: Sequence[str] = ()
    model_to_presidio_entity_mapping: dict[str, str] = field(
        default_factory=lambda: {"PER": "PERSON", "GPE": "LOCATION"}
    )


@dataclass
class Engine:
    ner_model_configuration: Configuration
    nlp: dict[str, "Pipeline"] | None = None

    def process(self, text: str) -> list[str]:
        if self.nlp is None:
            pytest.fail("a model was fetched")
        mapping = self.ner_model_configuration.model_to_presidio_entity_mapping
        labels = self.nlp["en"].labels(text)
        for label in labels:
            if label not in {*mapping, *self.ner_model_configuration.labels_to_ignore}:
                LOG.warning("Entity %s is not mapped", label)
        return [mapping[label] for label in labels if label in mapping]


@dataclass
class Registry:
    recognizers: list[Recognizer] = field(default_factory=list)

    def load_predefined_recognizers(self, languages: list[str], nlp_engine: Engine) -> None:
        self.recognizers += [
            Recognizer("PhoneRecognizer", ["PHONE_NUMBER"], r"\d{3}-\d{4}"),
            Email("EmailRecognizer", ["EMAIL_ADDRESS"], r"\w@\w", 0.5),
            Remote("AzureRecognizer", ["SECRET"]),
            Named(["PERSON", "LOCATION"]),
        ]

    def add_recognizer(self, recognizer: Recognizer) -> None:
        self.recognizers.append(recognizer)


@dataclass
class Analyzer:
    registry: Registry
    nlp_engine: Engine
    supported_languages: list[str]

    def get_supported_entities(self, language: str) -> list[str]:
        return [each for one in self.registry.recognizers for each in one.supported_entities]

    def analyze(
        self, text: str, language: str, entities: list[str], score_threshold: float
    ) -> list[Result]:
        if "odd" in text:
            LOG.error("Failed to validate text %s", text)
        LOG.debug("Context list is: %s", text)
        text.encode()  # as spaCy does: fails for a lone surrogate
        named = self.nlp_engine.process(text)
        return [
            result
            for one in self.registry.recognizers
            for result in one.analyze(text, named)
            if result.entity_type in entities and result.score >= score_threshold
        ]


class Pipeline:
    """Takes every word with a capital for a person, and numbers for something unheard of."""

    def __init__(self, pipe_labels: dict[str, list[str]]) -> None:
        self.pipe_labels = pipe_labels

    def labels(self, text: str) -> list[str]:
        kinds = ["PER"] * bool(re.search(r"[A-Z]", text)) + ["CARDINAL"] * ("seven" in text)
        return kinds if self.pipe_labels else []

    def add_pipe(self, name: str) -> None:
        pass


def load(model: str | Path) -> Pipeline:
    if model == "missing":
        raise OSError("[E050] Can't find model")
    return Pipeline({"ner": ["PER", "CARDINAL"]})


def install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put it, and what it stands on, in the place of the real one."""
    made: dict[str, dict[str, object]] = {
        "presidio_analyzer": {
            "RecognizerRegistry": Registry,
            "AnalyzerEngine": Analyzer,
            "RemoteRecognizer": Remote,
        },
        "presidio_analyzer.nlp_engine": {
            "SpacyNlpEngine": Engine,
            "NerModelConfiguration": Configuration,
        },
        "presidio_analyzer.predefined_recognizers": {
            "EmailRecognizer": Email,
            "SpacyRecognizer": Named,
        },
        "tldextract": {"TLDExtract": dict, "tldextract": SimpleNamespace()},
        "spacy": {"blank": lambda language: Pipeline({}), "load": load},
        "spacy.language": {"Language": SimpleNamespace(has_factory=lambda name: True)},
    }
    for name, contents in made.items():
        module = ModuleType(name)
        vars(module).update(contents)
        monkeypatch.setitem(sys.modules, name, module)
