"""Every spec has one spelling, which is read back as the same thing."""

import pytest

from veil.core.errors import ParameterError, UnknownNameError
from veil.encoders.catalogue import parse
from veil.search.engines import ENGINES
from veil.search.study.study import attacker_specs, encoder_spec, engine_specs
from veil.text.attacks import ATTACKS

DISTILBERT = "huggingface(model=distilbert-base-uncased)"


@pytest.mark.parametrize(
    ("given", "spelt"),
    [
        (["bayes", "bayes()", " bayes ( prior = 'uniform' ) "], ["bayes"]),
        (["bayes", "bayes(prior=frequency)"], ["bayes", "bayes(prior=frequency)"]),
        (["inference", "inference(encoder='minilm()')"], ["inference"]),
        (["inference(encoder='wordllama')"], ["inference(encoder=wordllama)"]),
        (["inference(encoder='a/b')", "inference(encoder='huggingface(model=a/b)')"],
         ["inference(encoder=a/b)"]),
        ([f"inference(encoder={DISTILBERT})", f"inference(encoder='{DISTILBERT}')"],
         [f"inference(encoder='{DISTILBERT}')"]),
        (["inference(encoder='huggingface(model=a/b, safetensors=false)')"],
         ["inference(encoder='huggingface(model=a/b, safetensors=false)')"]),
        (["inference(encoder='x, y/z')", "inference(encoder=\"huggingface(model='x, y/z')\")"],
         ["inference(encoder=\"huggingface(model='x, y/z')\")"]),
    ],
)  # fmt: skip
def test_attackers_are_spelt_in_one_way(given: list[str], spelt: list[str]) -> None:
    found = attacker_specs(given)
    assert found == tuple(spelt)
    assert attacker_specs(found) == found
    for each in found:
        attacker = ATTACKS.parse(each)
        parse(getattr(attacker, "encoder", "minilm"))


def test_engines_are_spelt_in_one_way() -> None:
    found = engine_specs(["bm25", "bm25()", "bm25(k1=0.5)", "dense(encoder=minilm)", "tfidf()"])
    assert found == ("bm25", "bm25(k1=0.5)", "dense", "tfidf")


@pytest.mark.parametrize("value", ["true", "None", "5", "a b", "it's", "", "ü"])
def test_a_text_is_read_back_as_it_was(value: str) -> None:
    (spelt,) = engine_specs([f"dense(index={value!r})"])
    assert getattr(ENGINES.parse(spelt), "index") == value  # noqa: B009


def test_what_a_spec_names_must_be_there() -> None:
    with pytest.raises(UnknownNameError, match=r"No encoder called 'wordlama'. Did you mean 'wor"):
        attacker_specs(["inference(encoder=wordlama)"])
    with pytest.raises(UnknownNameError, match=r"No encoder called 'wordlama'. Did you mean 'wor"):
        engine_specs(["dense(encoder=wordlama)"])
    with pytest.raises(
        ParameterError, match=r"has no slash is written as huggingface\(model=distilbert-base-unc"
    ):
        encoder_spec("distilbert-base-uncased")
