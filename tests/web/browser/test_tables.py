"""The page of tables in a browser: a file opened, its roles chosen, protected, downloaded."""

import csv
import io
import json
from collections import Counter
from pathlib import Path

import pytest
from numpy.random import Generator
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select
from tests.web.browser.driver import Page

JOBS = ("baker", "clerk", "nurse", "tailor")


@pytest.fixture
def clinic(tmp_path: Path, rng: Generator) -> Path:
    """Write eighty patients: some are alone with their age, sex and job."""
    ages, jobs = rng.integers(20, 80, 80).tolist(), rng.integers(0, 4, 80).tolist()
    lines = [
        f"Person {i},{age},{'FM'[i % 2]},{JOBS[job]},{'flu' if i % 3 else 'gout'}"
        for i, (age, job) in enumerate(zip(ages, jobs, strict=True))
    ]
    path = tmp_path / "clinic.csv"
    path.write_text("name,age,sex,job,illness\n" + "\n".join(lines) + "\n")
    return path


ROLES = {
    "name": "identifier", "age": "qi", "sex": "qi", "job": "qi", "illness": "confidential",
}  # fmt: skip


def choose(page: Page, path: Path, roles: dict[str, str] = ROLES) -> None:
    page.open("/tables")
    page.find("#tables-file").send_keys(str(path))
    page.until(lambda: page.count("#tables-columns select") == 5, "the columns")
    for name, role in roles.items():
        give(page, name, role)


def give(page: Page, column: str, role: str) -> None:
    Select(page.find(f'#tables-columns select[data-column="{column}"]')).select_by_value(role)
    page.until(lambda: page.shown("#tables-told") == "", "figures")


def ready(page: Page) -> bool:
    return bool(page.value("#tables-download", "href")) and page.count("#tables-drawn svg") > 0


def along(page: Page, method: str = "mondrian") -> None:
    Select(page.find("#tables-method")).select_by_value(method)
    page.click("#tables-go")
    page.until(lambda: ready(page), "a release")


def test_roles_are_chosen_and_the_risk_is_seen_at_once(page: Page, clinic: Path) -> None:
    choose(page, clinic, dict.fromkeys(ROLES, "other"))
    assert page.head == "Tables"
    assert page.shown("#tables-stand") == "Rows 80"
    assert "the columns that an attacker may know" in page.shown("#tables-empty")
    assert "Nearly unique" in page.shown("#tables-columns")
    assert not page.find("#tables-go").is_displayed()
    give(page, "name", "identifier")
    assert "Nearly unique" not in page.shown("#tables-columns")
    give(page, "sex", "qi")
    alone = page.shown("#tables-stand")
    assert "Unique records 0 (0 %)" in alone
    assert "k = 40" in alone
    assert "Largest class risk 2.5 %" in alone
    give(page, "age", "qi")
    assert "k = 1" in page.shown("#tables-stand")
    assert "Largest class risk 100 %" in page.shown("#tables-stand")
    assert "100 % at most" in page.shown("#tables-stand")
    assert page.count("#tables-sizes svg") == 1
    page.shoot("tables-roles")


def test_the_slider_moves_along_the_plane(page: Page, clinic: Path) -> None:
    choose(page, clinic)
    along(page)
    stops = page.count("#tables-plane .point")
    assert stops == 5
    assert page.count("#tables-plane .point.chosen") == 1
    assert page.texts("#tables-spec") == ["mondrian(k=5)"]
    assert "k-anonymity: k = 5" in page.shown("#tables-cost")
    assert "Confidential values" in page.shown("#tables-caveat")
    assert "illness" in page.shown("#tables-kept")
    assert "k = 5" in page.shown("#tables-figures")
    assert "Utility 0." in page.shown("#tables-figures")
    assert page.texts("#tables-drawn svg > title") == [
        "Records by how many look alike", "age", "sex", "job",
    ]  # fmt: skip
    page.shoot("tables")
    figures = page.shown("#tables-figures")
    page.find("#tables-stop").send_keys(Keys.END)
    page.until(lambda: page.texts("#tables-spec") == ["mondrian(k=20)"] and ready(page), "k = 20")
    assert page.shown("#tables-figures") != figures
    assert page.value("#tables-plane .point.chosen", "data-stop") == "4"
    page.click("#tables-plane .point[data-stop='0']")
    page.until(lambda: "k = 2" in page.shown("#tables-cost") and ready(page), "k = 2")
    assert page.value("#tables-stop", "value") == "0"


def test_what_is_downloaded_is_protected_and_has_a_card(page: Page, clinic: Path) -> None:
    choose(page, clinic)
    along(page)
    text, card = taken(page, "download"), json.loads(taken(page, "card"))
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [*rows[0]] == ["age", "sex", "job", "illness"]
    assert len(rows) == 80
    groups = Counter((row["age"], row["sex"], row["job"]) for row in rows)
    assert min(groups.values()) >= 5
    assert "Person" not in text
    assert "Person" not in page.js("return document.documentElement.outerHTML")
    assert card["guarantee"] == "k-anonymity: k = 5, per record"
    assert (card["seeded"], card["order"], card["dropped"]) == (False, "random", ["name"])


def taken(page: Page, what: str) -> str:
    """Return the file behind a link, as the browser would keep it."""
    link = f"#tables-{what}"
    assert str(page.value(link, "href")).startswith("blob:")
    folder = Path(str(page.driver.capabilities["chrome"]["userDataDir"])) / "tables"
    folder.mkdir(exist_ok=True)
    page.cdp("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    target = folder / str(page.value(link, "download"))
    target.unlink(missing_ok=True)
    page.click(link)
    page.until(lambda: target.is_file() and target.stat().st_size > 0, "the downloaded file")
    return target.read_text()


def test_other_roles_withdraw_what_was_measured(page: Page, clinic: Path) -> None:
    choose(page, clinic)
    along(page, "sample")
    assert page.shown("#tables-cost") == "Nothing is proved."
    give(page, "job", "other")
    assert not page.find("#tables-found").is_displayed()
    assert page.value("#tables-download", "href") in (None, "")
    give(page, "age", "other")
    assert page.js("return document.querySelector('option[value=mdav]').disabled")
    assert not page.js("return document.querySelector('option[value=ola]').disabled")


def test_empty_cells_and_built_hierarchies_are_told(page: Page, clinic: Path) -> None:
    choose(page, clinic)
    along(page, "suppress")
    assert "if a missing value may be any value" in page.shown("#tables-figures")
    assert "cells suppressed" in page.shown("#tables-kept")
    Select(page.find("#tables-method")).select_by_value("ola")
    page.until(lambda: "ola(" in page.texts("#tables-spec")[0] and ready(page), "another method")
    assert "age: intervals(width=5, steps=" in page.shown("#tables-left")
    page.shoot("tables-ola")


def test_a_file_that_cannot_be_read_is_refused_without_quoting_it(
    page: Page, tmp_path: Path, clinic: Path
) -> None:
    page.expected = {422}
    choose(page, clinic)
    bad = tmp_path / "bad.csv"
    bad.write_text("a,b\n1,2\nquokka\n")
    page.find("#tables-file").send_keys(str(bad))
    page.until(lambda: "line 3" in page.shown("#tables-told"), "a sentence")
    assert "quokka" not in page.shown()
    assert not page.find("#tables-opened").is_displayed()
    other = tmp_path / "latin.csv"
    other.write_bytes("a,b\n1,é\n".encode("latin-1"))
    page.find("#tables-file").send_keys(str(other))
    page.until(lambda: "UTF-8" in page.shown("#tables-told"), "another sentence")


def test_a_role_that_cannot_be_leaves_no_figures(page: Page, clinic: Path) -> None:
    page.expected = {422}
    choose(page, clinic)
    Select(page.find('#tables-columns select[data-column="sex"]')).select_by_value("weight")
    page.until(lambda: "weights must be numbers" in page.shown("#tables-told"), "a sentence")
    assert page.shown("#tables-stand") == ""
    assert not page.find("#tables-go").is_displayed()
    give(page, "sex", "qi")
    assert "k = 1" in page.shown("#tables-stand")


def test_on_a_small_dark_screen_nothing_sticks_out(page: Page, clinic: Path) -> None:
    page.look(360, "dark")
    choose(page, clinic)
    along(page)
    assert page.js("return document.documentElement.scrollWidth") <= 360
    page.shoot("tables-small")
