"""What is claimed holds for the bytes that leave: files are read back by code of another kind."""

import csv
import json
import math
import random
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st

from veil import tables
from veil.cli import veil
from veil.core.errors import InputError
from veil.tables.blocks import Blocks, protect_blocks
from veil.tables.column import Column, alike, canonical, format_number, read_number
from veil.tables.files import check_claim, read_card, save
from veil.tables.mechanism import Release
from veil.tables.recount import Claim, Recount, Scale
from veil.tables.schema import Source
from veil.tables.table import Table
from veil.web.tables import file_of

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
ipc = pytest.importorskip("pyarrow.ipc")

pytestmark = pytest.mark.filterwarnings("ignore:Nearly all values")
RELEASES = 3_000
ACCOUNTS = [str(10**18 + 7 * i) for i in range(64)]


def starred(column: Column) -> list[list[str]]:
    """Build a hierarchy: the value, or nothing."""
    return [[label, "*"] for label in column.categories] or [["none", "*"]]


# The checker: it shares nothing with Veil, reads rows, and counts them with dictionaries.

Rows = list[tuple[str, ...]]


def read_csv(path: Path) -> Rows:
    with path.open(encoding="utf-8", newline="") as file:
        return [tuple(row) for row in csv.reader(file)]


def of_arrow(table: Any) -> Rows:  # noqa: ANN401 - of pyarrow
    columns = [["" if item is None else repr(item) for item in table[name].to_pylist()]
               for name in table.column_names]  # fmt: skip
    return [tuple(table.column_names), *zip(*columns, strict=True)]


def read_feather(path: Path) -> Rows:
    return of_arrow(ipc.open_file(path).read_all())


def read_parquet(path: Path) -> Rows:
    return of_arrow(parquet.read_table(path))


def meaning(text: str) -> object:
    text = text.strip("'").strip()
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def counted(rows: Rows, qi: list[str], secret: str) -> tuple[int, int, float]:
    """Return k, l and t (equal) of a file."""
    header, *rows = rows
    counts = [header.index(name) for name in qi]
    classes: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for row in rows:
        classes[tuple(row[at] for at in counts)].append(row[header.index(secret)])
    whole = Counter(value for values in classes.values() for value in values)
    distances = [
        sum(abs(values.count(value) / len(values) - n / len(rows)) for value, n in whole.items())
        for values in classes.values()
    ]
    least = min(len({meaning(v) for v in values} - {""}) for values in classes.values())
    return min(map(len, classes.values())), least, max(distances) / 2


POOLS: list[list[Any]] = [
    ["180", "180.0", "+180", " 180", "1.8e2", "18e1", "7", "7.00"],
    ["2139", "02139", "2139.0", "1"],
    [0.0, -0.0, 1.5, None, math.nan],
    ["0", "-0.0", "-0", "0.0", "3"],
    [*ACCOUNTS[:5], f"{ACCOUNTS[0]}.0", int(ACCOUNTS[1])],
    ["flu", "flu ", "FLU", "gout", "", None, " "],
    ["caf\u00e9", "cafe\u0301", "a,b", 'say "x"', "two\nlines", "=1+1", "*"],
    ["0.1", "0.10000000000000001", ".1", "0.10", "0.3000000000000000000001", "0.3"],
    ["F", "M"],
    [1, 2, 2.0, "2", "2.0", True],
]
METHODS = ("ola", "incognito", "exhaustive", "mondrian")


def random_table(rng: random.Random) -> tuple[Table, str]:
    """Draw a small table and a spec."""
    n = rng.randint(4, 24)
    names = ["a", "b", "c"][: rng.randint(1, 3)]
    columns: dict[str, list[Any]] = {}
    for name in [*names, "s"]:
        pool = rng.choice(POOLS)
        subset = rng.sample(pool, rng.randint(1, min(4, len(pool))))
        columns[name] = rng.choices(subset, k=n)
    parameters = {"k": rng.randint(1, 4)}
    extra = ""
    if parameters["k"] == 1 or rng.random() < 0.4:
        extra += f", l={rng.randint(1, 3)}"
    if rng.random() < 0.4:
        extra += f", t={rng.choice([0.1, 0.3, 0.5])}"
    method = rng.choice(METHODS)
    if method != "mondrian":
        extra += f", suppression={rng.choice([0.0, 0.3, 0.6, 0.9])}"
    table = tables.load(columns, qi=names, confidential=["s"],
                        hierarchies=dict.fromkeys(names, starred), quiet=True)  # fmt: skip
    return table, f"{method}(k={parameters['k']}{extra})"


def test_three_thousand_releases_keep_their_claims_in_every_format(tmp_path: Path) -> None:
    rng = random.Random(27)
    written: list[tuple[str, Callable[[Path], Rows]]] = [
        ("t.csv", read_csv), ("t.arrow", read_feather), ("t.parquet", read_parquet),
    ]  # fmt: skip
    releases = 0
    while releases < RELEASES:
        table, spec = random_table(rng)
        try:
            release = tables.protect(table, spec)
        except InputError:
            continue
        releases += 1
        claim = release.guarantee
        figures = tables.anonymity(release)
        with (tmp_path / "t.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(release.table.columns)
            columns = [release.table.column(name).texts for name in release.table.columns]
            writer.writerows(
                ["" if text is None else text for text in row]
                for row in zip(*columns, strict=True)
            )
        arrow = release.table.to_arrow()
        parquet.write_table(arrow, tmp_path / "t.parquet")
        with ipc.new_file(tmp_path / "t.arrow", arrow.schema) as sink:
            sink.write_table(arrow)
        for name, read in written:
            k, least, t = counted(read(tmp_path / name), list(table.qi), "s")
            assert k == figures.k >= claim.k, (spec, name)
            assert figures.l is not None
            assert least >= figures.l, (spec, name)
            assert least >= claim.l or ", l=" not in spec, (spec, name)
            assert t <= claim.t + 1e-9, (spec, name)
            assert figures.t_equal == pytest.approx(t, abs=1e-9), (spec, name)


# Values.


@given(st.floats(allow_nan=False, allow_infinity=False))
@example(2.0**-24)  # its shortest form is halfway between two roundings
def test_numbers_are_written_so_that_they_are_read_back(number: float) -> None:
    text = format_number(number)
    assert read_number(text) == number
    assert canonical(text, numeric=True) == text
    assert text != "-0"


@pytest.mark.parametrize("text", ["180", "180.0", "+180", " 180", "1.8e2", "180.", "00180"])
def test_a_number_has_one_form(text: str) -> None:
    assert canonical(text, numeric=True) == "180"


@pytest.mark.parametrize(
    "values",
    [
        ["02139", "2139", "2139.0"],
        [*ACCOUNTS[:3]],
        ["1234567890.12345678901", "1"],
        ["1" * 400, "1"],
    ],
)
def test_codes_stay_as_they_were_read(values: list[str]) -> None:
    column = Column.of_texts(values)
    assert not column.numeric
    assert column.texts.tolist() == values
    assert column.different == len(set(values))


@pytest.mark.parametrize(
    "values", [["0.10000000000000000555", "0.5"], ["100000000000000000000", "1"], ["1e23", "-.5"]]
)
def test_numbers_that_a_double_gives_back_are_numbers(values: list[str]) -> None:
    assert Column.of_texts(values).numeric


def test_whole_numbers_that_no_double_holds_are_codes() -> None:
    assert Column.of([int(value) for value in ACCOUNTS]).different == 64
    assert Column.of(np.array([int(value) for value in ACCOUNTS])).different == 64
    assert Column.of([2**60, 1]).numeric


def test_missing_values_and_signed_zeros_have_one_form() -> None:
    column = Column.of(["", None, " ", math.nan, "x"])
    assert column.texts.tolist() == [None, None, None, None, "x"]
    zeros = Column.of(np.array([0.0, -0.0]))
    assert zeros.different == 1
    assert not np.signbit(zeros.values).any()
    assert not np.signbit(Column(np.array([-1.0, 1.0]) * 0).values).any()


def test_texts_are_of_one_normal_form_and_keep_their_blanks() -> None:
    column = Column.of_texts(["caf\u00e9", "cafe\u0301", "flu ", "flu"])
    assert column.categories == ("caf\u00e9", "flu", "flu ")


def test_values_that_a_person_reads_alike_are_one_for_l() -> None:
    assert len({alike(text) for text in ("flu", "flu ", "FLU", " Flu")}) == 1
    assert len({alike(text) for text in ("2139", "02139", "2139.0")}) == 1
    assert len({alike(text) for text in ACCOUNTS}) == 64


def test_what_a_schema_calls_text_is_text(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("zip,age\n39,039\n39.0,40\n", encoding="utf-8")
    assert tables.load(file).column("zip").numeric
    assert tables.load(file, text=["zip"]).column("zip").categories == ("39", "39.0")
    toml = tmp_path / "s.toml"
    toml.write_text('[columns.zip]\ntype = "text"\n[columns.age]\ntype = "number"\n')
    table = tables.load(file, schema=toml)
    assert not table.column("zip").numeric
    assert table["age"].tolist() == [39.0, 40.0]
    for words, fault in (('"real"', "text or number"), ("3", "text or number")):
        toml.write_text(f"[columns.zip]\ntype = {words}\n")
        with pytest.raises(InputError, match=fault):
            tables.load(file, schema=toml)
    toml.write_text('[columns.zip]\ntype = "number"\n')
    file.write_text("zip\n39\nx\n", encoding="utf-8")
    with pytest.raises(InputError, match="contain only numbers"):
        tables.load(file, schema=toml)
    with pytest.raises(InputError, match="no column 'street'"):
        tables.load(file, text=["street"])
    with pytest.raises(InputError, match="list of column names"):
        tables.load(file, text="zip")


def test_what_arrow_and_parquet_call_text_is_text(tmp_path: Path) -> None:
    columns = {"zip": ["39", "39.0"], "age": [39, 40]}
    parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    for source in (tmp_path / "t.parquet", pa.table(columns)):
        table = tables.load(source, qi=["zip", "age"])
        assert table.column("zip").categories == ("39", "39.0")
        assert table.column("age").numeric


def test_hierarchies_are_matched_by_canonical_numbers() -> None:
    rows = [["39.0", "x", "*"], ["40", "x", "*"], ["39", "x", "*"]]
    table = tables.load({"age": ["39", "39.0", "40.0"]}, qi=["age"], hierarchies={"age": rows})
    assert table.hierarchies["age"].leaves == ("39", "40")
    with pytest.raises(InputError, match="two rows for one value"):
        tables.load({"age": ["39"]}, qi=["age"],
                    hierarchies={"age": [["39", "x", "*"], ["39.0", "y", "*"]]})  # fmt: skip


# The cases.


@pytest.mark.parametrize("method", ["ola", "incognito", "exhaustive"])
@pytest.mark.parametrize(
    "values",
    [
        ACCOUNTS,
        ["2139", "02139", "2139.0"] * 4,
        ["180", "180.0"] * 5,
        ["5", "+5", " 5"] * 4,
    ],
    ids=["accounts", "zips", "decimals", "signs"],
)
def test_a_file_has_the_k_of_its_claim(tmp_path: Path, method: str, values: list[str]) -> None:
    source = tmp_path / "in.csv"
    source.write_text("v,s\n" + "".join(f"{v},x{i % 3}\n" for i, v in enumerate(values)))
    folder = tmp_path / "H"
    folder.mkdir()
    (folder / "v.csv").write_text("".join(f"{v};*\n" for v in dict.fromkeys(values)))
    arguments = [str(source), "-m", f"{method}(k=3)", "--qi", "v", "--hierarchies", str(folder)]
    files = []
    for extra, name in (([], "a.csv"), ([], "a.parquet"), (["--blocks", "4"], "b.csv")):
        out = tmp_path / name
        done = CliRunner().invoke(veil, ["tables", "protect", *arguments, *extra, "-o", str(out)])
        assert done.exit_code == 0, done.output
        files.append(out)
        rows = read_parquet(out) if name.endswith("parquet") else read_csv(out)
        assert min(Counter(row[0] for row in rows[1:]).values()) >= 3
        measured = CliRunner().invoke(veil, ["tables", "measure", str(out)])
        assert measured.exit_code == 0, measured.output
        assert "The claim of the card holds for this file" in measured.output
    assert files[0].read_bytes() == files[2].read_bytes()


def test_blocks_release_what_memory_does_with_spellings(tmp_path: Path) -> None:
    rng = random.Random(3)
    spelled = ["7", "7.0", "+7", "8", " 8", "", "9.50"]
    lines = [f"{rng.choice(spelled)},{rng.choice(['x', 'X ', 'y', ''])},{rng.choice(spelled)}"
             for _ in range(60)]  # fmt: skip
    file = tmp_path / "in.csv"
    file.write_text("q,s,other\n" + "\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "H").mkdir()
    (tmp_path / "H" / "q.csv").write_text("7;*\n8.0;*\n9.5;*\n")
    source = Source(qi=("q",), confidential=("s",), hierarchies=tmp_path / "H")
    for spec in ("ola(k=2, suppression=0.3)", "ola(k=2, l=2, t=0.5, suppression=0.5)"):
        protect_blocks(Blocks.of(file, source, rows=7), spec, tmp_path / "b.csv")
        save(tables.protect(source.opened(file)[0], spec), tmp_path / "m.csv")
        assert (tmp_path / "b.csv").read_bytes() == (tmp_path / "m.csv").read_bytes()


def test_t_holds_for_what_is_released_when_rows_are_suppressed() -> None:
    for seed in range(200):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(8, 20))
        q, s = rng.choice(list("abcd"), n), rng.choice(list("xyz"), n, p=[0.6, 0.3, 0.1])
        rows = [["a", "ab", "*"], ["b", "ab", "*"], ["c", "cd", "*"], ["d", "cd", "*"]]
        table = tables.load({"q": q.tolist(), "s": s.tolist()}, qi=["q"], confidential=["s"],
                            hierarchies={"q": rows}, quiet=True)  # fmt: skip
        try:
            release = tables.protect(table, "ola(k=1, t=0.3, suppression=0.6)")
        except InputError:
            continue
        figures = tables.anonymity(release).t_equal
        assert figures is not None
        assert figures <= 0.3 + 1e-9


@pytest.mark.parametrize(
    "secret", [["", None], ["flu", "FLU"], ["flu", "flu "], ["7", "07"], ["flu", None]]
)
def test_l_is_not_claimed_of_spellings(secret: list[str | None]) -> None:
    table = tables.load({"q": ["a", "a"], "s": secret}, qi=["q"], confidential=["s"],
                        hierarchies={"q": starred}, quiet=True)  # fmt: skip
    for method in ("ola(k=2, l=2)", "mondrian(k=2, l=2)", "ola(k=2, l=1.5, diversity='entropy')"):
        with pytest.raises(InputError):
            tables.protect(table, method)
    assert tables.anonymity(table).l == (1 if secret[0] else 0)


# The file is counted by other code before it gets its name.


def wrong(release: Release, table: Table) -> Release:
    """Return a release whose method went wrong: it has the rows of another table."""
    return Release(table, release.method, release.guarantee, levels=release.levels)


def case(spec: str, secret: list[str]) -> tuple[Release, Table]:
    n = len(secret)
    table = tables.load({"q": ["a"] * n, "s": secret}, qi=["q"], confidential=["s"],
                        hierarchies={"q": starred}, quiet=True)  # fmt: skip
    return tables.protect(table, spec), table


FAULTS = [
    ("ola(k=3)", ["x", "y", "z"], {"q": ["a", "a", "b"]}, "k is 1 and not 3"),
    ("mondrian(k=3)", ["x", "y", "z"], {"q": ["a", "a", "b"]}, "k is 1 and not 3"),
    ("ola(k=2, l=2)", ["x", "y", "x", "y"], {"s": ["x", "X", "x ", "x"]}, "l is 1 and not 2"),
    ("ola(k=2, l=2)", ["x", "y", "x", "y"], {"s": [None, "x", "x", "x"]}, "l is 1 and not 2"),
    ("ola(k=2, l=2, diversity='entropy')", ["x", "y"], {"s": ["x", "x"]}, "l is 1 and not 2"),
    ("ola(k=2, l=2, c=2, diversity='recursive')", ["x", "y"], {"s": ["x", "x"]},
     r"\(2, 2\)-diversity fails"),
    ("ola(k=2, t=0.2)", ["x", "y", "x", "y"], {"q": list("aabb"), "s": list("xxyy")},
     "t is 0.5 and not 0.2"),
]  # fmt: skip


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize(("spec", "secret", "change", "fault"), FAULTS)
def test_a_file_below_its_claim_is_not_written(
    tmp_path: Path, spec: str, secret: list[str], change: dict[str, Any], fault: str, suffix: str
) -> None:
    release, table = case(spec, secret)
    out = tmp_path / f"out{suffix}"
    save(release, out)
    before = out.read_bytes()
    bad = table.changed({name: Column.of(values) for name, values in change.items()})
    with pytest.raises(InputError, match=fault):
        save(wrong(release, bad), out)
    assert out.read_bytes() == before
    with pytest.raises(InputError, match=fault):
        save(wrong(release, bad), tmp_path / f"new{suffix}")
    assert sorted(file.name for file in tmp_path.iterdir()) == [out.name, f"{out.name}.veil.json"]


def test_the_claim_of_a_method_that_nobody_registered_is_counted(tmp_path: Path) -> None:
    release, table = case("ola(k=2, l=2, t=0.4)", ["x", "y", "x", "y"])
    other = Release(
        table.changed({"q": Column.of(list("aabb")), "s": Column.of(list("xxyy"))}),
        "mine(k=2)", release.guarantee,
    )  # fmt: skip
    with pytest.raises(InputError, match="l is 1 and not 2 in 's'; t is 0.5 and not 0.4 in 's'"):
        save(other, tmp_path / "out.csv")


def test_the_page_counts_its_file_too() -> None:
    release, table = case("ola(k=3)", ["x", "y", "z"])
    assert file_of(release, excel_safe=True).count("\n") == 4
    bad = table.changed({"q": Column.of(["a", "a", "b"])})
    with pytest.raises(InputError, match="k is 1 and not 3"):
        file_of(wrong(release, bad), excel_safe=False)


def test_blocks_count_their_files_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "in.csv"
    file.write_text("q,s\na,x\na,y\nb,x\nb,y\n")
    (tmp_path / "H").mkdir()
    (tmp_path / "H" / "q.csv").write_text("a;*\nb;*\n")
    source = Source(qi=("q",), hierarchies=tmp_path / "H")
    monkeypatch.setattr("veil.tables.blocks._labels", lambda *_: {})
    monkeypatch.setattr(
        "veil.tables.blocks.Lookup.released", lambda _, block, __: iter([["a", "x"], ["b", "y"]])
    )
    with pytest.raises(InputError, match="k is 1 and not 2"):
        protect_blocks(Blocks.of(file, source, rows=9), "ola(k=2)", tmp_path / "out.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["H", "in.csv"]


@pytest.mark.parametrize("distance", ["equal", "ordered", "hierarchical"])
def test_the_recount_agrees_with_the_measures(tmp_path: Path, distance: str) -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(6, 30))
        rows = [["x", "X", "*"], ["y", "X", "*"], ["z", "Z", "*"]]
        table = tables.load(
            {"q": rng.choice(list("ab"), n).tolist(), "s": rng.choice(list("xyz"), n).tolist()},
            qi=["q"], confidential=["s"], hierarchies={"s": rows},
        )  # fmt: skip
        table.to_csv(tmp_path / "t.csv")
        figures = tables.anonymity(table)
        t = getattr(figures, f"t_{distance}")
        scale = Scale(table.hierarchies["s"].place, table.hierarchies["s"].rows)
        for limit, fails in ((t + 1e-6, False), (t - 1e-6, True)):
            claim = Claim(("q",), ("s",), figures.k, figures.l, t=limit, distance=distance)
            verdict = Recount.of_file(tmp_path / "t.csv", claim).verdict(claim, {"s": scale})
            assert bool(verdict.faults) == (fails and t > 1e-6)
            assert not verdict.unknown
        claim = Claim(("q",), ("s",), figures.k + 1, (figures.l or 0) + 1)
        assert len(Recount.of_file(tmp_path / "t.csv", claim).verdict(claim).faults) == 2


@pytest.mark.parametrize("distance", ["ordered", "hierarchical"])
@pytest.mark.parametrize("secret", [["=1+1", "flu", "two\nlines", "x"], [1.5, 2.0, 1e16, -0.0]])
def test_values_are_found_in_a_hierarchy_as_files_write_them(
    tmp_path: Path, distance: str, secret: list[Any]
) -> None:
    table = tables.load(
        {"q": ["a"] * 4, "s": secret}, qi=["q"], confidential=["s"],
        hierarchies={"q": starred, "s": starred}, quiet=True,
    )  # fmt: skip
    release = tables.protect(table, f"ola(k=2, t=0.1, distance='{distance}')")
    for name in ("t.csv", "t.parquet"):
        save(release, tmp_path / name, excel_safe=True)
        assert (tmp_path / name).is_file()


def test_a_card_that_is_not_of_its_file_is_refused(tmp_path: Path) -> None:
    release, _ = case("ola(k=3)", ["x", "y", "z"])
    out = tmp_path / "out.csv"
    save(release, out)
    out.write_text("other\n1\n")
    done = CliRunner().invoke(veil, ["tables", "measure", str(out), "--qi", "other"])
    assert done.exit_code == 1
    assert "lacks the column 'q' of the claim on its card" in str(done.exception)


# People who already released files.


def old_card(out: Path, spec: str, kind: str, roles: dict[str, str]) -> None:
    """Write a card as earlier versions did."""
    parameters = {
        "method": spec, "guarantee": f"{kind}: as claimed", "kind": kind, "caveat": "",
        "seeded": False, "note": "", "rows": 5, "suppressed": 0, "synthetic": False, "levels": {},
        "roles": roles, "order": "as in the original", "quality": {},
    }  # fmt: skip
    out.with_name(f"{out.name}.veil.json").write_text(json.dumps(parameters))


@pytest.mark.parametrize("blocks", [[], ["--blocks", "2"]])
def test_measure_says_when_the_claim_of_an_old_file_does_not_hold(
    tmp_path: Path, blocks: list[str]
) -> None:
    out = tmp_path / "old.csv"
    roles = {"zip": "qi", "s": "confidential"}
    zips = [["2139", "02139", "2139.0"], ["180", "180", "180.0"], [*ACCOUNTS[:3]]]
    for values in zips:
        out.write_text("zip,s\n" + "".join(f"{value},{i}\n" for i, value in enumerate(values)))
        old_card(out, "ola(k=3)", "k-anonymity", roles)
        done = CliRunner().invoke(veil, ["tables", "measure", str(out), *blocks])
        assert done.exit_code == 1
        assert "THE CLAIM OF THE CARD DOES NOT HOLD FOR THIS FILE" in done.stdout
        assert "k is 1 and not 3" in done.stdout
        assert "k = 1:" in done.stdout
        assert not any(value in done.output for value in values)
    out.write_text("zip,s\n7,\n7,x\n")
    old_card(out, "mondrian(k=2, l=2)", "k-anonymity", roles)
    done = CliRunner().invoke(veil, ["tables", "measure", str(out), *blocks])
    assert (done.exit_code, "l is 1 and not 2 in 's'" in done.stdout) == (1, True)
    out.write_text("zip,s\n7,x\n7,x\n8,y\n8,y\n")
    old_card(out, "ola(k=2, t=0.4)", "k-anonymity", roles)
    done = CliRunner().invoke(veil, ["tables", "measure", str(out), *blocks])
    assert (done.exit_code, "t is 0.5 and not 0.4 in 's'" in done.stdout) == (1, True)


def test_measure_says_what_it_cannot_check(tmp_path: Path) -> None:
    out = tmp_path / "old.csv"
    out.write_text("zip,s\n7,x\n7,y\n")
    roles = {"zip": "qi", "s": "confidential"}
    old_card(out, "ola(k=2, t=0.4, distance='hierarchical')", "k-anonymity", roles)
    done = CliRunner().invoke(veil, ["tables", "measure", str(out)])
    assert done.exit_code == 0
    assert "Not checked: t of 's'" in done.stdout
    (tmp_path / "H").mkdir()
    (tmp_path / "H" / "s.csv").write_text("x;*\ny;*\n")
    arguments = [
        "tables",
        "measure",
        str(out),
        "--hierarchies",
        str(tmp_path / "H"),
        "--blocks",
        "9",
    ]
    done = CliRunner().invoke(veil, arguments[:-2])
    assert "The claim of the card holds for this file" in done.stdout
    assert (
        "The claim of the card holds for this file" in CliRunner().invoke(veil, arguments).stdout
    )


def test_measure_reads_the_figures_of_a_card_whose_method_is_gone(tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    release, _ = case("ola(k=2, l=2, t=0.4)", ["x", "y", "x", "y"])
    save(release, out)
    path = tmp_path / "out.csv.veil.json"
    card = json.loads(path.read_text())
    card["method"] = "gone(k=2)"
    path.write_text(json.dumps(card))
    done = CliRunner().invoke(veil, ["tables", "measure", str(out)])
    assert "holds for this file: k = 2 in q; l = 2 (distinct) of s; t = 0.4" in done.stdout
    out.write_text("q,s\na,x\na,x\n")
    done = CliRunner().invoke(veil, ["tables", "measure", str(out)])
    assert (done.exit_code, "l is 1 and not 2 in 's'" in done.stdout) == (1, True)
    del card["claim"]
    path.write_text(json.dumps(card))
    done = CliRunner().invoke(veil, ["tables", "measure", str(out)])
    assert "Not checked: this version does not know the mechanism" in done.stdout
    for wrong in ({"columns": 3}, {"k": 2}, [1], {"columns": ["q"], "k": "x"}):
        path.write_text(json.dumps({**card, "claim": wrong}))
        with pytest.raises(InputError, match="not a release card"):
            read_card(out)


def test_zeros_of_two_signs_in_an_old_parquet_file_are_two_values(tmp_path: Path) -> None:
    out = tmp_path / "old.parquet"
    parquet.write_table(pa.table({"q": [0.0, -0.0, 0.0], "s": ["x", "y", "z"]}), out)
    old_card(out, "ola(k=3)", "k-anonymity", {"q": "qi", "s": "confidential"})
    done = CliRunner().invoke(veil, ["tables", "measure", str(out)])
    assert (done.exit_code, "k is 1 and not 3" in done.stdout) == (1, True)


def test_a_card_says_what_is_claimed_given_up_and_what_columns_hold(tmp_path: Path) -> None:
    table = tables.load(
        {"q": ["01", "02", "03"], "age": [30, 40, 50], "s": ["x", "y", "z"]},
        qi=["q"], confidential=["s"], hierarchies={"q": starred}, quiet=True,
    )  # fmt: skip
    out = tmp_path / "out.csv"
    release = tables.protect(table, "ola(k=3, l=2)")
    assert release.given_up == ("q",)
    save(release, out)
    card = json.loads((tmp_path / "out.csv.veil.json").read_text())
    assert card["given_up"] == ["q"]
    assert card["types"] == {"q": "text", "age": "number", "s": "text"}
    assert (card["claim"]["k"], card["claim"]["l"], card["claim"]["columns"]) == (3, 2, ["q"])
    assert read_card(out).types == card["types"]
    check_claim(release, out, ".csv")


def test_protect_says_which_columns_were_given_up(tmp_path: Path) -> None:
    file = tmp_path / "in.csv"
    file.write_text("a,b\nx,1\ny,1\nz,1\n")
    (tmp_path / "H").mkdir()
    (tmp_path / "H" / "a.csv").write_text("x;*\ny;*\nz;*\n")
    (tmp_path / "H" / "b.csv").write_text("1;*\n")
    arguments = ["tables", "protect", str(file), "-m", "ola(k=3)", "--qi", "a,b", "--hierarchies",
             str(tmp_path / "H"), "-o", str(tmp_path / "out.csv")]  # fmt: skip
    for extra in ([], ["--blocks", "2"]):
        done = CliRunner().invoke(veil, [*arguments, *extra])
        assert "Every value of a is now the top" in done.stderr


@pytest.mark.parametrize("attacker", ["homogeneity", "background(excluded=0)"])
def test_attackers_learn_a_value_that_is_spelled_in_two_ways(attacker: str) -> None:
    table = tables.load(
        {"q": ["a", "a", "b", "b", "c", "c"], "s": ["flu", "FLU ", "flu", "gout", None, "flu"]},
        qi=["q"], confidential=["s"],
    )  # fmt: skip
    outcome = tables.attack(table, table, attacker)
    assert outcome.per_record.tolist() == [1, 1, 0, 0, 0, 0]


def test_unique_and_describe_count_what_the_file_has(tmp_path: Path) -> None:
    values = ["180", "180.0", "+180", "7", "07"]
    for spelled, different in ((values[:4], 2), (values, 5), (ACCOUNTS, 64)):
        file = tmp_path / "in.csv"
        file.write_text("v,s\n" + "".join(f"{value},x\n" for value in spelled))
        table = tables.load(file, qi=["v"])
        assert tables.describe(table)["v"].distinct == different
        table.to_csv(tmp_path / "out.csv")
        single = Counter(row[0] for row in read_csv(tmp_path / "out.csv")[1:])
        share = sum(n == 1 for n in single.values()) / len(spelled)
        assert tables.attack(table, table, "unique").risk == share


@pytest.mark.parametrize("door", ["save", "to_csv", "page", "blocks"])
@pytest.mark.parametrize("broken", ["a\rb", "a\r\nb", "\r", "a\r"])
def test_a_carriage_return_in_a_value_makes_no_row(tmp_path: Path, door: str, broken: str) -> None:
    """Python 3.11 writes a lone one without quotes, and readers begin a row there."""
    columns = {"zip": ["11"] * 5 + ["12"] * 5, "note": [*"abcdefghi", broken], "s": list("xy") * 5}
    source, out = tmp_path / "t.jsonl", tmp_path / "out.csv"
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    source.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    table = tables.load(source, qi=["zip"], confidential=["s"], hierarchies={"zip": starred},
                        quiet=True)  # fmt: skip
    release = tables.protect(table, "ola(k=5)")
    if door == "save":
        save(release, out)
    elif door == "to_csv":
        release.table.to_csv(out)
    elif door == "page":
        out.write_bytes(file_of(release, excel_safe=False).encode())
    else:
        levels = tmp_path / "levels"
        levels.mkdir()
        (levels / "zip.csv").write_text("11;*\n12;*\n", encoding="utf-8")
        scopes = Source(qi=("zip",), confidential=("s",), hierarchies=levels)
        protect_blocks(Blocks.of(source, scopes, 3), "ola(k=5)", out)
    lines = read_csv(out)
    assert {len(row) for row in lines} == {3}
    assert counted(lines, ["zip"], "s")[0] == 5
    assert broken.strip() in {row[1].strip() for row in lines}


def test_a_row_of_another_length_is_no_row_of_a_release(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    for text in ("a,b\n1,2\n3\n", "a,b\n1,2\n3,4,5\n"):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match="different lengths"):
            Recount.of_file(file, Claim(("b",), k=2))


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_what_is_no_text_is_refused_without_the_value(tmp_path: Path, name: str) -> None:
    table = tables.load({"zip": ["CANARY\ud800"] * 4}, qi=["zip"], quiet=True)
    with pytest.raises(InputError, match="lone surrogate") as refused:
        save(tables.protect(table, "mondrian(k=2)"), tmp_path / name)
    assert refused.value.__cause__ is None
    assert "CANARY" not in str(refused.value)
    assert not list(tmp_path.iterdir())
