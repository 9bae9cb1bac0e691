"""``veil cover build`` and ``veil cover show``, and searches with a table that was built."""

import io
import json
import sys
from pathlib import Path

import pytest
from rich.console import Console
from tests.cli.conftest import CANARY, Result, Veil
from tests.cover.conftest import bag as bag
from tests.cover.conftest import table as table
from tests.cover.conftest import texts as texts

from veil.cli import cover as cli_cover
from veil.cover import Table, load
from veil.data.fetch import cache_folder
from veil.proxy.folder import data_folder
from veil.proxy.ledger.ledger import Ledger
from veil.proxy.sticky import StickyVariants
from veil.text.mechanisms.queries.cover import NOT_COVERED, Cover

SMALL = ("--tracks", 4, "--cell", 4)
QUERY = f"{CANARY} skin rare tumour"


@pytest.fixture
def log(texts: list[str], tmp_path: Path) -> Path:
    """A file of queries: the universe."""
    file = tmp_path / "log.txt"
    file.write_text("\n".join(texts) + "\n")
    return file


@pytest.fixture
def folder(table: Table, tmp_path: Path) -> Path:
    table.save(tmp_path / "t")
    return tmp_path / "t"


def holding(needle: str, *folders: Path) -> list[Path]:
    """Return the files that hold a word, in whatever case, also as names."""
    word = needle.encode()
    files = [file for folder in folders for file in folder.rglob("*") if file.is_file()]
    return [f for f in files if word in f.read_bytes().lower() or needle in str(f).lower()]


def test_a_file_of_queries(veil: Veil, log: Path, tmp_path: Path, table: Table) -> None:
    out = tmp_path / "made"
    told = veil("cover", "build", log, *SMALL, "--out", out)
    assert told.code == 0, told.err
    made = load(out)
    assert (made.digest, made.universe) == (table.digest, "log.txt")
    assert "log.txt: 128 texts in 4 topics and 8 groups; 4 texts or a few more" in told.out
    assert "the engine sees one of 8 groups, at most 3 bits per query" in told.out
    assert "in 62.5 % of the cases" in told.out  # ten of the sixteen texts of a group
    assert told.lines[-1] == (f"Search with it: veil search --mechanism 'cover(table={out})' ...")
    assert str(tmp_path) not in (out / "meta.json").read_text()
    again = veil("cover", "build", log, *SMALL, "--out", out)
    assert f"Folder {out} already exists. Delete it" in again.refused()


def test_the_risk_for_so_many_queries(veil: Veil, log: Path, tmp_path: Path) -> None:
    told = veil("cover", "build", log, *SMALL, "--queries", 20_000, "--out", tmp_path / "a")
    assert "If 20,000 queries are equally likely" in told.out
    assert (
        "finds yours within ten guesses with probability at most 0.4 %" in told.out
    )  # 10 x 8 / 20,000


def test_where_it_goes_if_nothing_is_said(
    veil: Veil, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = veil("cover", "build", "--from", "log.txt", *SMALL, "--words", 0, "--sample", 0.5)
    assert told.code == 0, told.err
    made = load(tmp_path / "log.txt-cover")
    assert (len(made), made.L, made.words) == (64, 4, 0)
    assert made.universe == "log.txt, a share of 0.5"
    assert "'cover(table=log.txt-cover)'" in told.out  # a folder has its own number of words


def test_how_often_a_query_is_asked_makes_bands(
    veil: Veil, log: Path, texts: list[str], tmp_path: Path
) -> None:
    log.write_text("\n".join(texts + 3 * texts[:16]) + "\n")
    told = veil("cover", "build", log, *SMALL, "--out", tmp_path / "a")
    bands = load(tmp_path / "a").bands
    assert bands > 1
    assert f"The texts have counts: they are in {bands} popularity bands." in told.out


def test_counts_of_a_table_make_bands(veil: Veil, texts: list[str], tmp_path: Path) -> None:
    rows = "".join(f"{text}\t{4 if i < 16 else 1}\n" for i, text in enumerate(texts))
    (tmp_path / "counted.tsv").write_text(rows)
    told = veil("cover", "build", tmp_path / "counted.tsv", *SMALL, "--out", tmp_path / "a")
    bands = load(tmp_path / "a").bands
    assert bands > 1
    assert f"The texts have counts: they are in {bands} popularity bands." in told.out
    (tmp_path / "plain.tsv").write_text("".join(f"{i}\t{text}\n" for i, text in enumerate(texts)))
    told = veil("cover", "build", tmp_path / "plain.tsv", *SMALL, "--out", tmp_path / "b")
    assert "No counts, or all are equal: there is one popularity band." in told.out


def test_popularity_is_estimated_on_request(veil: Veil, log: Path, tmp_path: Path) -> None:
    out = ("--out", tmp_path / "a")
    told = veil("cover", "build", log, *SMALL, "--popularity", "words", *out)
    found = load(tmp_path / "a")
    assert (told.code, found.popularity) == (0, "words")
    assert "Popularity was estimated from public word frequencies" in told.out
    assert "if all 128 texts of the table are equally likely, and in" in told.out
    assert "if popular ones are likelier, by public frequencies of words" in told.out
    assert (
        "must be one of counts, words"
        in veil("cover", "build", log, "--popularity", "many").refused()
    )


@pytest.mark.parametrize("part", ["passages", "titles", "queries"])
def test_parts_of_a_collection(veil: Veil, texts: list[str], tmp_path: Path, part: str) -> None:
    library = tmp_path / "library"
    library.mkdir()
    docs = [{"id": f"d{i}", "title": text, "text": "more"} for i, text in enumerate(texts)]
    (library / "docs.jsonl").write_text("\n".join(map(json.dumps, docs)))
    asked = [{"id": f"q{i}", "text": f"cure {text}"} for i, text in enumerate(texts[:32])]
    (library / "queries.jsonl").write_text("\n".join(map(json.dumps, asked)))
    (library / "qrels.txt").write_text("q0 0 d0 1\n")
    flags = () if part == "passages" else ("--part", part)  # the default
    told = veil("cover", "build", library, *flags, *SMALL, "--out", tmp_path / "a")
    assert told.code == 0, told.err
    first = {"passages": f"{texts[0]} more", "titles": texts[0], "queries": f"cure {texts[0]}"}
    made = load(tmp_path / "a")
    assert (made.texts[0], made.universe) == (first[part], f"library, {part}")
    none = veil("cover", "build", library, "--part", "log", *SMALL, "--out", tmp_path / "b")
    assert "has no log. Try its passages or titles" in none.refused()
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "Exactly one source of texts is required"),
        (["icd10cm", "--from", "wordnet"], "Exactly one source of texts is required"),
        (["log.txt"], "at least 200 distinct texts for 20 tracks with cells of 10. Got 128"),
        (["log.txt", *SMALL, "--sample", "0.1"], "for 4 tracks with cells of 4. Got 13"),
        (["log.txt", *SMALL, "--sample", "0"], "--sample"),
        (["log.txt", "--tracks", "0"], "--tracks"),
        (["log.txt", "--cell", "0"], "--cell"),
        (["log.txt", *SMALL, "--queries", "0"], "--queries"),
        (["log.txt", *SMALL, "--part", "pages"], "--part"),
        (["log.txt", *SMALL, "--encoder", "miniln"], "No encoder called 'miniln'. Did you mean"),
        (["wordnet", "--part", "titles"], "because it has only one"),
        (["none.txt", *SMALL], "The collection is not a known name, folder or file"),
        (["", *SMALL], "must have a name"),
    ],
)
def test_bad_requests_are_one_sentence(
    veil: Veil,
    log: Path,
    arguments: list[object],
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(log.parent)
    before = set(log.parent.iterdir())
    assert sentence in veil("cover", "build", *arguments).refused()
    assert {file for file in log.parent.iterdir() if file.name != "cache"} <= before


def test_queries_of_the_ledger_are_not_published(
    veil: Veil, log: Path, texts: list[str], folder: Path, tmp_path: Path
) -> None:
    log.write_text("\n".join([*texts, f"  {CANARY}   of the SKIN"]) + "\n")
    with Ledger() as ledger:
        StickyVariants(ledger).take(f"{CANARY} of the skin", Cover(table=str(folder)), None, 4)
    build = ("cover", "build", log, *SMALL, "--out", tmp_path / "made")
    said = veil(*build).refused()
    assert "1 text is a query in your ledger, so the table would publish" in said
    assert not (tmp_path / "made").exists()
    assert holding(CANARY, cache_folder(), data_folder()) == []
    assert veil(*build, "--public").code == 0


def show(veil: Veil, folder: Path, query: str = QUERY) -> Result:
    told = veil("cover", "show", folder, query)
    assert told.code == 0, told.err
    return told


def test_what_would_be_sent_is_shown(veil: Veil, folder: Path, table: Table) -> None:
    told = show(veil, folder)
    address = int(table.address([QUERY])[0])
    assert f"What an engine would see: group {address + 1} of 8, 4 texts" in told.out
    for track, text in enumerate(table.group(address)):
        assert f" {track + 1}  {text} " in told.out
        first = table.texts[table.members(address, track)[0]]
        assert first in told.out
    assert told.out.count("; 1 more") == 4  # three of four are shown
    assert "one of 8 groups, at most 3 bits" in told.out


def test_the_query_from_standard_input(
    veil: Veil, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{QUERY}\n"))
    assert show(veil, folder, "-").out == show(veil, folder).out
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert "The query is empty" in veil("cover", "show", folder, "-").refused()


def test_a_file_is_not_told_which_track_is_the_users(veil: Veil, folder: Path) -> None:
    """All queries of a group look the same, and no word of the query is there."""
    told = show(veil, folder)
    assert "Your topic is shown only on a terminal." in told.out
    assert "*" not in told.out
    assert "Yours" not in told.out
    assert "cosine" not in told.out
    assert CANARY not in (told.out + told.err).lower()
    opened = load(folder)
    members = [opened.texts[i] for i in opened.members(int(opened.address([QUERY])[0]))]
    assert {show(veil, folder, member).out for member in members} == {told.out}


@pytest.mark.parametrize(("query", "far"), [(QUERY, False), ("hautkrebs", True)])
def test_a_terminal_is(
    veil: Veil, folder: Path, table: Table, monkeypatch: pytest.MonkeyPatch, query: str, far: bool
) -> None:
    def terminal() -> Console:
        return Console(
            force_terminal=True, color_system=None, width=300, file=sys.stdout, highlight=False
        )

    monkeypatch.setattr(cli_cover, "stdout", terminal)
    found = table.locate([query])[0]
    out = show(veil, folder, query).out
    assert f"*{found.track + 1}" in out
    assert out.count(f"* Your topic is {found.track + 1}, because of the text") == 1
    assert table.texts[found.nearest] in out
    assert ("The match is weak" in out) == far == (found.cosine < 0.35)
    assert CANARY not in out


def test_nothing_of_a_query_is_written_down(veil: Veil, folder: Path, tmp_path: Path) -> None:
    before = {file: file.read_bytes() for file in folder.iterdir()}
    show(veil, folder)
    assert {file: file.read_bytes() for file in folder.iterdir()} == before
    assert holding(CANARY, tmp_path) == []
    assert not data_folder().exists()


def test_a_table_that_cannot_be_used(veil: Veil, folder: Path, tmp_path: Path) -> None:
    assert "does not exist" in veil("cover", "show", tmp_path / "none", QUERY).refused()
    assert "must be a table" in veil("cover", "show", tmp_path, QUERY).refused()
    data = bytearray((folder / "addresses.npy").read_bytes())
    data[-1] ^= 1
    (folder / "addresses.npy").write_bytes(data)
    assert "must be intact" in veil("cover", "show", folder, QUERY).refused()
    spec = f"cover(table={folder})"
    docs = tmp_path / "docs.jsonl"
    docs.write_text(json.dumps({"id": "d", "text": "skin"}) + "\n")
    base = ("search", "--collection", docs, "--encoder", "none", "--mechanism", spec, QUERY)
    assert "must be intact" in veil(*base).refused()
    assert holding(CANARY, tmp_path) == []


@pytest.fixture
def searching(veil: Veil, folder: Path, texts: list[str], tmp_path: Path) -> Veil:
    """``veil search`` among documents on this machine, with the small table."""
    docs = tmp_path / "docs.jsonl"
    lines = [json.dumps({"id": f"d{i}", "text": text}) for i, text in enumerate(texts)]
    docs.write_text("\n".join(lines) + "\n")
    base = ("search", "--collection", docs, "--encoder", "none")

    def call(*arguments: object) -> Result:
        return veil(*base, "--mechanism", f"cover(table={folder}, stay=1)", *arguments)

    return call


def test_the_screen_of_a_search_with_cover(searching: Veil, table: Table) -> None:
    told = searching(QUERY)
    assert (told.code, told.err) == (0, "")
    address = int(table.address([QUERY])[0])
    assert f"What the engine saw: group {address + 1} of 8, 4 fixed texts" in told.out
    for text in table.group(address):
        assert f"  {text}\n" in told.out
    said = [line for line in told.lines if "The engine learnt which of" in line]
    assert said == [
        "  The engine learnt which of 8 groups was sent and nothing else: at most 3 bits. An"
        " engine that knows everything and sees this group is right within ten guesses in 62.5 %"
        " of the cases if all 128 texts of the table are equally likely; their popularity is"
        " unknown."
    ]
    assert f"  {NOT_COVERED}" in told.lines
    assert "This group had not been sent before. Newly spent: 3 bits; 297 bits are" in told.out
    assert "Cost" not in told.out
    assert "epsilon" not in told.out
    assert CANARY not in told.out
    again = searching(QUERY)
    assert "the engine learnt only that it was requested again." in again.out
    assert "Newly spent: 0 bits; 297 bits are left" in again.out
    assert holding(CANARY, cache_folder(), data_folder()) == []


@pytest.mark.parametrize(("address", "members"), [(0, 48), (2, 32)])
def test_the_screen_tells_how_many_texts_have_the_same_group(
    searching: Veil, table: Table, folder: Path, address: int, members: int
) -> None:
    wide = table.wide(3)  # of the 8 groups two blocks have three, and one has two
    query = wide.texts[wide.members(address)[0]]
    told = searching("--mechanism", f"cover(table={folder}, stay=1, ahead=3)", query)
    assert told.code == 0, told.err
    assert f"{members} texts of the table share this group" in " ".join(told.out.split())


def test_a_group_is_whole_or_not_sent(searching: Veil) -> None:
    assert "sends all 4 texts of a group or none" in searching("--size", 5, QUERY).refused()
    assert searching("--size", 4, QUERY).code == 0


def test_bits_have_a_limit(searching: Veil, table: Table) -> None:
    one, other = (table.texts[table.members(a)[0]] for a in (0, 7))
    assert "; 1 bit is left for 24 hours" in searching("--bits", 4, one).out
    refused = searching("--bits", 4, other).refused()
    assert "would cost 3 bits, but only 1 of the 4 bits for 24 hours" in refused
    assert "Newly spent: 0 bits; 1 bit is left" in searching("--bits", 4, one).out
    assert "no budget is set" in searching("--bits", "none", other).out


@pytest.mark.parametrize("bad", ["0", "-3", "nan", "inf", "many", ""])
def test_bits_that_are_no_limit(searching: Veil, bad: str) -> None:
    said = searching("--bits", bad, QUERY).refused()
    assert "--bits must be a number > 0, or none." in said


def test_one_is_told_as_one(veil: Veil, searching: Veil, log: Path, tmp_path: Path) -> None:
    """Two groups, a bit, and a text in a cell; an engine that is always right."""
    log.write_text("skin rare tumour\nheart mild pain\nlung late injury\nbone early infection\n")
    small = ("--tracks", 2, "--cell", 1, "--out", tmp_path / "two")
    told = veil("cover", "build", log, *small)
    assert "2 groups; 1 text or a few more behind each" in told.out
    assert "one of 2 groups, at most 1 bit per query" in told.out
    assert "right within ten guesses in 100 % of the cases" in told.out
    found = searching("--mechanism", f"cover(table={tmp_path / 'two'})", QUERY)
    assert "and nothing else: at most 1 bit. An engine that knows" in found.out
    assert "if all 4 texts of the table are equally likely" in found.out
    assert "right within ten guesses in 100 % of the cases" in found.out
    assert "Newly spent: 1 bit; 299 bits are left for 24 hours" in found.out


def test_json_tells_of_the_group_and_not_of_the_query(searching: Veil, table: Table) -> None:
    told = searching("--json", QUERY)
    document = json.loads(told.out)
    assert tuple(document["variants"]) == table.group(int(table.address([QUERY])[0]))
    assert (document["cost"]["kind"], document["cost"]["bits"]) == ("leakage", 3)
    assert CANARY not in told.out
