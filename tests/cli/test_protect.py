"""``veil protect``: texts and files in, variants out, and nothing else."""

import csv
import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.conftest import CANARY, WORDS, Result, Veil
from tests.reference import tiny_wordnet

from veil.data.wordnet import wordnet
from veil.mechanisms.queries import aea

COLUMNS = ["id", "variant", "obfuscatedText", "mechanism", "seeded"]
Cmp = Callable[..., Result]


@pytest.fixture
def cmp(veil: Veil, vectors: str) -> Cmp:
    """Protect by CMP with a budget so large that every known word stays what it is."""

    def call(*arguments: object, epsilon: object = 1e6) -> Result:
        return veil("protect", "cmp", "--epsilon", epsilon, "--vectors", vectors, *arguments)

    return call


def stdin(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def queries(tmp_path: Path, rows: int = 3) -> Path:
    path = tmp_path / "q.csv"
    path.write_text("id,text\n" + "".join(f"q{i},The cat has flu {i}\n" for i in range(rows)))
    return path


def test_texts_become_lines(cmp: Cmp) -> None:
    result = cmp("The cat, the DOG!", "a flu", "--size", 2)
    assert result.code == 0
    assert result.lines == ["The cat, the DOG!", "The cat, the DOG!", "a flu", "a flu"]
    assert "2 texts, 6 protected words x 2 variants" in result.err
    assert "epsilon 1e+06 = 1.2e+07 per unit of euclidean distance" in result.err


def test_small_budget_changes_words_but_not_the_layout(cmp: Cmp) -> None:
    result = cmp("cat dog flu, (cancer) paris!", "--size", 20, epsilon=0.1)
    assert len(set(result.lines)) > 10
    for line in result.lines:
        found = re.fullmatch(r"(\S+) (\S+) (\S+), \((\S+)\) (\S+)!", line)
        assert found is not None
        assert set(found.groups()) <= set(WORDS)


def test_unknown_word_never_passes(cmp: Cmp) -> None:
    for extra in ((), ("--unknown", "drop"), ("--unknown", "mask")):
        result = cmp(f"cat {CANARY} dog", *extra)
        assert result.code == 0
        assert CANARY not in result.out + result.err
    assert cmp(f"cat {CANARY} dog", "--unknown", "mask").lines == ["cat [MASK] dog"]
    assert cmp(f"cat {CANARY} dog", "--unknown", "drop").lines == ["cat dog"]
    kept = cmp(f"cat {CANARY} dog", "--unknown", "keep")
    assert kept.lines == [f"cat {CANARY} dog"]
    assert "1 word not selected, or kept by policy, passed unchanged" in kept.err


def test_json_lines(cmp: Cmp) -> None:
    result = cmp("cat", "dog", "--size", 2, "--json")
    found = [json.loads(line) for line in result.lines]
    assert [list(each) for each in found] == [COLUMNS] * 4
    assert [(each["id"], each["variant"]) for each in found] == [
        ("1", 1),
        ("1", 2),
        ("2", 1),
        ("2", 2),
    ]
    assert [each["obfuscatedText"] for each in found] == ["cat", "cat", "dog", "dog"]
    assert {each["mechanism"] for each in found} == {"cmp(epsilon=1000000.0)"}
    assert {each["seeded"] for each in found} == {False}


def read_back(path: Path) -> tuple[list[str], list[list[str]]]:
    """Return the columns and rows of a release, all as strings."""
    if path.suffix == ".parquet":
        table = pq.read_table(path)
        return table.column_names, [list(map(str, row.values())) for row in table.to_pylist()]
    if path.suffix == ".jsonl":
        found = [json.loads(line) for line in path.read_text().splitlines()]
        return list(found[0]), [list(map(str, row.values())) for row in found]
    with path.open(newline="") as file:
        head, *rows = csv.reader(file, delimiter="," if path.suffix == ".csv" else "\t")
    return head, rows


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_file_to_file(cmp: Cmp, tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"out{suffix}"
    options = ("--policy", "number=drop", "--size", 2, "-o", out)
    result = cmp(queries(tmp_path), *options)
    assert (result.code, result.out) == (0, "")
    assert f"3 texts, 12 protected words x 2 variants in {out}." in result.err
    head, rows = read_back(out)
    assert head == COLUMNS
    wanted = [[f"q{i}", str(j), "The cat has flu"] for i in range(3) for j in (1, 2)]
    assert [[*row[:2], row[2].strip()] for row in rows] == wanted


def test_file_to_plain_text(cmp: Cmp, tmp_path: Path) -> None:
    result = cmp(queries(tmp_path), "--policy", "number=keep", "-o", tmp_path / "out.txt")
    assert result.code == 0
    assert (tmp_path / "out.txt").read_text().splitlines() == [
        f"The cat has flu {i}" for i in range(3)
    ]
    assert "3 words not selected, or kept by policy, passed unchanged" in result.err


@pytest.mark.parametrize("name", ["in.tsv", "in.jsonl", "in.parquet", "in.txt"])
def test_every_format_is_read(cmp: Cmp, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name == "in.parquet":
        pq.write_table(pa.table({"text": ["cat", "dog"]}), path)
    else:
        path.write_text(
            {"in.tsv": "7\tcat\n8\tdog\n", "in.jsonl": '"cat"\n"dog"\n'}.get(name, "cat\ndog\n")
        )
    assert cmp(path).lines == ["cat", "dog"]


def test_columns_are_named(cmp: Cmp, tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("key,note,text\nk,dog,cat\n")
    result = cmp(path, "--column", "note", "--id-column", "key", "--json")
    found = json.loads(result.out)
    assert (found["id"], found["obfuscatedText"]) == ("k", "dog")


def test_standard_input(cmp: Cmp, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin(monkeypatch, b"The cat\n\na dog\n")
    assert cmp("-").lines == ["The cat", "", "a dog"]


def test_seed_repeats_and_is_marked(cmp: Cmp) -> None:
    def draw(*extra: object) -> Result:
        return cmp("cat dog flu cancer paris", "--size", 5, "--json", *extra, epsilon=0.5)

    first, second, other = draw("--seed", 7), draw("--seed", 7), draw("--seed", 8)
    assert first.out == second.out
    assert first.out != other.out
    assert {json.loads(line)["seeded"] for line in first.lines} == {True}
    assert "NOT PRIVATE" in first.err
    free, again = draw(), draw()
    assert free.out != again.out
    assert "NOT PRIVATE" not in free.err


def test_originals_only_on_request_and_for_the_owner(cmp: Cmp, tmp_path: Path) -> None:
    path, out = queries(tmp_path), tmp_path / "out.csv"
    assert cmp(path, "-o", out, epsilon=0.1).code == 0
    assert "text" not in read_back(out)[0]
    result = cmp(path, "-o", out, "--with-originals", epsilon=0.1)
    head, rows = read_back(out)
    assert head == ["id", "text", *COLUMNS[1:]]
    assert [row[1] for row in rows] == [f"The cat has flu {i}" for i in range(3)]
    assert out.stat().st_mode & 0o777 == 0o600
    assert "holds the original texts: do not pass it on" in result.err
    shown = cmp("cat", "--with-originals")
    assert shown.lines[0].split("\t") == ["id", "text", *COLUMNS[1:]]


def test_number_of_workers_does_not_change_a_seeded_release(cmp: Cmp, tmp_path: Path) -> None:
    path = queries(tmp_path, 5000)  # more than one batch
    outs = [tmp_path / "one.csv", tmp_path / "two.csv"]
    for workers, out in enumerate(outs, start=1):
        options = ("--seed", 3, "--workers", workers, "-o", out)
        assert cmp(path, *options, epsilon=1).code == 0
    assert outs[0].read_bytes() == outs[1].read_bytes()
    assert len(read_back(outs[0])[1]) == 5000


def test_select_terms_of_a_file(cmp: Cmp, tmp_path: Path) -> None:
    (tmp_path / "terms.txt").write_text("flu\nthe cat\n")
    result = cmp(
        "The cat and a dog and flu", "--select", f"@{tmp_path / 'terms.txt'}", "--size", 50,
        epsilon=0.01,
    )  # fmt: skip
    words = [line.split() for line in result.lines]
    assert {tuple(row[2:6]) for row in words} == {("and", "a", "dog", "and")}
    for place in (0, 1, 6):
        assert len({row[place] for row in words}) > 3
    assert "4 words not selected, or kept by policy, passed unchanged" in result.err


def test_select_content(cmp: Cmp) -> None:
    result = cmp("the cat", "--select", "content", "--size", 50, epsilon=0.01)
    assert {line.split()[0] for line in result.lines} == {"the"}
    assert len({line.split()[1] for line in result.lines}) > 3


def test_policies(cmp: Cmp) -> None:
    text = "cat 42 a@b.org http://x.y/z 4x4 €"
    policies = ["number=keep", "email=mask", "url=drop", "identifier=mask", "symbol=keep"]
    flags = [part for policy in policies for part in ("--policy", policy)]
    assert cmp(text, *flags).lines == ["cat 42 [MASK] [MASK] €"]


def test_mechanism_without_proof_says_so(veil: Veil, vectors: str) -> None:
    result = veil("protect", "wbb", "--epsilon", 10, "--n", 3, "--select", "all", "--vectors", vectors, "cat")  # fmt: skip  # noqa: E501
    assert result.code == 0
    assert "Cost: unbounded" in result.err
    assert "rule a word out" in result.err


def test_flags_take_dashes_and_choices(veil: Veil, vectors: str) -> None:
    result = veil(
        "protect", "mahalanobis", "--epsilon", 1e6, "--lam", 0.5, "--unit-direction", "--json",
        "--vectors", vectors, "cat",
    )  # fmt: skip
    assert json.loads(result.out)["mechanism"] == (
        "mahalanobis(epsilon=1000000.0, lam=0.5, unit_direction=True)"
    )


def test_output_name_may_look_like_markup(cmp: Cmp, tmp_path: Path) -> None:
    out = tmp_path / "[bold]x[red].csv"
    result = cmp("cat", "-o", out)
    assert result.code == 0
    assert str(out) in result.err


def test_long_text_is_not_taken_for_a_file(cmp: Cmp) -> None:
    text = "the cat. " * 60 + "the dog"  # longer than a file name may be, with a dot
    assert cmp(text).lines == [text]


def test_text_that_begins_with_a_dash(cmp: Cmp) -> None:
    assert cmp("--", "-cat").lines == ["-cat"]


# ---- what is refused: one sentence, nothing released, no file


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["cpm", "--epsilon", "1", CANARY], "Name a mechanism first (did you mean 'cmp'?)"),
        ([f"my {CANARY} text"], "Name a mechanism first"),
        (["cmp", CANARY], "The 'epsilon' parameter of cmp is required"),
        (["cmp", "--epsilon", "0", CANARY], "must be a number > 0. Got '0' instead"),
        (["cmp", "--epsilon", "-1", CANARY], "must be a number > 0"),
        (["cmp", "--epsilon", "nan", CANARY], "must be a"),
        (["cmp", "--epsilon", "inf", CANARY], "must be a finite number"),
        (["cmp", "--epsilon", "ten", CANARY], "must be a number"),
        (["cmp", "--epsilon", "1", "--sise", "2", CANARY], "Did you mean --size?"),
        (["cmp", "--epsilon", "1", "--lam", "2", CANARY], "No such option"),
        (["cmp", "--epsilon", "1", f"--my {CANARY}"], "write -- before texts"),
        (["cmp", "--epsilon", "1"], "Missing TEXTS"),
        (["cmp", "--epsilon"], "The option --epsilon is not used as it must be"),
        (
            ["cmp", "--epsilon", "1", "--size", "0", CANARY],
            "--size must be a whole number",
        ),
        (["cmp", "--epsilon", "1", "--seed", "-1", CANARY], "The value of --seed"),
        (["cmp", "--epsilon", "1", "--seed", str(2**70), CANARY], "The value of --seed"),
        (["cmp", "--epsilon", "1", "--unknown", "pass", CANARY], "must be one of random"),
        (["cmp", "--epsilon", "1", "--policy", "number", CANARY], "must look like kind=what"),
        (["cmp", "--epsilon", "1", "--policy", "name=mask", CANARY], "A policy must give one of"),
        (["cmp", "--epsilon", "1", "--policy", "url=pass", CANARY], "A policy must give one of"),
        (["cmp", "--epsilon", "1", "--select", "most", CANARY], "'select' argument must be"),
        (["cmp", "--epsilon", "1", "--select", "pos:nn", CANARY], "names the tag 'nn'"),
        (["cmp", "--epsilon", "1", "--select", "@none.txt", CANARY], "There is no file none.txt"),
        (["cmp", "--epsilon", "1", "--vectors", "glove", CANARY], "no vectors called 'glove'"),
        (["cmp", "--epsilon", "1", "--vectors", "no.txt", CANARY], "no file of vectors no.txt"),
        (["vickrey", "--epsilon", "1", "--noise", "loud", CANARY], "'noise' parameter of vickrey"),
        (["vickrey", "--epsilon", "1", "--k", "2.5", CANARY], "must be a whole number"),
        (["cmp", "--epsilon", "1", "a.csv", CANARY], "either texts or one file"),
        (["cmp", "--epsilon", "1", "none.csv"], "There is no file none.csv; check the path"),
        (["cmp", "--epsilon", "1", f"{CANARY} \udc80"], "Text 1 has a lone surrogate"),
        (["cmp", "--epsilon", "1", "--max-chars", "5", CANARY], "Text 1 has 9 characters, more"),
    ],
)
def test_refused(
    veil: Veil, vectors: str, tmp_path: Path, arguments: list[str], message: str
) -> None:
    at = min(1, len(arguments) - 1)  # after the mechanism
    extra = [] if "--vectors" in arguments or at == 0 else ["--vectors", vectors]
    result = veil("protect", *arguments[:at], *extra, *arguments[at:])
    assert message in result.refused()


BROKEN = {
    "missing column": ("q.csv", f"name,note\n1,{CANARY}\n".encode(), "no column"),
    "no header": ("q.csv", f"{CANARY} has flu\n".encode(), "no column 'text' or 'query'"),
    "ragged": ("q.csv", f"text\n{CANARY},{CANARY}\n".encode(), "Row 2 of q.csv has 2 columns"),
    "empty": ("q.csv", b"", "q.csv holds no texts"),
    "empty text": ("q.txt", b"", "q.txt holds no texts"),
    "junk": ("q.csv", b"\x00\x01\xff" + CANARY.encode(), "is not a line of text (binary data?)"),
    "latin": ("q.txt", CANARY.encode() + b"\xe9\n", "q.txt is not UTF-8 text"),
    "json": ("q.jsonl", f'{{"text": "{CANARY}"'.encode(), "Line 1 of q.jsonl is not JSON"),
    "null": ("q.jsonl", f'{{"text": null, "x": "{CANARY}"}}'.encode(), "has no text"),
    "surrogate": ("q.jsonl", f'"{CANARY} \\ud800"'.encode(), "has a lone surrogate"),
    "id": ("q.jsonl", f'{{"id": "{CANARY} \\ud800", "text": ""}}'.encode(), "lone surrogate"),
    "parquet": ("q.parquet", CANARY.encode(), "is not a Parquet file"),
    "long": ("q.txt", b"cat\n" + CANARY.encode() * 10, "more than the limit of 50"),
}


@pytest.mark.parametrize(
    ("fault", "workers"), [*((fault, 1) for fault in BROKEN), ("long", 2), ("missing column", 2)]
)
def test_broken_file_releases_nothing(cmp: Cmp, tmp_path: Path, fault: str, workers: int) -> None:
    name, content, message = BROKEN[fault]
    (tmp_path / name).write_bytes(content)
    out = tmp_path / "out.csv"
    out.write_text("old")
    before = sorted(tmp_path.iterdir())
    result = cmp(tmp_path / name, "-o", out, "--max-chars", 50, "--workers", workers)
    assert message in result.refused()
    assert sorted(tmp_path.iterdir()) == before
    assert out.read_text() == "old"


def test_failure_in_a_later_batch_leaves_no_file(cmp: Cmp, tmp_path: Path) -> None:
    path = queries(tmp_path, 5000)
    with path.open("a") as file:
        file.write(f"torn {CANARY}\n")
    result = cmp(path, "-o", tmp_path / "out.csv")
    assert "Row 5,002 of q.csv" in result.refused()
    assert not list(tmp_path.glob("*out*"))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("out.xlsx", "must end in one of .csv"),
        ("out", "must end in one of .csv"),
        ("none/out.csv", "There is no folder"),
        ("folder.csv", "is a folder; name a file"),
    ],
)
def test_output_that_cannot_be(cmp: Cmp, tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "folder.csv").mkdir()
    assert message in cmp(CANARY, "-o", tmp_path / name).refused()


def test_folder_as_input(cmp: Cmp, tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    assert "is a folder; name a file of texts" in cmp(tmp_path / "folder.csv").refused()


def test_broken_vectors(veil: Veil, tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_text("cat 1 2\ndog 1\n")
    result = veil("protect", "cmp", "--epsilon", 1, "--vectors", tmp_path / "bad.txt", CANARY)
    assert "Line 2 of bad.txt" in result.refused()


def test_query_mechanisms_have_flags_of_their_own(
    veil: Veil, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny = wordnet(tiny_wordnet.write(tmp_path / "dict"))
    monkeypatch.setattr(aea, "wordnet", lambda: tiny)
    result = veil("protect", "aea", "--size", "3", "--unknown", "drop", "--json", f"{CANARY} 7731")
    assert (result.code, result.out) == (0, "")
    assert "1 text without any variant that may be sent." in result.err
    assert "Cost: unbounded" in result.err
    for flag in ("--vectors", "--select", "--policy", "--seed"):
        assert "No such option" in veil("protect", "aea", flag, "x", CANARY).refused()
