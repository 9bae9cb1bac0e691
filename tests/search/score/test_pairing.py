"""Which run belongs to which variants, and what both were made with."""

from pathlib import Path

import pytest
from tests.search.score.material import write_run, write_variants

from veil.core.errors import InputError
from veil.search.score.points import paired, point_of, points_in, read_manifest
from veil.text.variants import VariantTable


def table(mechanism: str = "", parameter: str = "", value: str = "") -> VariantTable:
    return VariantTable(("1",), ("a b",), (("c d",),), mechanism, parameter, value)


@pytest.mark.parametrize(
    ("found", "file", "wanted"),
    [
        (table("CMP", "epsilon", "10"), "x.csv", ("cmp", "epsilon", 10.0, "cmp(epsilon=10)")),
        (table("FEA", "level", "12"), "x.csv", ("fea", "window", 12.0, "fea(window=12)")),
        (table("Mine", "epsilon", "2"), "x.csv", ("Mine", "epsilon", 2.0, "Mine(epsilon=2)")),
        (
            table("vickrey(epsilon=5.0, t=0.75)"),
            "x.csv",
            ("vickrey", "epsilon", 5.0, "vickrey(epsilon=5.0, t=0.75)"),
        ),
        (table(), "dl19_CMP_12.5.csv.gz", ("cmp", "parameter", 12.5, "cmp(parameter=12.5)")),
        (table("Mine"), "x.csv", ("Mine", "", 0.0, "Mine")),
    ],
)
def test_a_point_is_named_by_its_columns_or_its_file(
    found: VariantTable, file: str, wanted: tuple[str, str, float, str]
) -> None:
    point = point_of(found, Path(file))
    assert (point.name, point.parameter, point.value, point.spec) == wanted


def test_what_cannot_be_named_is_refused() -> None:
    with pytest.raises(InputError, match="CMP_10.csv"):
        point_of(table(), Path("variants.csv"))
    for value in ("high", "nan", "inf"):
        with pytest.raises(InputError, match="is not a number"):
            point_of(table("CMP", "epsilon", value), Path("x.csv"))


def names(folder: Path, *runs: str) -> dict[str, str]:
    files = sorted((folder / "variants").iterdir())
    given = [folder / "runs" / run for run in runs]
    return {str(p): p.run.name for p in paired(points_in(files), given) if p.run}


def test_runs_are_found_by_mechanism_and_value(folder: Path) -> None:
    every = sorted(run.name for run in (folder / "runs").iterdir())
    assert names(folder, *every) == {
        "cmp epsilon=1": "set_CMP_1.run",
        "cmp epsilon=10": "set_CMP_10.run",
        "Mine epsilon=1": "set_Mine_1.run",
        "Mine epsilon=10": "set_Mine_10.run",
    }
    other = "10-bm25.cmp-eps1.0.txt"  # numbers before the mechanism say nothing of it
    (folder / "runs" / "set_CMP_1.run").rename(folder / "runs" / other)
    assert names(folder, other, *every[1:])["cmp epsilon=1"] == other


def test_a_name_that_only_holds_the_mechanism_is_another(folder: Path) -> None:
    for one in ("variants", "runs"):
        for file in (folder / one).glob("*Mine*"):
            file.unlink()
    (folder / "runs" / "set_CMP_1.run").rename(folder / "runs" / "other_VickreyCMP_1.run")
    with pytest.raises(InputError, match="No run matches cmp epsilon=1"):
        names(folder, "other_VickreyCMP_1.run", "set_CMP_10.run")


def test_runs_that_fit_nothing_or_too_much_are_told(folder: Path) -> None:
    every = sorted(run.name for run in (folder / "runs").iterdir())
    write_run(folder / "runs" / "later_cmp_99.run", 3)
    with pytest.raises(InputError, match="later_cmp_99.run belongs to no variants"):
        names(folder, *every, "later_cmp_99.run")
    for file in (folder / "variants").iterdir():
        file.rename(file.with_stem(f"of-{file.stem}"))
    write_run(folder / "runs" / "later_cmp_1.run", 3)
    with pytest.raises(InputError, match="2 runs match cmp epsilon=1"):
        names(folder, *every, "later_cmp_1.run")


def manifest(folder: Path, text: str) -> Path:
    (folder / "pairs.csv").write_text(text)
    return folder / "pairs.csv"


def test_a_manifest_names_the_pairs(folder: Path) -> None:
    text = (
        "variants,run,mechanism,parameter,value\n"
        "variants/set_CMP_1.csv,runs/set_Mine_1.run,,,\n"
        "variants/set_CMP_10.csv,runs/set_CMP_10.run,Other,k,7\n"
    )
    first, second = read_manifest(manifest(folder, text))
    assert (str(first), first.run) == ("cmp epsilon=1", folder / "runs" / "set_Mine_1.run")
    assert (str(second), second.spec) == ("Other k=7", "Other(k=7)")


def test_a_manifest_says_which_part_of_a_file_is_meant(folder: Path) -> None:
    both = folder / "variants" / "both.csv"
    write_variants(both, "CMP", 1, 0)
    write_variants(folder / "more.csv", "CMP", 2, 0)
    both.write_text(both.read_text() + (folder / "more.csv").read_text().partition("\n")[2])
    line = "variants,run,value\nvariants/both.csv,runs/set_CMP_1.run,{}\n"
    (point,) = read_manifest(manifest(folder, line.format("2.0")))
    assert str(point) == "cmp epsilon=2"
    with pytest.raises(InputError, match="Got 2 matches"):
        read_manifest(manifest(folder, line.format("")))
    with pytest.raises(InputError, match="Got 0 matches"):
        read_manifest(manifest(folder, line.format("3")))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("variants,value\na,b\n", "columns variants and run"),
        ("variants,run\nvariants/set_CMP_1.csv,\n", "a file of variants and a run"),
        ("variants,run\n", "is empty"),
        ("variants,run\nnowhere.csv,x.run\n", "does not exist"),
    ],
)
def test_a_manifest_that_cannot_be_used(folder: Path, text: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        read_manifest(manifest(folder, text))
