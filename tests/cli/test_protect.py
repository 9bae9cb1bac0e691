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

from veil.corpus.wordnet import wordnet
from veil.data import files
from veil.text.mechanisms.queries import aea
from veil.text.variants import read_variants

COLUMNS = ["id", "variant", "obfuscatedText", "mechanism", "seeded"]
MINE = f"my {CANARY}"
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
    assert "epsilon 1,000,000 = 12,000,000 per unit of euclidean distance" in result.err


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
    assert "1 word released unchanged (not selected, or kept by policy)" in kept.err


def test_json_lines(cmp: Cmp) -> None:
    result = cmp("--text", "cat", "--text", "dog", "--size", 2, "--json")
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
    wanted = [[str(i + 1), str(j), "The cat has flu"] for i in range(3) for j in (1, 2)]
    assert [[*row[:2], row[2].strip()] for row in rows] == wanted


def test_file_to_plain_text(cmp: Cmp, tmp_path: Path) -> None:
    result = cmp(queries(tmp_path), "--policy", "number=keep", "-o", tmp_path / "out.txt")
    assert result.code == 0
    assert (tmp_path / "out.txt").read_text().splitlines() == [
        f"The cat has flu {i}" for i in range(3)
    ]
    assert "3 words released unchanged (not selected, or kept by policy)" in result.err


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
    for flag in ("--id", "--id-column"):
        result = cmp(path, "--column", "note", flag, "key", "--json")
        found = json.loads(result.out)
        assert (found["id"], found["obfuscatedText"]) == ("k", "dog")
        assert "Column 'key' released unprotected." in result.err


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
    assert "contains the original texts. Do not share it" in result.err
    shown = cmp("a cat", "--with-originals")
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
    assert "4 words released unchanged (not selected, or kept by policy)" in result.err


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
    result = veil("protect", "wbb", "--epsilon", 10, "--n", 3, "--select", "all", "--vectors", vectors, "--text", "cat")  # fmt: skip  # noqa: E501
    assert result.code == 0
    assert "Cost: unbounded" in result.err
    assert "rule out a word" in result.err


def test_flags_take_dashes_and_choices(veil: Veil, vectors: str) -> None:
    result = veil(
        "protect", "mahalanobis", "--epsilon", 1e6, "--lam", 0.5, "--unit-direction", "--json",
        "--vectors", vectors, "--text", "cat",
    )  # fmt: skip
    assert json.loads(result.out)["mechanism"] == (
        "mahalanobis(epsilon=1000000.0, lam=0.5, unit_direction=True)"
    )


def test_output_name_may_look_like_markup(cmp: Cmp, tmp_path: Path) -> None:
    out = tmp_path / "[bold]x[red].csv"
    result = cmp("a cat", "-o", out)
    assert result.code == 0
    assert str(out) in result.err


def test_long_text_is_not_taken_for_a_file(cmp: Cmp) -> None:
    text = "the cat. " * 60 + "the dog"  # longer than a file name may be, with a dot
    assert cmp(text).lines == [text]


def test_text_that_begins_with_a_dash(cmp: Cmp) -> None:
    assert cmp("--", "-a cat").lines == ["-a cat"]
    assert cmp("--text", "-cat").lines == ["-cat"]


# ---- what leaves beside the variants


PEOPLE = ["id", "text", "mail", "ward"]


def people(tmp_path: Path, suffix: str) -> Path:
    """Write a file of which every column but one would give somebody away."""
    path = tmp_path / f"in{suffix}"
    rows = [[f"{CANARY}{i}@a.org", "The cat has flu", f"{CANARY}-{i}", f"w{i}"] for i in (1, 2)]
    if suffix == ".parquet":
        table = pa.table(dict(zip(PEOPLE, map(list, zip(*rows, strict=True)), strict=True)))
        pq.write_table(table.replace_schema_metadata({"pandas": CANARY, CANARY: "x"}), path)
    elif suffix == ".jsonl":
        path.write_text(
            "".join(json.dumps(dict(zip(PEOPLE, row, strict=True))) + "\n" for row in rows)
        )
    else:
        mark = "," if suffix == ".csv" else "\t"
        path.write_text("".join(mark.join(row) + "\n" for row in [PEOPLE, *rows]))
    return path


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("extra", [(), ("--with-originals",)])
def test_rows_are_numbered_and_nothing_else_leaves(
    cmp: Cmp, tmp_path: Path, suffix: str, extra: tuple[str, ...]
) -> None:
    path, out = people(tmp_path, suffix), tmp_path / f"out{suffix}"
    result = cmp(path, "-o", out, *extra)
    assert CANARY.encode() not in out.read_bytes()
    assert "released unprotected" not in result.err
    head, rows = read_back(out)
    assert head == ["id", *(["text"] if extra else []), *COLUMNS[1:]]
    assert [row[0] for row in rows] == ["1", "2"]
    if extra:
        (table,) = read_variants(out)
        assert (table.ids, table.rows[0]) == (("1", "2"), ("The cat has flu",))


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("target", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_columns_leave_when_they_are_named(
    cmp: Cmp, tmp_path: Path, suffix: str, target: str
) -> None:
    path, out = people(tmp_path, suffix), tmp_path / f"out{target}"
    result = cmp(path, "-o", out, "--keep", "ward", "--size", 2)
    assert CANARY.encode() not in out.read_bytes()
    assert "Column 'ward' released unprotected." in result.err
    head, rows = read_back(out)
    assert head == [*COLUMNS, "ward"]
    assert [(row[0], row[-1]) for row in rows] == [
        ("1", "w1"),
        ("1", "w1"),
        ("2", "w2"),
        ("2", "w2"),
    ]
    result = cmp(path, "-o", out, "--id", "ID", "--keep", "ward", "--keep", "mail")
    assert "Columns 'ID', 'ward', 'mail' released unprotected." in result.err
    assert [(row[0], *row[-2:]) for row in read_back(out)[1]] == [
        (f"{CANARY}{i}@a.org", f"w{i}", f"{CANARY}-{i}") for i in (1, 2)
    ]


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--keep", "text"], "adds its own column 'text'"),
        (["--column", "mail", "--keep", "mail"], "'mail' contains the texts"),
        (["--id", "text"], "'text' contains the texts"),
        (["--keep", "Variant"], "adds its own column 'variant'"),
        (["--keep", "id"], "adds its own column 'id'"),
        (["--keep", "nobody"], "no column 'nobody' among its 4"),
        (["--id", "nobody"], "no column 'nobody' among its 4"),
    ],
)
def test_columns_that_cannot_leave(
    cmp: Cmp, tmp_path: Path, extra: list[str], message: str
) -> None:
    path, out = people(tmp_path, ".csv"), tmp_path / "out.csv"
    assert message in cmp(path, "-o", out, *extra).refused()
    assert not out.exists()


def test_plain_text_keeps_no_column(cmp: Cmp, tmp_path: Path) -> None:
    path = people(tmp_path, ".csv")
    assert "no columns to keep" in cmp(path, "--keep", "ward").refused()
    assert "released unprotected" not in cmp(path, "--id", "ward").err
    assert "are for files" in cmp("a cat", "--keep", "ward", "--json").refused()


# ---- files as people have them


def test_delimiter_and_encoding(cmp: Cmp, tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    for content in ("ID;Text\n1;the cat, a dog\n", "Text~n\nthe cat, a dog~1\n"):
        extra = ("--delimiter", "~") if "~" in content else ()
        path.write_text(content)
        assert cmp(path, *extra).lines == ["the cat, a dog"]
        path.write_bytes(content.encode("utf-16"))
        assert cmp(path, *extra).lines == ["the cat, a dog"]
        path.write_bytes(content.encode("cp500"))
        assert cmp(path, *extra, "--encoding", "cp500").lines == ["the cat, a dog"]
    assert "one character, tab" in cmp(path, "--delimiter", "ab").refused()
    assert "Unknown encoding" in cmp(path, "--encoding", "x").refused()


def test_cost_of_each_text(cmp: Cmp, tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_text("cat\nthe cat\na cat has flu\nthe dog and the cat\n")
    result = cmp(path, "--size", 2, epsilon=10)
    assert "Per text: smallest 20, median 60, largest 100." in result.err
    assert "Per text" not in cmp("the cat").err


# ---- a mistyped file name is not a text


@pytest.mark.parametrize(
    "argument",
    [
        "notes.docx", "nofile.csv", "nofile.csv.gz", "data.xlsx", "my notes.docx", "./my file.csv",
        "my file.txt", "/no/such file", "~/notes of mine", "../a b", "sub/my notes", "cancer",
        "notes", "sub/notes", "C:\\my notes", "日本", "", "-cat",
    ],
)  # fmt: skip
def test_a_mistyped_file_name_is_refused(
    cmp: Cmp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, argument: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    assert "ass a text" in cmp("--", argument).refused()
    assert cmp("--text", argument).code == 0
    told = cmp("--", argument if " " in argument else f"{argument} ").err
    assert argument not in told or not argument.strip()


def test_a_folder_is_no_text(cmp: Cmp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "my folder").mkdir()
    for name in ("sub", "my folder", ".", "sub/"):
        assert "is a folder. Choose a file of texts, or pass a text" in cmp(name).refused()


@pytest.mark.parametrize(
    "text", ["HIV/AIDS and flu", "What is and/or?", "He said: no.", "cat\ndog", "is a.b it"]
)
def test_texts_that_are_no_file_names(cmp: Cmp, text: str) -> None:
    assert cmp(text).code == 0


def test_a_file_whose_name_has_a_space(
    cmp: Cmp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my cat.csv").write_text("text\nthe dog\n")
    (tmp_path / "a flu").write_text("the dog\n")
    for name in ("my cat.csv", "a flu"):
        assert cmp(name).lines == ["the dog"]
        assert "Texts cannot be combined with a file" in cmp(name, "a cat").refused()
        assert "Texts cannot be combined with a file" in cmp(name, "--text", "cat").refused()


def test_texts_of_both_kinds(cmp: Cmp) -> None:
    assert cmp("a dog", "--text", "cat", "--text", "flu").lines == ["a dog", "cat", "flu"]


# ---- a spec in place of a name


def test_a_spec_gives_the_parameters(veil: Veil, vectors: str) -> None:
    for spec in ("cmp(epsilon=1e6)", "cmp (epsilon = 1e6)"):
        result = veil("protect", spec, "--vectors", vectors, "a cat", "--size", 2, "--json")
        assert [json.loads(line)["mechanism"] for line in result.lines] == [
            "cmp(epsilon=1000000.0)"
        ] * 2
    shown = veil("explain", "tem(epsilon=2, beta=0.1)", "--vectors", vectors, "cat")
    assert "tem(epsilon=2.0, beta=0.1" in shown.out


@pytest.mark.parametrize(
    ("spec", "extra", "message"),
    [
        (
            "cmp(epsilon=5)",
            ["--epsilon", "3"],
            "--epsilon cannot be combined with parameters in brackets",
        ),
        ("vickrey(epsilon=5)", ["--unit-direction"], "--unit-direction cannot be combined"),
        ("cpm(epsilon=5)", [], "Did you mean cmp?"),
        ("cmp(eps=5)", [], "Did you mean 'epsilon'?"),
        ("cmp(", [], "A spec must look like"),
        ("cmp()", [], "'epsilon' parameter of cmp is required"),
        (f"I (maybe) {CANARY}", [], "A mechanism must come first"),
        ("cmp(epsilon=5)", ["--siez", "3"], "Did you mean --size?"),
        ("CMP", [], "Did you mean cmp?"),
    ],
)
def test_a_spec_that_cannot_be(
    veil: Veil, vectors: str, spec: str, extra: list[str], message: str
) -> None:
    arguments = [*extra, MINE] if "maybe" in spec else [*extra, "--vectors", vectors, MINE]
    assert message in veil("protect", spec, *arguments).refused()


# ---- what is refused: one sentence, nothing released, no file


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["cpm", "--epsilon", "1", MINE], "Did you mean cmp?"),
        ([f"my {CANARY} text"], "A mechanism must come first"),
        (["cmp", MINE], "The 'epsilon' parameter of cmp is required"),
        (["cmp", "--epsilon", "0", MINE], "must be a number > 0. Got '0' instead"),
        (["cmp", "--epsilon", "-1", MINE], "must be a number > 0"),
        (["cmp", "--epsilon", "nan", MINE], "must be a"),
        (["cmp", "--epsilon", "inf", MINE], "must be a finite number"),
        (["cmp", "--epsilon", "ten", MINE], "must be a number"),
        (["cmp", "--epsilon", "1", "--sise", "2", MINE], "Did you mean --size?"),
        (["cmp", "--epsilon", "1", "--lam", "2", MINE], "Unknown option"),
        (["cmp", "--epsilon", "1", f"--my {CANARY}"], "Write -- before texts"),
        (["cmp", "--epsilon", "1"], "Missing TEXTS"),
        (["cmp", "--epsilon"], "The option --epsilon is used incorrectly"),
        (
            ["cmp", "--epsilon", "1", "--size", "0", MINE],
            "--size must be an integer",
        ),
        (["cmp", "--epsilon", "1", "--seed", "-1", MINE], "The value of --seed"),
        (["cmp", "--epsilon", "1", "--seed", str(2**70), MINE], "The value of --seed"),
        (["cmp", "--epsilon", "1", "--unknown", "pass", MINE], "must be one of random"),
        (["cmp", "--epsilon", "1", "--policy", "number", MINE], "must be KIND=WHAT"),
        (["cmp", "--epsilon", "1", "--policy", "name=mask", MINE], "A policy must map one of"),
        (["cmp", "--epsilon", "1", "--policy", "url=pass", MINE], "A policy must map one of"),
        (["cmp", "--epsilon", "1", "--select", "most", MINE], "'select' argument must be"),
        (["cmp", "--epsilon", "1", "--select", "pos:nn", MINE], "unknown tag 'nn'"),
        (["cmp", "--epsilon", "1", "--select", "@none.txt", MINE], "File none.txt does not exist"),
        (["cmp", "--epsilon", "1", "--vectors", "glove", MINE], "no vectors called 'glove'"),
        (["cmp", "--epsilon", "1", "--vectors", "no.txt", MINE], "File no.txt does not exist"),
        (["vickrey", "--epsilon", "1", "--noise", "loud", MINE], "'noise' parameter of vickrey"),
        (["vickrey", "--epsilon", "1", "--k", "2.5", MINE], "must be a whole number"),
        (["cmp", "--epsilon", "1", "-", MINE], "Texts cannot be combined with a file"),
        (
            ["cmp", "--epsilon", "1", "none.csv"],
            "File none.csv does not exist. Check the path, or pass",
        ),
        (["cmp", "--epsilon", "1", f"{CANARY} \udc80"], "Text 1 has a lone surrogate"),
        (
            ["cmp", "--epsilon", "1", "--max-chars", "5", MINE],
            "Text 1 must have at most 5 characters",
        ),
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
    "ragged": (
        "q.csv",
        f"text\n{CANARY},{CANARY}\n".encode(),
        "Row 1 (line 2) of q.csv has 2 columns",
    ),
    "empty": ("q.csv", b"", "q.csv contains no texts"),
    "empty text": ("q.txt", b"", "q.txt contains no texts"),
    "junk": ("q.csv", b"\x00\x01\xff" + CANARY.encode(), "is not text"),
    "latin": ("q.txt", CANARY.encode() + b"\xe9\n", "q.txt is not UTF-8 text"),
    "json": (
        "q.jsonl",
        f'{{"text": "{CANARY}"'.encode(),
        "Row 1 (line 1) of q.jsonl is not valid JSON",
    ),
    "null": ("q.jsonl", f'{{"text": null, "x": "{CANARY}"}}'.encode(), "must have a text"),
    "surrogate": ("q.jsonl", f'"{CANARY} \\ud800"'.encode(), "has a lone surrogate"),
    "parquet": ("q.parquet", CANARY.encode(), "is not a valid Parquet file"),
    "long": ("q.txt", b"cat\n" + CANARY.encode() * 10, "must have at most 50 characters"),
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
    assert "Row 5,001 (line 5,002) of q.csv" in result.refused()
    assert not list(tmp_path.glob("*out*"))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("out.xlsx", "must end in one of .csv"),
        ("out", "must end in one of .csv"),
        ("none/out.csv", "none does not exist. Create"),
        ("folder.csv", "is a folder. Choose a file"),
        (".", "is a folder. Choose a file"),
        ("folder.csv/../..", "is a folder. Choose a file"),
        ("none/none/out.csv", "none does not exist. Create"),
        ("old.csv/out.csv", "old.csv does not exist. Create"),
    ],
)
def test_output_that_cannot_be(cmp: Cmp, tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "old.csv").write_text("old")
    assert message in cmp(MINE, "-o", tmp_path / name).refused()


def test_a_folder_in_which_nothing_can_be_written(
    cmp: Cmp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(files, "open_part", denied)
    assert "out.csv (Permission denied)" in cmp(MINE, "-o", tmp_path / "out.csv").refused()


def test_folder_as_input(cmp: Cmp, tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    assert "is a folder. Choose a file of texts" in cmp(tmp_path / "folder.csv").refused()


def test_broken_vectors(veil: Veil, tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_text("cat 1 2\ndog 1\n")
    result = veil("protect", "cmp", "--epsilon", 1, "--vectors", tmp_path / "bad.txt", MINE)
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
        assert "Unknown option" in veil("protect", "aea", flag, "x", MINE).refused()
