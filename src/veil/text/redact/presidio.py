"""Presidio's detectors of personal data, on this machine, without a word to anyone.

Presidio is made for services. Left alone it fetches a model of spaCy that is missing, and the list
of public suffixes as soon as it sees an e-mail address; it logs pieces of the text; and it skips a
pattern that takes too long. Here nothing is fetched, nothing is logged, and trouble is an error.
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
_NAMED = "SpacyRecognizer"  # the one that hands on what a model of spaCy finds
_LOGGERS = ("presidio-analyzer", "decision_process", "tldextract")
_LOWER = "veil_lower_case"


class PresidioFinder:
    """Finds entities in a text. Presidio and spaCy are asked by one thread at a time.

    Without a model there are the entities that have a pattern, such as PHONE_NUMBER; names of
    people and places need one.
    """

    def __init__(self, model: str = "") -> None:
        for name in _LOGGERS:
            _mute(logging.getLogger(name))
        try:
            presidio, tld = import_module("presidio_analyzer"), import_module("tldextract")
        except ImportError:
            raise MissingExtraError(
                "To find personal data by Presidio, install it: pip install 'veil[pii]'."
            ) from None
        self._lock = threading.Lock()
        pipeline = _pipeline(model) if model else None
        try:
            tld.tldextract.TLD_EXTRACTOR = tld.TLDExtract(cache_dir=None, suffix_list_urls=())
            self._engine, self.entities = _engine(presidio, pipeline)
            self.scores("a text to warm up", sorted(self.entities))
        except Exception as error:  # noqa: BLE001 - it has no errors of its own
            raise AssetError(
                f"Presidio cannot be used ({type(error).__name__}); install a newer version of"
                " presidio-analyzer, or do without it: rules without 'pii', --redact patterns."
            ) from None

    def check(self, entities: Sequence[str], where: str) -> None:
        """Refuse entities that could never be found."""
        for number, entity in enumerate(entities, start=1):
            if entity not in self.entities:
                raise ParameterError(
                    f"The 'pii' number {number} of {where} must be one of"
                    f" {', '.join(sorted(self.entities))}; those of a model of spaCy, such as"
                    ' PERSON, need pii_model = "en_core_web_sm" at the top of the file.'
                )

    def scores(self, text: str, entities: Sequence[str]) -> dict[str, float]:
        """Return the entities that are in a text, and how sure of each Presidio is."""
        found: dict[str, float] = {}
        with self._lock, _troubled():
            for each in self._engine.analyze(
                text=text, language=_LANGUAGE, entities=list(entities), score_threshold=0.0
            ):
                found[each.entity_type] = max(each.score, found.get(each.entity_type, 0.0))
        return found

    def spans(self, text: str, least: float = 0.0) -> list[Span]:
        """Return where entities are in a text that Presidio is sure of by `least` or more."""
        with self._lock, _troubled():
            found = self._engine.analyze(
                text=text,
                language=_LANGUAGE,
                entities=sorted(self.entities),
                score_threshold=least,
            )
        surest = sorted(found, key=lambda one: (-one.score, one.start, -one.end))
        return without_overlaps(Span(one.start, one.end, str(one.entity_type)) for one in surest)


class _Mute(logging.Filter):
    """Lets nothing be written, and remembers in which thread there was trouble."""

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
def _troubled() -> Iterator[None]:
    """Raise where Presidio only logs: it goes on without the pattern that failed."""
    _MUTE.state.trouble = False
    try:
        yield
    except Exception:  # noqa: BLE001 - whose words may be those of the text
        _MUTE.state.trouble = True
    if _MUTE.state.trouble:
        raise VeilError("Presidio could not look for everything that was asked.") from None


def _engine(presidio: Any, pipeline: Any) -> tuple[Any, frozenset[str]]:  # noqa: ANN401 - untyped
    """Return an analyser, and the entities that it can find."""
    nlp = import_module("presidio_analyzer.nlp_engine")
    kinds = import_module("presidio_analyzer.predefined_recognizers")
    labels: set[str] = set()
    if pipeline is not None:
        labels = {label for own in pipeline.pipe_labels.values() for label in own}
    known = nlp.NerModelConfiguration().model_to_presidio_entity_mapping
    named = {known[label] for label in labels if label in known}
    others = sorted(labels - set(known))  # or each of them is worth a warning
    spacy = nlp.SpacyNlpEngine(
        ner_model_configuration=nlp.NerModelConfiguration(labels_to_ignore=others)
    )
    spacy.nlp = {_LANGUAGE: _blank() if pipeline is None else pipeline}  # so that it loads none
    registry = presidio.RecognizerRegistry()  # for English, unless told otherwise
    registry.load_predefined_recognizers(languages=[_LANGUAGE], nlp_engine=spacy)
    registry.recognizers = [each for each in registry.recognizers if _local(presidio, each)]
    for each in registry.recognizers:
        if isinstance(each, kinds.EmailRecognizer):
            each.validate_result = _valid
    if named:
        registry.add_recognizer(kinds.SpacyRecognizer(supported_entities=sorted(named)))
    engine = presidio.AnalyzerEngine(
        registry=registry, nlp_engine=spacy, supported_languages=[_LANGUAGE]
    )
    return engine, frozenset(engine.get_supported_entities(_LANGUAGE))


def _local(presidio: Any, recognizer: Any) -> bool:  # noqa: ANN401
    """Tell whether a recogniser is a pattern, and stays on this machine."""
    return recognizer.name != _NAMED and not isinstance(recognizer, presidio.RemoteRecognizer)


def _valid(_text: str) -> bool:
    """Take every address for one, also in a domain of the house, which no public list knows."""
    return True


def _blank() -> Any:  # noqa: ANN401
    """Return a pipeline that finds words and no more; Presidio looks for hints among lemmas."""
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
    """Load a model that is installed, or lies in a folder."""
    try:
        return import_module("spacy").load(Path(model) if Path(model).is_dir() else model)
    except (OSError, ImportError, ValueError):
        raise AssetError(
            "The 'pii_model' of the rules must be a model of spaCy that is installed, or a folder"
            " with one; to install the small English one: python -m spacy download en_core_web_sm."
        ) from None
