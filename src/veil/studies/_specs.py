"""One spelling for every spec of a study, however it was written.

Two specs of the same thing become the same text, which is parsed back to that thing. What a spec
names in turn, the encoder of an attacker or of an engine, is parsed as well.
"""

import re
from collections.abc import Iterable

from veil.core.component import Component
from veil.encoders.find import parse as parse_encoder
from veil.search.engines import ENGINES
from veil.text.attacks import ATTACKS

_BARE = re.compile(r"(?!(?:true|false|True|False|None)$)[A-Za-z_][\w./-]*")  # needs no quotes


def engine_specs(specs: Iterable[str]) -> tuple[str, ...]:
    """Return the specs of engines, each once.

    >>> engine_specs(["bm25", "bm25()", "dense(encoder='minilm()')"])
    ('bm25', 'dense')
    """
    return tuple(dict.fromkeys(_spelt(ENGINES.parse(spec)) for spec in specs))


def attacker_specs(specs: Iterable[str]) -> tuple[str, ...]:
    """Return the specs of attackers, each once.

    >>> attacker_specs(["bayes", "bayes(prior='uniform')", "inference(encoder='wordllama')"])
    ('bayes', 'inference(encoder=wordllama)')
    """
    return tuple(dict.fromkeys(_spelt(ATTACKS.parse(spec)) for spec in specs))


def encoder_spec(spec: str) -> str:
    """Return the spec of an encoder; one of Hugging Face is its name, if that has a slash.

    >>> encoder_spec("huggingface(model='facebook/contriever')"), encoder_spec("minilm()")
    ('facebook/contriever', 'minilm')
    """
    chosen = parse_encoder(spec)
    short = written(chosen)
    model = str(getattr(chosen, "model", ""))
    return model if "/" in model and short == f"huggingface(model={model})" else short


def written(component: Component, leave: str = "") -> str:
    """Write a component with the parameters that differ from the default, but `leave`.

    >>> written(ATTACKS.parse("bayes(prior=frequency)"))
    'bayes(prior=frequency)'
    """
    fields = type(component).model_fields
    told = [
        f"{key}={_value(value)}"
        for key, value in component
        if key != leave and value != fields[key].default
    ]
    return f"{component.name}({', '.join(told)})" if told else component.name


def _spelt(component: Component) -> str:
    """Write a component, and the encoder that it names in the one way, too."""
    named = getattr(component, "encoder", None)
    if isinstance(named, str):
        component = component.model_copy(update={"encoder": encoder_spec(named)})
    return written(component)


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) and _BARE.fullmatch(value) else repr(value)
