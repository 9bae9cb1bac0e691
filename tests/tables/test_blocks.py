"""Tables in files, block by block: the same releases as in memory, and what is refused."""

import csv
import json
import stat
from pathlib import Path
from typing import Any

import pytest
from tests.tables.people import PERSON, written

from veil import tables
from veil.core.errors import InputError
from veil.tables import blocks
from veil.tables.blocks import Blocks, Written, protect_blocks
from veil.tables.files import read_card
from veil.tables.schema import Source

N = 300
QI = ("age", "sex", "district")


def source(path: Path, **more: Any) -> Source:  # noqa: ANN401 - as Source has them
    parameters: dict[str, Any] = {"identifiers": ("name",), "qi": QI, "confidential": ("illness",)}
    return Source(**parameters | more, hierarchies=path.parent / "levels")


def rows(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def by_blocks(path: Path, method: str, out: Path, **given: Any) -> Written:  # noqa: ANN401
    return protect_blocks(Blocks.of(path, source(path), 7), method, out, **given)


def in_memory(path: Path, method: str, out: Path) -> tables.Release:
    table, _ = source(path).opened(path)
    release = tables.protect(table, method)
    release.table.to_csv(out)
    return release


def parts(path: Path, folder: Path) -> Path:
    """Share the rows of a file out over three files."""
    folder.mkdir()
    header, *lines = path.read_text(encoding="utf-8").splitlines()
    for number in range(3):
        mine = "\n".join([header, *lines[number * 100 : (number + 1) * 100]])
        (folder / f"part-{number}.csv").write_text(mine + "\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    "method",
    [
        "ola(k=5, suppression=0.1)",
        "ola(k=5, suppression=0.1, minimise=dm)",
        "ola(k=3, suppression=0.2, minimise=ncp)",
        "incognito(k=5)",
        "exhaustive(k=4, suppression=0.1, minimise=entropy)",
        "ola(k=3, l=2, suppression=0.3)",
        "ola(k=3, t=0.3, suppression=0.3)",
        "generalise(level=1)",
        "recode(width=7)",
        "rounding(base=5)",
        "top(value=50)",
        "bottom(value=25)",
    ],
)
def test_blocks_release_what_memory_does(method: str, tmp_path: Path) -> None:
    path = written(tmp_path, N)
    release = by_blocks(path, method, tmp_path / "blocks.csv")
    whole = in_memory(path, method, tmp_path / "whole.csv")
    assert rows(tmp_path / "blocks.csv") == rows(tmp_path / "whole.csv")
    assert (release.rows, release.suppressed) == (len(whole), whole.suppressed)
    assert (release.guarantee, dict(release.levels)) == (whole.guarantee, dict(whole.levels))
    assert not release.seeded


def test_missing_values_are_missing_in_every_block(tmp_path: Path) -> None:
    path = written(tmp_path, N)
    lines = path.read_text(encoding="utf-8").splitlines()
    gaps = [line.replace(",F,", ",,").replace(",N1,", ",?,") for line in lines]
    path.write_text("\n".join(gaps) + "\n", encoding="utf-8")
    roles = source(path, missing=("?",))
    for number, method in enumerate(("ola(k=5, suppression=0.2)", "generalise(level=2)")):
        out = tmp_path / f"{number}.csv"
        if number:  # sex has one level alone
            roles = source(path, missing=("?",), qi=("age", "district"))
        protect_blocks(Blocks.of(path, roles, 7), method, out)
        tables.protect(roles.opened(path)[0], method).table.to_csv(tmp_path / "whole.csv")
        assert rows(out) == rows(tmp_path / "whole.csv")


def test_files_of_a_folder_are_one_table(tmp_path: Path) -> None:
    path = written(tmp_path, N)
    folder = parts(path, tmp_path / "parts")
    roles = source(path)
    release = protect_blocks(
        Blocks.of(folder, roles), "ola(k=5, suppression=0.1)", tmp_path / "out"
    )
    in_memory(path, "ola(k=5, suppression=0.1)", tmp_path / "whole.csv")
    files = sorted((tmp_path / "out").iterdir())
    assert [file.name for file in files] == ["part-0.csv", "part-1.csv", "part-2.csv"]
    joined = rows(files[0]) + rows(files[1])[1:] + rows(files[2])[1:]
    assert joined == rows(tmp_path / "whole.csv")
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o700
    assert release.guarantee.k == 5
    with pytest.raises(InputError, match="already"):
        protect_blocks(Blocks.of(folder, roles), "ola(k=5)", tmp_path / "out")


def test_nothing_is_released_that_identifies_and_the_card_says_what_was_done(
    tmp_path: Path,
) -> None:
    path = written(tmp_path, N)
    out = tmp_path / "out.csv"
    by_blocks(path, "ola(k=5, suppression=0.1)", out)
    card = tmp_path / "out.csv.veil.json"
    assert PERSON not in out.read_text(encoding="utf-8") + card.read_text(encoding="utf-8")
    for file in (out, card):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    content = json.loads(card.read_text(encoding="utf-8"))
    assert content["rows"] == len(rows(out)) - 1
    assert content["kind"] == "k-anonymity"
    assert not content["synthetic"]
    assert read_card(out).method.startswith("ola(k=5, ")


def test_draws_are_of_each_row_and_a_seed_is_marked(tmp_path: Path) -> None:
    path = written(tmp_path, N)
    spec = "random_response(epsilon=1)"
    seeded = [by_blocks(path, spec, tmp_path / f"{i}.csv", seed=3) for i in range(2)]
    fresh = [by_blocks(path, spec, tmp_path / f"{i}.csv") for i in (2, 3)]
    texts = [(tmp_path / f"{i}.csv").read_text(encoding="utf-8") for i in range(4)]
    assert texts[0] == texts[1]
    assert len(set(texts[1:])) == 3
    assert seeded[0].seeded
    assert not fresh[0].seeded
    assert json.loads((tmp_path / "0.csv.veil.json").read_text(encoding="utf-8"))["note"]
    assert fresh[0].guarantee.kind == "local-dp"
    assert "other columns are unchanged" in fresh[0].guarantee.caveat
    before, after = rows(path), rows(tmp_path / "2.csv")
    same = [a[3] == b[2] for a, b in zip(before[1:], after[1:], strict=True)]
    assert 0.2 < sum(same) / N < 0.8  # e/(e + 3) = 0.475
    blocks = [same[at : at + 7] for at in range(0, N - 7, 7)]
    assert len({tuple(row) for row in blocks}) > 10  # no block repeats the draws of another


def test_a_claim_counts_gaps_of_all_blocks(tmp_path: Path) -> None:
    path = written(tmp_path, N)
    text = path.read_text(encoding="utf-8")
    last = text.rstrip().rsplit("\n", 1)[1].split(",")
    last[3] = ""
    path.write_text(text + ",".join(last) + "\n", encoding="utf-8")
    release = by_blocks(path, "random_response(epsilon=1)", tmp_path / "out.csv")
    assert release.guarantee.kind == "none"


def test_measures_and_counts_are_those_of_memory(tmp_path: Path) -> None:
    path = written(tmp_path, N)
    roles = source(path)
    table, _ = roles.opened(path)
    for columns in (path, parts(path, tmp_path / "parts")):
        result = Blocks.of(columns, roles, 11)
        assert result.anonymity() == tables.anonymity(table)
        cells = result.tabulate(["district", "illness"])
        expected = tables.tabulate(table, by=["district", "illness"])
        assert (cells.values == expected.values).all()
        assert cells.categories == expected.categories


@pytest.mark.parametrize(
    "method", ["mdav(k=3)", "mondrian(k=3)", "noise()", "swap()", "top(share=0.1)",
               "pram(p=0.8, invariant=true)", "sample(rate=0.5)", "tree(epsilon=1)"],
)  # fmt: skip
def test_what_needs_all_rows_at_once_is_refused(method: str, tmp_path: Path) -> None:
    path = written(tmp_path, N)
    with pytest.raises(InputError, match="needs all rows at once"):
        by_blocks(path, method, tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


def test_categories_that_a_block_may_lack_must_be_declared(tmp_path: Path) -> None:
    path = written(tmp_path, N)
    with pytest.raises(InputError, match="must be declared"):
        by_blocks(path, "pram(p=0.8)", tmp_path / "out.csv", columns=["illness"])


def test_what_cannot_be_met_leaves_nothing(tmp_path: Path) -> None:
    path = written(tmp_path, N)
    with pytest.raises(InputError, match="fewer than k"):
        by_blocks(path, "ola(k=301)", tmp_path / "out.csv")
    with pytest.raises(InputError, match="no column 'agee'"):
        protect_blocks(Blocks.of(path, source(path, qi=("agee",))), "ola(k=2)", tmp_path / "o.csv")
    assert {file.name for file in tmp_path.iterdir()} == {"town.csv", "levels"}


def test_known_columns_that_are_not_masked_void_the_claim(tmp_path: Path) -> None:
    path = written(tmp_path, N)
    release = by_blocks(path, "ola(k=2, suppression=0.5)", tmp_path / "out.csv", columns=["age"])
    assert release.guarantee.kind == "none"


def test_a_file_that_changes_between_its_readings_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, N)
    roles = Blocks.of(path, source(path))
    roles.partitions  # noqa: B018 - opened now
    text = path.read_text(encoding="utf-8")
    path.write_text(text + text.splitlines()[1] + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="changed while it was read"):
        protect_blocks(roles, "ola(k=2, suppression=0.5)", tmp_path / "out.csv")
    monkeypatch.setattr(blocks, "MOST", 10)
    with pytest.raises(InputError, match="more than 10 distinct combinations"):
        by_blocks(path, "ola(k=2, suppression=0.5)", tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()
