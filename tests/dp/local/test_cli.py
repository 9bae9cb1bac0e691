"""The commands: files in, files and tables out, and nothing of the data in a message."""

import gzip
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from veil.cli.domain import domain_group
from veil.core.errors import VeilError
from veil.dp.local.files import load_reports
from veil.dp.local.memoise import read_key

WORDS = ["fig", "kiwi", "pear", "plum"]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(domain_group("dp"), list(map(str, arguments)))


def refusal(*arguments: object) -> str:
    """Return the sentence with which a command refuses."""
    error = run(*arguments).exception
    assert isinstance(error, VeilError), error
    message = str(error)
    assert message.endswith(".")
    assert "\n" not in message
    assert "xanthippe" not in message
    return message


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "words.csv"
    rows = [f"{WORDS[i % 4 if i % 3 else 0]},{i % 4},u{i % 500}" for i in range(3_000)]
    path.write_text("word,n,who\n" + "\n".join(rows) + "\n", "utf-8")
    return path


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    path.write_bytes(bytes(range(32)))
    path.chmod(0o600)
    return path


def test_words_are_reported_and_counted(table: Path, tmp_path: Path) -> None:
    out, names = tmp_path / "r.npz", tmp_path / "names.txt"
    names.write_text("\n".join([*WORDS, "grape"]), "utf-8")
    told = run("report", table, "-m", "hcms(epsilon=4)", "--column", "word", "-o", out)
    assert told.exit_code == 0, told.exception
    assert "local-dp: epsilon 4, per report" in told.stderr
    assert "NOT PRIVATE" not in told.stderr
    assert load_reports(out).n == 3_000
    found = run("estimate", out, "--candidates", names)
    assert found.exit_code == 0, found.exception
    assert next(line.split()[1] for line in found.stdout.splitlines() if " * " in line) == "fig"
    written = run("estimate", out, "--candidates", names, "-o", tmp_path / "counts.csv")
    assert written.exit_code == 0
    lines = (tmp_path / "counts.csv").read_text().splitlines()
    assert lines[0] == "candidate,count,stderr,significant"
    assert len(lines) == 6


def test_plain_and_packed_files_and_specs(tmp_path: Path) -> None:
    packed = tmp_path / "words.txt.gz"
    packed.write_bytes(gzip.compress("\n".join(WORDS * 5).encode()))
    for name in ("a.npz", "b.npz"):
        told = run("report", packed, "-m", "cms(epsilon=2)", "-o", tmp_path / name, "--seed", 3)
        assert told.exit_code == 0, told.exception
        assert "NOT PRIVATE" in told.stderr
    one, other = (load_reports(tmp_path / name) for name in ("a.npz", "b.npz"))
    assert (one.n, one.seeded) == (20, True)
    assert (one.data == other.data).all()


def test_memoised_numbers_and_their_mean(table: Path, key: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.npz"
    flags = ("--column", "n", "--user", "who", "--key-file", key)
    told = run("report", table, "-m", "one_bit(epsilon=2, high=3)", *flags, "-o", out)
    assert told.exit_code == 0, told.exception
    assert "per person" in told.stderr
    first = load_reports(out)
    assert first.memoised
    found = run("estimate", out, "--mean")
    assert found.stdout.startswith("mean ")
    assert run("report", table, "-m", "one_bit(epsilon=2, high=3)", *flags, "-o",
               out).exit_code == 0  # fmt: skip
    assert (load_reports(out).data == first.data).all()
    other = run("report", table, "-m", "one_bit(epsilon=2, high=3)", *flags, "--question",
                "visits", "-o", out)  # fmt: skip
    assert other.exit_code == 0, other.exception
    assert (load_reports(out).data != first.data).any()
    number = ("report", table, "-m", "one_bit(epsilon=2, high=3)", "--column", "n")
    assert "needs a key" in refusal(*number, "--question", "visits", "-o", out)


def test_names_are_discovered(tmp_path: Path) -> None:
    texts, out = tmp_path / "names.txt", tmp_path / "s.npz"
    texts.write_text("mia\n" * 9_000 + "leo\n" * 6_000, "utf-8")
    spec = "sfp(epsilon=8, length=4, alphabet=aeilmo)"
    assert run("report", texts, "-m", spec, "-o", out, "--seed", 1).exit_code == 0
    found = run("estimate", out, "--discover")
    rows = [line.split()[1] for line in found.stdout.splitlines() if " * " in line]
    assert rows == ["mia", "leo"]


def test_oracles_are_listed() -> None:
    told = run("mechanisms")
    for name in ("grr", "hcms", "rappor", "sfp"):
        assert f"{name}  " in told.stdout
    assert "a single report has 1.074" in run("mechanisms", "rappor").stdout


def test_refusals(table: Path, key: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.npz"
    asked = ("report", "-m", "hcms(epsilon=1)")
    assert "> 0" in refusal(
        "report", "-m", "hcms(epsilon=0)", table, "--column", "word", "-o", out
    )
    assert "--column" in refusal(*asked, table, "-o", out)
    assert "no column" in refusal(*asked, table, "--column", "x", "-o", out)
    assert ".npz" in refusal(*asked, table, "--column", "word", "-o", tmp_path / "r.csv")
    assert "does not exist" in refusal(*asked, table, "-o", tmp_path / "no" / "r.npz")
    assert "cannot memoise" in refusal(
        *asked, table, "--column", "word", "--user", "who", "--key-file", key, "-o", out
    )
    assert "--user" in refusal(*asked, table, "--column", "word", "--key-file", key, "-o", out)
    assert "power of two" in refusal("report", "-m", "hcms(epsilon=1, width=3)", table, "-o", out)
    grr = ("report", "-m", "grr(epsilon=1, size=2)", table, "--column")
    assert "outside this range" in refusal(*grr, "n", "-o", out)
    assert "Row 1 (line 2)" in refusal(*grr, "word", "-o", out)
    assert not out.exists()
    table.rename(tmp_path / "w.npz")
    assert "overwrite the input" in refusal(*asked, tmp_path / "w.npz", "-o", tmp_path / "w.npz")


def test_an_estimate_says_what_it_is_of(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.npz"
    run("report", "-m", "grr(epsilon=1, size=4)", table, "--column", "n", "-o", out)
    every = run("estimate", out)  # of codes all are known
    assert every.exit_code == 0, every.exception
    assert {line.split()[1] for line in every.stdout.splitlines() if "│" in line} == {*"0123"}
    assert "--discover and --mean" in refusal("estimate", out, "--discover", "--mean")
    assert "Call estimate" in refusal("estimate", out, "--mean")
    assert "sfp" in refusal("estimate", out, "--discover")
    names = tmp_path / "names.txt"
    names.write_text("xanthippe\n", "utf-8")
    assert "an integer" in refusal("estimate", out, "--candidates", names)
    assert "damaged" in refusal("estimate", names, "--candidates", names)
    run("report", "-m", "one_bit(epsilon=1, high=4)", table, "--column", "n", "-o", out)
    assert "--mean" in refusal("estimate", out, "--candidates", names)
    assert "--discover and --mean" in refusal("estimate", out)
    assert "without columns" in refusal(
        "report", "-m", "hcms(epsilon=1)", names, "--column", "word", "-o", out
    )


def test_keys_in_files(tmp_path: Path) -> None:
    path = tmp_path / "key"
    with pytest.raises(VeilError, match="Key file .* does not exist"):
        read_key(path)
    path.write_text(bytes(range(32)).hex() + "\n")
    path.chmod(0o600)
    assert read_key(path) == bytes(range(32))
    for octets in (b"", bytes(31), b"z" * 64, bytes(200)):
        path.write_bytes(octets)
        with pytest.raises(VeilError, match="must be 32 bytes"):
            read_key(path)
    if os.name == "posix":
        path.chmod(0o644)
        with pytest.raises(VeilError, match="Other users can read"):
            read_key(path)


def test_a_file_of_candidates_may_be_a_table(table: Path, tmp_path: Path) -> None:
    out, names = tmp_path / "r.npz", tmp_path / "names.csv"
    names.write_text("name,id\nfig,1\nplum,2\n", "utf-8")
    run("report", "-m", "hcms(epsilon=9)", table, "--column", "word", "-o", out)
    found = run("estimate", out, "--candidates", names, "--column", "name")
    assert found.exit_code == 0, found.exception
    assert "plum" in found.stdout
