"""Presidio's detectors of personal data, run locally without network access or logs.

By default Presidio downloads a missing spaCy model, fetches the list of public suffixes when it
sees an e-mail address, logs parts of the text, and skips patterns that take too long. This module
downloads and logs nothing, and raises an error if a detector fails.
"""

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from veil.core.errors import AssetError, MissingExtraError, ParameterError, VeilError
from veil.text.redact.span import Span, without_overlaps

_LANGUAGE = "en"
_SPACY = "SpacyRecognizer"  # reports the entities of a spaCy model
_LOGGERS = ("presidio-analyzer", "decision_process", "tldextract")
_LOWER = "veil_lower_case"


class PresidioFinder:
    """Finds entities in a text, one thread at a time.

    Without a model it finds entities that have a pattern, such as PHONE_NUMBER. Names of people
    and places need a model.
    """

    def __init__(self, model: str = "") -> None:
        for name in _LOGGERS:
            _mute(logging.getLogger(name))
        try:
            presidio, tld = import_module("presidio_analyzer"), import_module("tldextract")
        except ImportError:
            raise MissingExtraError(
                "Presidio is not installed. Try pip install 'veil[pii]'."
            ) from None
        self._lock = threading.Lock()
        pipeline = _pipeline(model) if model else None
        try:
            tld.tldextract.TLD_EXTRACTOR = tld.TLDExtract(cache_dir=None, suffix_list_urls=())
            self._engine, self.entities = _engine(presidio, pipeline)
            self.scores("a text to warm up", sorted(self.entities))
        except Exception as error:  # noqa: BLE001 - Presidio has no error classes
            raise AssetError(
                f"Presidio does not work ({type(error).__name__}). Install a newer"
                " presidio-analyzer, or use rules without 'pii' and --redact patterns."
            ) from None

    def check(self, entities: Sequence[str], where: str) -> None:
        """Raise if any of the entities cannot be found without another model."""
        for number, entity in enumerate(entities, start=1):
            if entity not in self.entities:
                raise ParameterError(
                    f"Entry {number} of 'pii' in {where} must be one of"
                    f" {', '.join(sorted(self.entities))}. Entities of a spaCy model, such as"
                    ' PERSON, need pii_model = "en_core_web_sm" at the top of the file.'
                )

    def scores(self, text: str, entities: Sequence[str]) -> dict[str, float]:
        """Return Presidio's highest score of each entity in a text."""
        scores: dict[str, float] = {}
        with self._lock, _raise_logged():
            for match in self._engine.analyze(
                text=text, language=_LANGUAGE, entities=list(entities), score_threshold=0.0
            ):
                scores[match.entity_type] = max(match.score, scores.get(match.entity_type, 0.0))
        return scores

    def spans(self, text: str, least: float = 0.0) -> list[Span]:
        """Return the entities in a text with a score of at least `least`."""
        with self._lock, _raise_logged():
            matches = self._engine.analyze(
                text=text,
                language=_LANGUAGE,
                entities=sorted(self.entities),
                score_threshold=least,
            )
        surest = sorted(matches, key=lambda match: (-match.score, match.start, -match.end))
        return without_overlaps(Span(m.start, m.end, str(m.entity_type)) for m in surest)


class _Mute(logging.Filter):
    """Drops all log records, and flags warnings per thread."""

    def __init__(self) -> None:
        super().__init__()
        self.state = threading.local()

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno >= logging.WARNING:
            self.state.trouble = True
        return False


_MUTE = _Mute()


def _mute(logger: logging.Logger) -> None:
    logger.setLevel(logging.WARNING)
    logger.propagate = False
    if _MUTE not in logger.filters:
        logger.addFilter(_MUTE)


@contextmanager
def _raise_logged() -> Iterator[None]:
    """Raise an error if Presidio logs a warning, because it then skips the failed pattern."""
    _MUTE.state.trouble = False
    try:
        yield
    except Exception:  # noqa: BLE001 - its message may quote the text
        _MUTE.state.trouble = True
    if _MUTE.state.trouble:
        raise VeilError("Presidio failed to search the text for all entities.") from None


def _engine(presidio: Any, pipeline: Any) -> tuple[Any, frozenset[str]]:  # noqa: ANN401 - untyped
    """Return an analyser and the entities that it can find."""
    nlp = import_module("presidio_analyzer.nlp_engine")
    kinds = import_module("presidio_analyzer.predefined_recognizers")
    labels: set[str] = set()
    if pipeline is not None:
        labels = {label for pipe in pipeline.pipe_labels.values() for label in pipe}
    mapping = nlp.NerModelConfiguration().model_to_presidio_entity_mapping
    entities = {mapping[label] for label in labels if label in mapping}
    others = sorted(labels - set(mapping))  # ignored, else each logs a warning
    spacy = nlp.SpacyNlpEngine(
        ner_model_configuration=nlp.NerModelConfiguration(labels_to_ignore=others)
    )
    spacy.nlp = {_LANGUAGE: _blank() if pipeline is None else pipeline}  # so it loads no model
    registry = presidio.RecognizerRegistry()  # English by default
    registry.load_predefined_recognizers(languages=[_LANGUAGE], nlp_engine=spacy)
    registry.recognizers = [r for r in registry.recognizers if _is_local(presidio, r)]
    for recognizer in registry.recognizers:
        if isinstance(recognizer, kinds.EmailRecognizer):
            recognizer.validate_result = _accept
    if entities:
        registry.add_recognizer(kinds.SpacyRecognizer(supported_entities=sorted(entities)))
    engine = presidio.AnalyzerEngine(
        registry=registry, nlp_engine=spacy, supported_languages=[_LANGUAGE]
    )
    return engine, frozenset(engine.get_supported_entities(_LANGUAGE))


def _is_local(presidio: Any, recognizer: Any) -> bool:  # noqa: ANN401
    """Return whether a recogniser needs neither a model nor the network."""
    return recognizer.name != _SPACY and not isinstance(recognizer, presidio.RemoteRecognizer)


def _accept(_text: str) -> bool:
    """Accept every e-mail address, also of an internal domain that is on no public list."""
    return True


def _blank() -> Any:  # noqa: ANN401
    """Return a pipeline that only tokenises; Presidio finds context words by their lemmas."""
    language = import_module("spacy.language").Language
    if not language.has_factory(_LOWER):
        language.component(_LOWER, func=_lower_case)
    pipeline = import_module("spacy").blank(_LANGUAGE)
    pipeline.add_pipe(_LOWER)
    return pipeline


def _lower_case(words: Any) -> Any:  # noqa: ANN401
    for word in words:
        word.lemma_ = word.lower_
    return words


def _pipeline(model: str) -> Any:  # noqa: ANN401
    """Return an installed spaCy model, or the one in a folder."""
    try:
        return import_module("spacy").load(Path(model) if Path(model).is_dir() else model)
    except (OSError, ImportError, ValueError):
        raise AssetError(
            "The 'pii_model' of the rules must be an installed spaCy model, or a folder with one."
            " Try python -m spacy download en_core_web_sm."
        ) from None
