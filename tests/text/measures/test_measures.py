"""The table of measures, and all of them at once."""

from importlib.metadata import EntryPoint
from typing import ClassVar

import numpy as np
import pytest
from tests.text.measures.test_similarity import Letters

import veil
from veil.core import registry
from veil.core.errors import InputError, ParameterError
from veil.core.types import Floats
from veil.testing import check_measure
from veil.text.measures import MEASURES, Comparison, TextMeasure
from veil.text.measures.measure import measure_all, plugin_measures
from veil.text.vectors.embeddings import Embeddings

TEXTS = ["ab cd ef gh", "do goldfish grow", "ij"]
ROWS = [["ab cd xx gh", "ab cd ef gh"], ["Do GOLDFISH grow"], []]


def with_these(*given: str) -> list[str]:
    """Name the rows of the table that need nothing else."""
    return [name for name in MEASURES.builtin if MEASURES.get(name).needs <= set(given)]


@pytest.mark.parametrize("name", MEASURES.names())
def test_every_measure_keeps_its_contract(name: str) -> None:
    check_measure(MEASURES.parse(name))


@pytest.mark.parametrize("name", MEASURES.names())
def test_every_measure_says_what_it_is(name: str) -> None:
    result = MEASURES.get(name)
    assert result.name == name
    assert result.says[0].isupper()
    assert result.says.endswith(".")
    assert result.lowest < result.highest
    assert MEASURES.parse(name).brief == name


def test_all_of_them_are_those_of_similarity(space: Embeddings) -> None:
    encoder, cmp = Letters(), veil.CMP(epsilon=1)
    result = measure_all(TEXTS, ROWS, encoder=encoder, mechanism=cmp, vectors=space)
    assert list(result) == with_these("encoder", "mechanism", "vectors")
    alone = veil.similarity(TEXTS, ROWS, encoder=encoder, thesaurus=None)
    for name in ("jaccard", "cosine", "bleu", "meteor"):
        assert np.array_equal(result[name], getattr(alone, name), equal_nan=True)
    assert all(values.shape == (3,) for values in result.values())
    assert all(np.isnan(values[2]) for values in result.values())


def test_what_is_not_given_is_not_measured(space: Embeddings) -> None:
    plain, cmp = with_these(), veil.CMP(epsilon=1)
    assert {"jaccard", "bleu", "meteor"} <= set(plain)
    assert not {"cosine", "N_w", "S_w"} & set(with_these("mechanism"))
    assert list(measure_all(TEXTS, ROWS)) == plain
    assert list(measure_all(TEXTS, ROWS, mechanism=cmp)) == with_these("mechanism")
    by_vectors = with_these("vectors")
    assert not {"cosine", "N_w", "S_w"} & set(by_vectors)
    assert list(measure_all(TEXTS, ROWS, vectors=space)) == by_vectors
    assert list(measure_all(TEXTS, ROWS, mechanism=veil.AEA(), vectors=space)) == by_vectors
    given = Comparison.of(TEXTS, ROWS)
    with pytest.raises(ParameterError, match="encoder="):
        MEASURES.parse("cosine").measure(given)
    with pytest.raises(ParameterError, match="N_w needs a word mechanism"):
        MEASURES.parse("N_w").measure(given)


def test_nothing_was_released_of_any_text(space: Embeddings) -> None:
    cmp = veil.CMP(epsilon=1)
    result = measure_all(["a"], [[]], encoder=Letters(), mechanism=cmp, vectors=space)
    assert list(result) == with_these("encoder", "mechanism", "vectors")
    assert all(np.isnan(values).all() for values in result.values())


class Length(TextMeasure):
    """How long variants are."""

    name: ClassVar[str] = "jaccard"  # which is not the name that it is announced by
    says: ClassVar[str] = "Letters."

    def measure(self, given: Comparison) -> Floats:
        return np.array([float(sum(map(len, row))) for row in given.variants])


def test_those_of_plugins_come_last_by_their_own_names(monkeypatch: pytest.MonkeyPatch) -> None:
    announced = [
        EntryPoint(name, "elsewhere:Length", MEASURES.group) for name in ("zeta", "alpha")
    ]
    monkeypatch.setattr(registry, "entry_points", lambda **_: announced)
    for name in ("zeta", "alpha"):
        monkeypatch.setitem(MEASURES._loaded, name, Length)
    assert plugin_measures() == ("alpha", "zeta")
    result = measure_all(TEXTS, ROWS)
    assert list(result) == [*with_these(), "alpha", "zeta"]
    assert result["zeta"].tolist() == [22, 16, 0]
    assert result["jaccard"][1] == 1


def test_bad_input_is_told_in_one_sentence() -> None:
    with pytest.raises(InputError, match="2 texts and 1 lists"):
        measure_all(["a", "b"], [["c"]])
    with pytest.raises(InputError, match="must be a list"):
        measure_all("secret", [["c"]])
    with pytest.raises(InputError, match="must be a list"):
        measure_all(["a"], [3])  # type: ignore[list-item]
