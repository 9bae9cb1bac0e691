"""The classical measures, by hand and against the authors' values."""

import csv
import gzip
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from tests.reference.tiny_wordnet import write

from veil.core.errors import InputError, ParameterError
from veil.core.types import Role, Singles
from veil.corpus.wordnet import wordnet
from veil.encoders.minilm import minilm_folder
from veil.text.measures.similarity import similarity


class Letters:
    """Count letters: a sentence vector that can be checked by hand."""

    key = "letters"
    dim = 26

    def __init__(self) -> None:
        self.seen: list[str] = []

    def encode(self, texts: Sequence[str], role: Role = "document") -> Singles:
        self.seen += texts
        rows = np.array([[text.count(chr(97 + i)) for i in range(26)] for text in texts])
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        unit: Singles = (rows / lengths).astype(np.float32)
        return unit


def read(path: Path) -> tuple[list[str], list[list[str]]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        rows: dict[tuple[str, str], list[str]] = {}
        for line in csv.DictReader(file):
            rows.setdefault((line["id"], line["text"]), []).append(line["obfuscatedText"])
    return [text for _, text in rows], list(rows.values())


def files(shared: Path) -> dict[str, tuple[Path, dict[str, str]]]:
    with (shared / "reference" / "similarity_dl19.csv").open(newline="") as file:
        table = {f"{line['mechanism']}_{line['epsilon']}": line for line in csv.DictReader(file)}
    result = sorted((shared / "reference" / "variants").glob("dl19_*.csv.gz"))
    named = {path.name.removeprefix("dl19_").removesuffix(".csv.gz"): path for path in result}
    return {name: (path, table[name]) for name, path in named.items()}


def test_the_authors_jaccard_is_reproduced_from_their_variants(shared: Path) -> None:
    at_hand = files(shared)
    assert len(at_hand) == 10
    for name, (path, expected) in at_hand.items():
        result = similarity(*read(path), encoder=None, thesaurus=None).means("variant")
        assert result["jaccard"] == pytest.approx(float(expected["jaccard"]), abs=6e-5), name


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SanText_10", "CMP_20"])
def test_the_authors_cosine_is_reproduced_from_their_variants(shared: Path, name: str) -> None:
    if not minilm_folder().is_dir():
        pytest.skip("minilm is not in the cache: veil fetch minilm fetches it")
    path, expected = files(shared)[name]
    result = similarity(*read(path)).means("variant")
    assert result["cosine"] == pytest.approx(float(expected["cosine"]), abs=1e-3)


def test_each_measure_by_hand() -> None:
    result = similarity(
        ["ab cd ef gh", "do goldfish grow"],
        [["ab cd xx gh", "ab cd ef gh"], ["Do GOLDFISH grow"]],
        encoder=Letters(),
        thesaurus=None,
    )
    assert result.jaccard == pytest.approx([(3 / 5 + 1) / 2, 1])
    # 3 of 4 words, 1 of 3 pairs, then none of 2 and none of 1, smoothed to 1/2 and 1/4
    partly = (3 / 4 * 1 / 3 * (1 / 2 / 2) * (1 / 4 / 1)) ** (1 / 4)
    assert result.bleu == pytest.approx([(partly + 1) / 2, 1])
    # 3 of 4 words match in 2 chunks; all match in 1
    some = 3 / 4 * (1 - 0.5 * (2 / 3) ** 3)
    assert result.meteor == pytest.approx([(some + 1 - 0.5 / 4**3) / 2, 1 - 0.5 / 3**3])
    assert result.cosine[0] == pytest.approx((6 / np.sqrt(8 * 10) + 1) / 2)
    assert not result.synonyms


def test_the_original_is_the_reference() -> None:
    result = similarity(["ab cd ef gh"], [["ab cd"]], encoder=None, thesaurus=None)
    assert result.bleu[0] == pytest.approx(np.exp(1 - 4 / 2))  # all is right, and half is missing
    mean = 1 * (1 / 2) / (0.9 * 1 + 0.1 * 1 / 2)  # of precision and recall, the latter heavier
    assert result.meteor[0] == pytest.approx(mean * (1 - 0.5 * (1 / 2) ** 3))


def test_meteor_matches_stems_and_synonyms(tmp_path: Path) -> None:
    write(tmp_path)
    thesaurus = wordnet(tmp_path)
    word, other = next(
        (word, min(result))
        for word in ("car", "dog", "physician", "doctor", "hospital", "animal", "illness")
        if (result := {each for each in thesaurus.synonyms(word) if " " not in each})
    )
    one = similarity([f"my {word} x"], [[f"my {other} x"]], encoder=None, thesaurus=None)
    two = similarity([f"my {word} x"], [[f"my {other} x"]], encoder=None, thesaurus=thesaurus)
    assert two.synonyms
    assert one.meteor[0] == pytest.approx(2 / 3 * (1 - 0.5 * (2 / 2) ** 3))
    assert two.meteor[0] == pytest.approx(1 - 0.5 / 3**3)
    stem = similarity(["he walks"], [["he walked"]], encoder=None, thesaurus=None)
    assert stem.meteor[0] == pytest.approx(1 - 0.5 / 2**3)


def test_texts_without_variants_and_empty_texts() -> None:
    result = similarity(["a b", "", "c"], [[], ["", "x"], [""]], encoder=None, thesaurus=None)
    assert np.isnan(result.jaccard[0])
    assert result.jaccard[1:].tolist() == [0.5, 0]
    assert result.bleu[1:].tolist() == [0, 0]
    assert result.meteor[1:].tolist() == [0, 0]
    means = result.means()
    assert set(means) == {"jaccard", "bleu", "meteor"}
    assert means["jaccard"].n == 2
    assert means["jaccard"] == 0.25
    assert result.means("variant")["jaccard"] == pytest.approx(1 / 3)
    assert similarity(["a"], [[]], encoder=None, thesaurus=None).means() == {}


def test_each_distinct_text_is_encoded_once() -> None:
    encoder = Letters()
    similarity(["a", "a"], [["b", "b", "a"], ["b"]], encoder=encoder, thesaurus=None)
    assert sorted(encoder.seen) == ["a", "b"]


def test_bad_input_is_told_in_one_sentence() -> None:
    with pytest.raises(InputError, match="2 texts and 1 lists"):
        similarity(["a", "b"], [["c"]])
    with pytest.raises(InputError, match="must be a list"):
        similarity("secret", [["c"]])
    with pytest.raises(InputError, match="must be a list"):
        similarity(["a"], ["secret"])
    with pytest.raises(InputError, match="at least one text"):
        similarity([], [])
    with pytest.raises(InputError, match="Text 2 or one of its variants"):
        similarity(["a", "b"], [["c"], [None]])  # type: ignore[list-item]
    with pytest.raises(InputError, match="'thesaurus'"):
        similarity(["a"], [["b"]], thesaurus="worldnet")
    with pytest.raises(ParameterError, match="'per'"):
        similarity(["a"], [["b"]], encoder=None, thesaurus=None).means("row")  # type: ignore[arg-type]
