"""What the commands tell a person: costs, caveats, hints, and the true reason of an error."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import CANARY, Result, Veil

from veil.cli.screen import cost_of_each, not_covered
from veil.text.files import Tally
from veil.text.mechanisms.catalogue import mechanism
from veil.text.mechanisms.mechanism import CONTEXT, LAYOUT, LISTED, POLICIES, UNKNOWN, release_cost

Cmp = Callable[..., Result]


@pytest.fixture
def cmp(veil: Veil, vectors: str) -> Cmp:
    def call(*arguments: object, epsilon: object = 5) -> Result:
        return veil("protect", "cmp", "--epsilon", epsilon, "--vectors", vectors, *arguments)

    return call


# ---- costs


def write(path: Path, content: str) -> Path:
    path.write_text(content)
    return path


def test_a_text_in_clear_has_no_cost(cmp: Cmp, tmp_path: Path) -> None:
    terms = write(tmp_path / "terms.txt", "cancer\nflu\n")
    texts = write(tmp_path / "in.txt", "a dog\nflu\nthe cat\ncancer and flu\na flu\n")
    told = cmp(texts, "--select", f"@{terms}", "--in-clear").err
    assert "Per text: smallest 5, median 5, largest 10." in told
    assert "2 texts released unprotected: the cost does not cover them." in told
    told = cmp("a dog", "a flu", "--select", f"@{terms}", "--in-clear").err
    assert "1 text released unprotected: the cost does not cover it." in told
    told = cmp("a dog", "the cat", "--select", f"@{terms}", "--in-clear").err
    assert "Per text" not in told
    assert "Cost: unbounded, because nothing is protected." in told
    assert "released unprotected" not in cmp("a dog", "!").err


def test_no_text_has_no_cost_of_each() -> None:
    assert Tally().spread() == (0, 0.0, 0)
    assert cost_of_each(mechanism("cmp(epsilon=5)").guarantee, Tally(texts=3, bare=3), 1) == ""


@pytest.mark.parametrize(
    ("extra", "told"),
    [
        ((), ()),
        (("--select", "all"), ()),
        (("--select", "content"), (LISTED,)),
        (("--select", "pos:NN"), (CONTEXT,)),
        (("--policy", "number=mask"), (POLICIES,)),
        (("--policy", "number=mask", "--select", "content"), (POLICIES, LISTED)),
    ],
)
def test_what_a_choice_leaves_without_a_bound(
    cmp: Cmp, extra: tuple[str, ...], told: tuple[str, ...]
) -> None:
    result = cmp("the cat has flu 3", *extra)
    assert {each for each in (POLICIES, LISTED, CONTEXT) if each in result.err} == {*told}
    assert LAYOUT not in result.err
    assert UNKNOWN not in result.err


def test_caveats_are_of_a_bound() -> None:
    assert not_covered(mechanism("wbb(epsilon=5, n=3)"), None, {"number": "keep"}) == ()
    assert not_covered(mechanism("cmp(epsilon=5)"), ["skin cancer"], None) == (CONTEXT,)
    assert not_covered(mechanism("aea"), None, None) == ()


# ---- hints


@pytest.mark.parametrize(
    "typed",
    [
        ["--epsilon", "5", "cmp", f"my {CANARY}"],
        ["--siez", "5", f"my {CANARY}"],
        ["--mechanism"],
        ["--", "--mechanism", "cmp(epsilon=5)", f"my {CANARY}"],
    ],
)
@pytest.mark.parametrize("command", ["protect", "explain"])
def test_the_mechanism_comes_first(veil: Veil, command: str, typed: list[str]) -> None:
    told = veil(command, *typed).refused()
    assert f"A mechanism must come first, as in 'veil {command} cmp --epsilon 10 ...'" in told
    assert "Did you mean" not in told


@pytest.mark.parametrize(
    "typed",
    [
        ["--mechanism", "cmp(epsilon=1e6)", "a cat"],
        ["--mechanism=cmp(epsilon=1e6)", "a cat"],
        ["a cat", "--mechanism", "cmp(epsilon=1e6)"],
        ["--size", "1", "--mechanism", "cmp(epsilon=1e6)", "a cat"],
        ["--mechanism", "cmp", "--epsilon", "1e6", "a cat"],
        ["--mechanism", "cmp(epsilon=1e6)", "--", "a cat"],
    ],
)
def test_a_mechanism_by_a_flag(veil: Veil, vectors: str, typed: list[str]) -> None:
    assert veil("protect", "--vectors", vectors, *typed).lines == ["a cat"]


def test_hints_are_of_what_works_there(veil: Veil, cmp: Cmp) -> None:
    assert "Did you mean" not in cmp("--versoin", f"my {CANARY}").refused()
    assert "Did you mean --version?" in veil("--versoin").refused()
    assert "Did you mean --help?" in cmp("--hlep", f"my {CANARY}").refused()
    assert "Did you mean 'content'?" in cmp("--select", "contnt", f"my {CANARY}").refused()
    assert "Did you mean 'pos'?" in cmp("--select", "pso:NN", f"my {CANARY}").refused()
    assert "Did you mean" not in cmp("--select", "zzz", f"my {CANARY}").refused()
    told = veil("protect", "cmp", "--epsilon", 1, "--vectors", "glove-100", f"my {CANARY}")
    assert "Did you mean 'glove-100d'?" in told.refused()


def test_help_of_a_spec_asks_for_nothing_that_it_has(veil: Veil) -> None:
    assert "required" not in veil("protect", "cmp(epsilon=5)", "--help").out
    assert "required" in veil("protect", "cmp", "--help").out


# ---- files


@pytest.mark.parametrize("name", ["patients.csv ", " patients.csv", "notes ", " ./x ", "b.docx\t"])
def test_a_blank_at_the_end_makes_no_text(
    cmp: Cmp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "patients.csv", "text\na cat\n")
    write(tmp_path / "notes", "a cat\n")
    assert "This file does not exist. Check the path, or pass a text" in cmp(name).refused()
    assert cmp("--text", name).code == 0
    assert cmp("a cat ").code == 0


def test_one_file_alone(cmp: Cmp, tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{name}.csv", "text\na cat\n") for name in "ab"]
    assert "Only one file can be protected at a time" in cmp(*paths).refused()
    assert "Texts cannot be combined with a file" in cmp(*paths, "a cat").refused()


@pytest.mark.parametrize(
    ("content", "extra", "message"),
    [
        ("id:text\n1:{}\n", (), "but only one column. Set the separator with --delim"),
        ("id;text\n1;{}\n", ("--delimiter", ","), "Set the separator with --delim"),
        (
            "id\n{}\n",
            ("--column", "id", "--keep", "x", "--json"),
            "Set the separator with",
        ),
        ("id;text,note\n1;{},x\n", (), "The delimiter of in.csv is ambiguous"),
        ("id|text;note\n1|{};x\n", (), "Set it with --delimiter"),
        ("id,note\n1,{}\n", (), "among its 2. Set the right one with --column."),
        ('id,text\n1,a\n2, "{}, b"\n', (), "A quote after a blank has no effect"),
        ("text\na\n{}\rb\n", (), "(a carriage return within a line)"),
    ],
)
def test_the_true_reason(
    cmp: Cmp, tmp_path: Path, content: str, extra: tuple[str, ...], message: str
) -> None:
    path = write(tmp_path / "in.csv", content.format(CANARY))
    assert message in cmp(path, *extra).refused()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("in.csv", 'id, text\n1, a cat\n2, "flu, cancer"\n'),
        ("in.csv", '"id", "text"\n"1", a cat\n2,"flu, cancer"\n'),
        ("in.csv", 'id; text\n1; a cat\n2; "flu, cancer"\n'),
        ("in.csv", 'id,text\r1,a cat\r2,"flu, cancer"\r'),
        ("in.csv", 'id,text\r1,a cat\r2,"flu, cancer"'),
        ("in.tsv", "id\ttext\r1\ta cat\r2\tflu, cancer\r"),
        ("in.txt", "a cat\rflu, cancer\r"),
        ("in.jsonl", '{"text": "a cat"}\r{"text": "flu, cancer"}'),
    ],
)
def test_files_of_many_hands_are_read(cmp: Cmp, tmp_path: Path, name: str, content: str) -> None:
    path = tmp_path / name
    path.write_bytes(content.encode())
    assert cmp(path, epsilon=1e6).lines == ["a cat", "flu, cancer"]


def test_a_blank_is_of_the_value_where_the_header_has_none(cmp: Cmp, tmp_path: Path) -> None:
    path = write(tmp_path / "in.csv", "id,text\n1, a cat\n")
    assert cmp(path, epsilon=1e6).lines == [" a cat"]


def test_the_flag_for_the_encoding_is_named(cmp: Cmp, tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    for content, where in (
        (f"näme,text\n1,{CANARY}\n", "near its beginning"),
        (f"text\n{CANARY}\xe4", "after line 1"),
    ):
        path.write_bytes(content.encode("latin-1"))
        assert f"{where}. To fix this, set --encoding" in cmp(path).refused()
    path.write_bytes(f"text\n{CANARY}\n".encode("utf-16-le"))
    assert "another encoding, set --encoding, or convert it" in cmp(path).refused()


@pytest.mark.parametrize("workers", [1, 2])
def test_rows_are_named(cmp: Cmp, tmp_path: Path, workers: int) -> None:
    rows = ["a flu"] * 4200  # more than one batch
    for number, text, extra, message in (
        (4150, "the a", (), "has no word that would be protected"),
        (3, f"{CANARY} " * 9, ("--max-chars", 50), "must have at most 50 characters. Got 90"),
    ):
        texts = [*rows[: number - 1], text, *rows[number:]]
        path = write(tmp_path / "letters.csv", "text\n" + "".join(f"{each}\n" for each in texts))
        told = cmp(
            path, "--select", "content", "--workers", workers, *extra, "-o", tmp_path / "o.csv"
        )
        assert f"Row {number:,} (line {number + 1:,}) of letters.csv {message}" in told.refused()
        assert "--max-chars" in told.err or not extra
    assert "Text 2 has no word" in cmp("a flu", "the a", "--select", "content").refused()


# ---- wording


def test_numbers_are_written_in_one_way(cmp: Cmp) -> None:
    assert "epsilon 10,500 = 10,500 per" in cmp("--text", "cat", epsilon=10500).err
    told = cmp("a cat", "the dog has", epsilon=5e5).err
    assert "epsilon 500,000 = 2,500,000 per" in told
    assert "smallest 1,000,000, median 1,250,000, largest 1,500,000." in told
    assert "epsilon 0.25 = 0.5 per" in cmp("a cat", epsilon=0.25).err


def test_one_is_singular() -> None:
    guarantee = mechanism("cmp(epsilon=5)").guarantee
    one, two = release_cost(guarantee, 1, 1, 1), release_cost(guarantee, 2, 2, 2)
    assert str(one).endswith("(1 word x 1 variant); no guarantee for 1 word that passed unchanged")
    assert str(two).endswith(
        "(2 words x 2 variants); no guarantee for 2 words that passed unchanged"
    )
    assert one.caveat.endswith("1 word passed unchanged by policy, outside any guarantee.")


def test_one_word_that_passed(cmp: Cmp) -> None:
    told = cmp("the cat", "--select", "content").err
    assert (
        "1 word released unchanged (not selected, or kept by policy): the cost does not cover it."
        in told
    )
