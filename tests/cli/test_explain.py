"""``veil explain``: what a mechanism does to a word."""

import json
import math
import re
from pathlib import Path

import pytest
from tests.cli.conftest import WORDS, Veil


def test_one_word_by_its_law(veil: Veil, vectors: str) -> None:
    result = veil("explain", "santext", "--epsilon", 5, "--vectors", vectors, "cat")
    assert (result.code, result.err) == (0, "")
    assert "santext(epsilon=5.0" in result.lines[0]
    assert "metric-dp: 5 * euclidean, per word" in result.lines[0]
    assert "cat (exact)" in result.out
    shown = [float(p) for p in re.findall(r"│\s+(0\.\d{6}) │", result.out)]
    assert len(shown) == 10
    assert shown == sorted(shown, reverse=True)
    assert f"stays unchanged     {shown[0]:.6f}" in result.out
    assert "interval" not in result.out
    assert "distinguishing" not in result.out


def test_two_words_are_told_apart_no_better_than_proved(veil: Veil, vectors: str) -> None:
    options = ("--epsilon", 5, "--vectors", vectors, "cat", "DOG")
    result = veil("explain", "santext", *options)
    found = re.search(
        r"distinguishing cat from dog: worst log-ratio ([\d.]+) \(output '(.+)'\);"
        r" proved bound ([\d.]+)",
        result.out,
    )
    assert found is not None
    assert float(found[1]) <= float(found[3])
    ratio = json.loads(veil("explain", "santext", *options, "--json").out)["log_ratio"]
    assert ratio["words"] == ["cat", "dog"]
    assert f"{ratio['value']:.4f}" == found[1]
    assert ratio["output"] == found[2]


def test_noise_mechanism_is_simulated(veil: Veil, vectors: str) -> None:
    options = ("--epsilon", 5, "--vectors", vectors, "--samples", 500, "--seed", 1)
    result = veil("explain", "cmp", *options, "cat", "dog")
    assert result.code == 0
    assert "cat (500 draws)" in result.out
    assert "95 % interval" in result.out
    assert "at least" in result.out
    assert "cmp has no closed-form distribution" in result.out
    again = veil("explain", "cmp", *options, "cat", "dog")
    assert again.out == result.out


def test_json(veil: Veil, vectors: str) -> None:
    result = veil(
        "explain", "tem", "--epsilon", 5, "--vectors", vectors, "--top", 3, "--json", "cat", "dog"
    )
    document = json.loads(result.out)
    assert document["mechanism"].startswith("tem(epsilon=5.0")
    assert [each["word"] for each in document["words"]] == ["cat", "dog"]
    assert [len(each["top"]) for each in document["words"]] == [3, 3]
    assert document["log_ratio"]["value"] <= document["log_ratio"]["bound"]


def test_json_has_no_infinite_numbers(veil: Veil, vectors: str) -> None:
    result = veil(
        "explain", "wbb", "--epsilon", 5, "--k", 1, "--n", 2, "--vectors", vectors, "--json",
        "cat", "dog",
    )  # fmt: skip

    def refuse(name: str) -> None:
        pytest.fail(f"{name} is not JSON")

    ratio = json.loads(result.out, parse_constant=refuse)["log_ratio"]
    assert math.isinf(float(ratio["bound"]))


def test_words_may_look_like_markup(veil: Veil, vectors: str) -> None:
    result = veil(
        "explain", "santext", "--epsilon", 1, "--vectors", vectors, "--top", 100, "b[/b]", "r[red]"
    )
    assert result.code == 0
    assert "b[/b] (exact)" in result.out
    assert result.out.count("│ r[red]") == 2
    for word in WORDS:
        assert f"│ {word} " in result.out
    assert "distinguishing b[/b] from r[red]" in result.out


def test_unknown_word_is_named_by_its_place(veil: Veil, vectors: str) -> None:
    result = veil("explain", "cmp", "--epsilon", 5, "--vectors", vectors, "cat", "xanthippe")
    assert "Word 2 of 2 is not in the vocabulary of v.txt (17 words)" in result.refused()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["cpm", "cat"], "Did you mean cmp?"),
        (["cmp", "cat"], "'epsilon' parameter of cmp is required"),
        (["cmp", "--epsilon", "1"], "Missing WORDS"),
        (["cmp", "--epsilon", "1", "--eta", "1", "cat"], "The value of --eta"),
        (["cmp", "--epsilon", "1", "--samples", "0", "cat"], "The value of --samples"),
        (["cmp", "--epsilon", "1", "--top", "0", "cat"], "The value of --top"),
    ],
)
def test_refused(veil: Veil, vectors: str, arguments: list[str], message: str) -> None:
    name, *rest = arguments
    assert message in veil("explain", name, "--vectors", vectors, *rest).refused()


def test_vectors_of_a_folder(veil: Veil, vectors: str, tmp_path: Path) -> None:
    from veil import load_embeddings

    load_embeddings(vectors).save(tmp_path / "saved")
    result = veil("explain", "tem", "--epsilon", 5, "--vectors", tmp_path / "saved", "cat")
    assert result.code == 0
