"""The commands of tables: from file to file, in words, and what they refuse and never write."""

import csv
import json
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.tables.people import ILLNESSES, PERSON, QI, written

from veil import tables
from veil.cli import veil
from veil.core.errors import InputError, VeilError
from veil.tables.files import card_of, read_card, read_release
from veil.tables.schema import Source, hierarchy_files

ROLES = ["--qi", ",".join(QI), "--confidential", "illness", "--identifiers", "name"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with the town."""
    written(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def invoked(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(veil, ["tables", *map(str, arguments)], catch_exceptions=False)
    return result.exit_code, result.stdout, result.stderr


def run(*arguments: object) -> str:
    """Run a command, and return all that it prints."""
    code, out, err = invoked(*arguments)
    assert code == 0, out + err
    assert PERSON not in out + err
    return out + err


def refused(*arguments: object) -> str:
    """Run a command that must be refused, and return why."""
    result = CliRunner().invoke(veil, ["tables", *map(str, arguments)])
    assert isinstance(result.exception, VeilError), result.output
    assert PERSON not in str(result.exception)
    return str(result.exception)


def roles(*more: str) -> list[str]:
    return [*ROLES, "--hierarchies", "levels", *more]


def protected(spec: str, out: str = "out.csv", *more: str) -> str:
    return run("protect", "town.csv", "-m", spec, *roles(), "-o", out, *more)


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_release_and_its_card_are_written_for_their_owner_alone(folder: Path) -> None:
    output = protected("ola(k=3, suppression=0.3, minimise=precision)")
    assert "k-anonymity: k = 3" in output
    assert "Levels: age" in output
    out = folder / "out.csv"
    rows = rows_of(out)
    assert list(rows[0]) == ["age", "sex", "district", "illness", "wage"]  # no identifier
    for path in (out, card_of(out)):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert PERSON not in path.read_text(encoding="utf-8")
    card = json.loads(card_of(out).read_text(encoding="utf-8"))
    assert card["method"].startswith("ola(k=3")
    assert (card["kind"], card["seeded"], card["order"]) == (
        "k-anonymity", False, "as in the original",
    )  # fmt: skip
    assert card["rows"] == len(rows)
    assert card["suppressed"] == 60 - len(rows)
    assert not set(card) & {"groups", "source", "file"}
    text = json.dumps(card)
    assert not any(word in text for word in ILLNESSES)
    assert sorted(path.name for path in folder.iterdir()) == [
        "levels", "out.csv", "out.csv.veil.json", "town.csv",
    ]  # fmt: skip


def test_a_seed_is_said_everywhere(folder: Path) -> None:
    output = protected("pram(p=0.6)", "out.csv", "--seed", "4")
    assert "NOT PRIVATE" in output
    card = json.loads(card_of(folder / "out.csv").read_text(encoding="utf-8"))
    assert card["seeded"] is True
    assert "NOT PRIVATE" in card["note"]
    assert "NOT PRIVATE" in run("measure", "out.csv")
    first = (folder / "out.csv").read_bytes()
    protected("pram(p=0.6)", "again.csv", "--seed", "4")
    assert (folder / "again.csv").read_bytes() == first
    protected("pram(p=0.6)", "fresh.csv")
    assert (folder / "fresh.csv").read_bytes() != first
    assert read_card(folder / "fresh.csv").seeded is False


def test_rows_can_be_shuffled_and_are_then_not_compared_by_order(folder: Path) -> None:
    assert "--shuffle" in protected("pram(p=0.9)", "kept.csv")
    assert "--shuffle" not in protected("pram(p=0.9)", "mixed.csv", "--shuffle")
    wages = [row["wage"] for row in rows_of(folder / "mixed.csv")]
    true = [row["wage"] for row in rows_of(folder / "town.csv")]
    assert wages != true
    assert sorted(wages) == sorted(true)
    assert "risk" in run("attack", "kept.csv", "--of", "town.csv", *roles())
    assert "never written" in refused("attack", "mixed.csv", "--of", "town.csv", *roles())


def test_several_methods_are_applied_in_order(folder: Path) -> None:
    run("protect", "town.csv", "-m", "recode(width=10)", "-m", "sample(rate=0.5)", *roles(),
        "-o", "out.csv", "--columns", "age")  # fmt: skip
    rows = rows_of(folder / "out.csv")
    assert len(rows) == 30
    assert all(row["age"].startswith("[") for row in rows)


def test_parquet_in_and_out(folder: Path) -> None:
    pytest.importorskip("pyarrow")
    protected("mondrian(k=5)", "out.parquet")
    assert stat.S_IMODE((folder / "out.parquet").stat().st_mode) == 0o600
    t = tables.load(folder / "out.parquet", qi=QI, identifiers=["illness", "wage"])
    assert tables.anonymity(t).k >= 5
    assert "k = " in run("measure", "out.parquet")


def test_formulas_are_quoted_on_request_alone(folder: Path) -> None:
    (folder / "f.csv").write_text("note,n\n=SUM(A1),1\n=SUM(A1),2\n+x,3\n@y,4\n", encoding="utf-8")
    run("protect", "f.csv", "-m", "sample(rate=0.99)", "-o", "plain.csv", "--qi", "n")
    run(
        "protect",
        "f.csv",
        "-m",
        "sample(rate=0.99)",
        "-o",
        "safe.csv",
        "--qi",
        "n",
        "--excel-safe",
    )
    baseline = [row["note"] for row in rows_of(folder / "plain.csv")]
    safe = [row["note"] for row in rows_of(folder / "safe.csv")]
    assert baseline == ["=SUM(A1)", "=SUM(A1)", "+x", "@y"]
    assert safe == [f"'{note}" for note in baseline]


def test_what_cannot_be_done_writes_nothing(folder: Path) -> None:
    before = sorted(folder.iterdir())
    assert "Lower k" in refused(
        "protect", "town.csv", "-m", "ola(k=2, l=9)", *roles(), "-o", "out.csv"
    )
    assert "larger than" in refused(
        "protect", "town.csv", "-m", "suppress(k=61)", *roles(), "-o", "o.csv"
    )
    assert "two roles" in refused(
        "protect", "town.csv", "-m", "mondrian(k=3)", *roles("--qi", "name"), "-o", "out.csv"
    )
    assert "overwrite the input" in refused(
        "protect", "town.csv", "-m", "mondrian(k=3)", *roles(), "-o", "town.csv"
    )
    assert ".csv or .parquet" in refused(
        "protect", "town.csv", "-m", "mondrian(k=3)", *roles(), "-o", "out.xlsx"
    )
    assert "Create it first" in refused(
        "protect", "town.csv", "-m", "mondrian(k=3)", *roles(), "-o", "nowhere/out.csv"
    )
    assert "No mechanism for tables" in refused(
        "protect", "town.csv", "-m", "mondrain(k=3)", *roles(), "-o", "out.csv"
    )
    assert "quasi-identifier" in refused(
        "protect", "town.csv", "-m", "mondrian(k=3)", "-o", "out.csv"
    )
    assert sorted(folder.iterdir()) == before


def test_measure_says_in_words_what_a_reader_sees(folder: Path) -> None:
    protected("mondrian(k=5)")
    output = run("measure", "out.csv")  # roles are on the card
    assert "every row looks like at least" in output
    assert "who knows age, sex, district sees" in output
    assert "Of illness, in the worst class" in output
    assert "precision" not in output or "Quality" in output
    single_column = run("measure", "out.csv", "--qi", "wage")
    assert "k = 1: 60 rows can be distinguished from all others" in single_column
    assert "No confidential column is declared" in single_column
    whole = run("measure", "out.csv", *roles(), "--of", "town.csv")
    assert "discernibility" in whole
    assert "t = " in whole
    assert "k = " in run("measure", "out.csv", "--blank-matches")
    card_of(folder / "out.csv").unlink()
    assert "unknown without --of" in run("measure", "out.csv", "--qi", "age,sex")
    assert "no column 'agee'" in refused("measure", "out.csv", "--qi", "agee").lower()


def test_an_attack_says_the_worst_case_beside_the_average(folder: Path) -> None:
    protected("mondrian(k=5)")
    output = run("attack", "out.csv", "--of", "town.csv", "-a", "linkage", *roles())
    t = Source(("name",), tuple(QI), ("illness",), hierarchies=Path("levels")).opened(
        folder / "town.csv"
    )[0]
    outcome = tables.attack(t, tables.protect(t, "mondrian(k=5)"), "linkage")
    assert f"risk {outcome.risk:.4f} [{outcome.low:.4f}, {outcome.high:.4f}]" in output
    assert f"the worst record: {outcome.per_record.max():.4f}" in output
    assert "blind guess" in output
    text = run("attack", "mondrian(k=5)", "--of", "town.csv", "-a", "linkage", "-a", "homogeneity",
               *roles())  # fmt: skip
    assert output.splitlines()[0] in text
    assert "homogeneity: risk" in text


def test_removed_rows_are_found_again_by_a_method_that_draws_nothing(folder: Path) -> None:
    protected("ola(k=3, suppression=0.3, minimise=precision)")
    assert len(rows_of(folder / "out.csv")) < 60
    arguments = ("--of", "town.csv", *roles())
    output = run("attack", "out.csv", *arguments)
    assert output == run("attack", "ola(k=3, suppression=0.3, minimise=precision)", *arguments)
    protected("ola(k=3, suppression=0.3, minimise=precision)", "mixed.csv", "--shuffle")
    assert output == run("attack", "mixed.csv", *arguments)
    text = (folder / "out.csv").read_text(encoding="utf-8").splitlines()
    (folder / "out.csv").write_text("\n".join(text[:-1]) + "\n", encoding="utf-8")
    assert "never written" in refused("attack", "out.csv", *arguments)
    protected("sample(rate=0.5)", "sample.csv")
    why = refused("attack", "sample.csv", *arguments)
    assert "pass the mechanism instead" in why
    assert "attribute: risk" in run("attack", "sample.csv", "-a", "attribute", *arguments)


def test_hierarchies_beside_the_original_find_removed_rows(folder: Path) -> None:
    spec = "ola(k=3, suppression=0.3, minimise=precision)"
    protected(spec)
    arguments = ["attack", "out.csv", "--of", "town.csv", *ROLES]
    assert "never written" in refused(*arguments)
    for item in ("age", "sex", "district"):
        text = next((folder / "levels").glob(f"*{item}.csv")).read_text("utf-8")
        (folder / f"town_hierarchy_{item}.csv").write_text(text, "utf-8")
    output = run(*arguments)
    assert output.replace(
        "Using the hierarchies next to town.csv. --hierarchies names others.\n", ""
    ) == run("attack", "out.csv", "--of", "town.csv", *roles())
    assert "Using the hierarchies" in output
    assert "cells" in run("loss", "out.csv", "--of", "town.csv", *ROLES)
    for item in ("age", "sex", "district"):
        path = folder / f"town_hierarchy_{item}.csv"
        path.write_text(path.read_text("utf-8").replace(";", ";other "), "utf-8")
    assert "never written" in refused(*arguments)  # others than it was made with
    (folder / "town_hierarchy_sex.csv").write_text("F;*\n", "utf-8")
    assert "never written" in refused(*arguments)  # and one that lacks values is nobody's concern
    (folder / "x_age.csv").write_text("20;*\n", "utf-8")
    assert Source(qi=("age",)).beside(folder / "town.csv").hierarchies is None
    assert Source(qi=("age",), schema=Path("s")).beside(folder / "town.csv").hierarchies is None


def test_an_attack_with_everybody_or_with_others(folder: Path) -> None:
    output = run("attack", "sample(rate=0.5)", "--of", "town.csv", "-a", "journalist", *roles(),
               "--population", "town.csv")  # fmt: skip
    assert "journalist: risk" in output
    number = run("attack", "pram(p=0.99)", "--of", "town.csv", "-a", "unique", *roles(),
                 "--population", "6000", "--seed", "1")  # fmt: skip
    assert "unique: risk" in number
    arguments = ("--of", "town.csv", *roles())
    for people in ("0", "nan"):
        assert "at least one" in refused(
            "attack", "pram(p=0.9)", "-a", "unique", *arguments, "--population", people
        )
    assert "no file and no mechanism" in refused("attack", "nothing.csv", *arguments)
    assert "No attack" in refused("attack", "mondrian(k=3)", "-a", "nobody", *arguments)


def test_loss_by_column_and_overall(folder: Path) -> None:
    protected("mondrian(k=5)")
    output = run("loss", "out.csv", "--of", "town.csv", *roles(), "--target", "illness")
    for word in (
        "direct",
        "contingency",
        "entropy",
        "marginals",
        "cells",
        "accuracy of a classifier of illness",
    ):
        assert word in output
    fewer = run("loss", "sample(rate=0.5)", "--of", "town.csv", *roles(), "--seed", "1")
    assert "share_removed" in fewer
    result = run("loss", "tree(epsilon=3)", "--of", "town.csv", *roles(), "--seed", "1")
    assert "only distributions" in result
    assert "cells" not in result


def test_nothing_is_cut_on_a_narrow_terminal(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del folder
    monkeypatch.setenv("COLUMNS", "80")
    output = run("loss", "noise(scale=0.1)", "--of", "town.csv", *roles(), "--seed", "1")
    assert "…" not in output
    assert "mean_variation" in output
    assert "variances" in output
    assert "…" not in run("describe", "town.csv")


def test_the_plane_is_drawn_and_kept(folder: Path) -> None:
    output = run("plane", "town.csv", "-m", "mondrian(k=3)", "-m", "mondrian(k=15)",
               "-m", "pram(p=0.7)", *roles(),
               "-o", "plane.html", "--workers", "0", "--seed", "2")  # fmt: skip
    assert "mondrian" in output
    page = folder / "plane.html"
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    text = page.read_text(encoding="utf-8")
    assert "Before and after" in text
    assert PERSON not in text
    assert (folder / "plane" / "results.csv").is_file()
    assert "No attack" in refused(
        "plane", "town.csv", "-m", "mondrian(k=3)", *roles(), "-a", "nobody", "--workers", "0"
    )


def test_a_method_is_chosen_and_said_whether_it_is_certified(folder: Path) -> None:
    arguments = ("choose", "town.csv", "-m", "mondrian(k=3)", "-m", "mondrian(k=20)", *roles(),
             "--workers", "0")  # fmt: skip
    code, out, err = invoked(*arguments, "--max-risk", "0.9")
    assert code == 0, err
    assert "with 97.5 % confidence" in out
    code, out, err = invoked(*arguments, "--max-risk", "0.05")
    assert code == 3
    assert "Not certified: mondrian(k=20" in out
    assert "No configuration is certified" in err
    assert "No configuration keeps" in refused(*arguments, "--max-risk", "0.00001")
    code, out, err = invoked(*arguments, "--max-risk", "0.05", "--mean", "--json")
    assert code == 0
    document = json.loads(out[out.index("{") :])
    assert document["best"]["spec"].startswith("mondrian(k=20")


def test_without_a_mechanism_all_that_apply_are_tried(folder: Path) -> None:
    (folder / "ages.csv").write_text("2020,sex\n" + "31,f\n34,m\n52,f\n-9,m\n" * 5)
    arguments = (
        "ages.csv",
        "--qi",
        "2020",
        "--missing",
        "-9,9",
        "--workers",
        "0",
        "--max-risk",
        "1",
    )
    code, out, err = invoked("choose", *arguments, "-o", "report")
    assert code == 0, err
    rows = rows_of(folder / "report" / "results.csv")
    families = {row["spec"].partition("(")[0] for row in rows if row["mechanism"]}
    assert {"mondrian", "mdav", "rank_swap", "noise"} <= families
    assert out.splitlines()[-1] == run("choose", "--max-risk", "1", "--results", "report").strip()
    code, _, err = invoked("choose", "-m", "mdav(k=2)", "--max-risk", "1")
    assert (code, "Missing argument 'TABLE'" in err) == (2, True)
    assert "does not exist" in refused("choose", "--max-risk", "1", "gone.csv").lower()


def test_describe_prints_and_writes_a_draft(folder: Path) -> None:
    output = run("describe", "town.csv", "-o", "schema.toml")
    assert "60 rows" in output
    assert "identifier" in output
    assert "Check wage" in output
    assert "exists already" in refused("describe", "town.csv", "-o", "schema.toml")
    (folder / "out.csv").unlink(missing_ok=True)
    run("protect", "town.csv", "-m", "mondrian(k=5)", "--schema", "schema.toml", "-o", "out.csv")
    assert "name" not in rows_of(folder / "out.csv")[0]


def test_lists_of_mechanisms_and_attacks(folder: Path) -> None:
    del folder
    methods, attackers = run("mechanisms"), run("attacks")
    for name in tables.MECHANISMS.names():
        assert name in methods
    for name in tables.ATTACKS.names():
        assert name in attackers


def test_files_of_hierarchies_are_found_by_the_name_of_the_column(tmp_path: Path) -> None:
    for name in ("adult_hierarchy_age.csv", "sex.csv", "x_sex.csv", "a_town.csv", "b_town.csv"):
        (tmp_path / name).write_text("1;*\n", encoding="utf-8")
    files = hierarchy_files(tmp_path, ["age", "sex", "wage"])
    assert {name: path.name for name, path in files.items()} == {
        "age": "adult_hierarchy_age.csv", "sex": "sex.csv",
    }  # fmt: skip
    with pytest.raises(InputError, match="2 files for the column 'town'"):
        hierarchy_files(tmp_path, ["town"])
    with pytest.raises(InputError, match="does not exist"):
        hierarchy_files(tmp_path / "none", ["age"])


def test_a_broken_card_is_refused(folder: Path) -> None:
    protected("mondrian(k=5)")
    t = Source(qi=tuple(QI)).opened(folder / "town.csv")[0]
    for text in ("{", '{"method": 3}', "[]", '{"method": "x", "seeded": 1, "suppressed": "y"}'):
        card_of(folder / "out.csv").write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match="not a release card"):
            read_release(folder / "out.csv", t, Source())


def test_a_column_of_a_release_that_a_schema_calls_an_identifier_may_be_gone(folder: Path) -> None:
    run("describe", "town.csv", "-o", "schema.toml")
    protected("mondrian(k=5)")
    output = run("measure", "out.csv", "--schema", "schema.toml")
    assert "who knows age, sex, district sees" in output


def test_blocks_protect_measure_and_count(folder: Path) -> None:
    levels = ["--hierarchies", "levels"]
    spec = "ola(k=2, suppression=0.5)"
    output = run("protect", "town.csv", "-m", spec, *ROLES, *levels, "-o", "b.csv", "--blocks", 7)
    run("protect", "town.csv", "-m", spec, *ROLES, *levels, "-o", "w.csv")
    assert (folder / "b.csv").read_text() == (folder / "w.csv").read_text()
    assert "k = 2" in output
    by_blocks = run("measure", "b.csv", "--blocks", 7)
    assert (
        by_blocks.splitlines()
        == run("measure", "b.csv").splitlines()[: len(by_blocks.splitlines())]
    )
    counted = ["count", "town.csv", "sex", "illness", "-m", "round(base=3)"]
    assert run(*counted, "--blocks", 7) == run(*counted)
    assert "needs all rows" in refused(*counted, "--blocks", 7, "--value", "wage")
    assert "needs all rows" in refused(
        "protect", "town.csv", "-m", "mdav(k=3)", *ROLES, "-o", "x.csv", "--blocks", 7
    )
    assert not (folder / "x.csv").exists()


@pytest.mark.parametrize("blocks", [[], ["--blocks", 7]])
def test_protect_says_how_far_it_is(
    folder: Path, monkeypatch: pytest.MonkeyPatch, blocks: list[object]
) -> None:
    calls: list[tuple[str, int, int]] = []

    @contextmanager
    def bar() -> Iterator[Any]:
        yield lambda *what: calls.append(what)

    monkeypatch.setattr("veil.cli.verb.progress_bar", bar)
    long = (folder / "town.csv").read_text().splitlines()
    (folder / "long.csv").write_text("\n".join([long[0], *long[1:] * 40]) + "\n")
    levels = ["--hierarchies", "levels"]
    run("protect", "long.csv", "-m", "ola(k=2)", *ROLES, *levels, "-o", "o.csv", *blocks)
    size = (folder / "long.csv").stat().st_size
    read = [what for what in calls if what[2]]
    assert read
    assert all(0 < done <= total == size for _, done, total in read)
    assert {what[0] for what in calls} >= (
        {"Counting long.csv", "Protecting long.csv"}
        if blocks
        else {"Reading long.csv", "Protecting"}
    )


def test_former_forms_work_and_show_the_form_of_today(folder: Path) -> None:
    del folder
    forms = {
        "protect": ("town.csv", "mondrian(k=5)", *roles(), "-o", "out.csv"),
        "attack": ("town.csv", "out.csv", "linkage", "homogeneity", *roles()),
        "loss": ("town.csv", "out.csv", *roles()),
        "measure": ("out.csv", "--original", "town.csv", *roles()),
        "count": ("town.csv", "sex", "--method", "round(base=3)"),
        "plane": ("town.csv", "mondrian(k=5)", "mondrian(k=9)", *roles(), "--attacker", "linkage",
                  "--workers", "0"),
        "choose": ("town.csv", "mondrian(k=5)", *roles(), "--attacker", "linkage", "--workers",
                   "0", "--max-risk", "0.9"),
    }  # fmt: skip
    for verb, arguments in forms.items():
        code, _, err = invoked(verb, *arguments)
        assert code == 0, err
        assert err.count("will be removed in 0.4") == 1
        assert f"Use: veil tables {verb} " in err
    assert "town.csv" not in err.splitlines()[0]
