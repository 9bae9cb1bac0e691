"""One spelling for every spec of a study, however it was written.

Two specs of the same thing become the same text, which is parsed back to that thing. What a spec
names in turn, the encoder of an attacker or of an engine, is parsed as well.
"""

from collections.abc import Iterable

from veil.core.component import Component
from veil.encoders.find import parse as parse_encoder
from veil.search.engines import ENGINES
from veil.studies.study import distinct_specs, short_spec
from veil.text.attacks import ATTACKS


def engine_specs(specs: Iterable[str]) -> tuple[str, ...]:
    """Return the specs of engines, each once.

    >>> engine_specs(["bm25", "bm25()", "dense(encoder='minilm()')"])
    ('bm25', 'dense')
    """
    return distinct_specs(_spelt(ENGINES.parse(spec)) for spec in specs)


def attacker_specs(specs: Iterable[str]) -> tuple[str, ...]:
    """Return the specs of attackers, each once.

    >>> attacker_specs(["bayes", "bayes(prior='uniform')", "inference(encoder='wordllama')"])
    ('bayes', 'inference(encoder=wordllama)')
    """
    return distinct_specs(_spelt(ATTACKS.parse(spec)) for spec in specs)


def encoder_spec(spec: str) -> str:
    """Return the spec of an encoder; one of Hugging Face is its name, if that has a slash.

    >>> encoder_spec("huggingface(model='facebook/contriever')"), encoder_spec("minilm()")
    ('facebook/contriever', 'minilm')
    """
    chosen = parse_encoder(spec)
    short = short_spec(chosen)
    model = str(getattr(chosen, "model", ""))
    return model if "/" in model and short == f"huggingface(model={model})" else short


def _spelt(component: Component) -> Component:
    """Return a component whose encoder is named in the one way, too."""
    named = getattr(component, "encoder", None)
    if isinstance(named, str):
        return component.model_copy(update={"encoder": encoder_spec(named)})
    return component
