"""The plane that the slider moves along: which stops it has, and where its figures come from."""

import math
import os
import stat
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from tools.measured import joined, trimmed

from veil.core.errors import InputError, LedgerError
from veil.proxy.folder import note_audit, noted_audit
from veil.proxy.settings import Configuration
from veil.proxy.slider import BOUND, SHIPPED, MeasuredPlane, load_plane
from veil.studies.export import read_csv, write_csv
from veil.studies.results import Results, Row
from veil.text.mechanisms import catalogue

posix = pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder of our own, and an empty folder to stand in."""
    monkeypatch.setenv("VEIL_DATA", str(tmp_path / "data"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path


def point(
    spec: str, risk: float, utility: float, size: int = 20, attacker: str = "bayes"
) -> list[Row]:
    """The rows of one configuration, over 80 queries and a log of 500."""
    name, _, value = spec.partition("(epsilon=")
    head = (name, spec, "epsilon", float(value.rstrip(")") or "1"), size)
    first = Row("icd", "", *head, "risk", "lazy", attacker, risk, risk / 2, risk, 80, 0.002)
    ten = replace(first, measure="active", chance=0.02)
    quality = Row("icd", "bm25", *head, "utility", "nDCG@10", "", utility, utility, utility, 80)
    return [first, ten, quality]


PLAIN = Row("icd", "bm25", "plain", "plain", "", 0, 1, "utility", "nDCG@10", "", 0.7, 0.6, 0.8, 80)
FRONT = [
    *point("cmp(epsilon=20)", 0.9, 0.6),
    *point("cmp(epsilon=1)", 0.0, 0.1),
    *point("cmp(epsilon=5)", 0.1, 0.3, size=5),
    *point("tem(epsilon=5)", 0.2, 0.25),  # beaten by cmp(epsilon=5)
    PLAIN,
]


def fit(rows: list[Row]) -> list[Row]:
    """Return an audit that is fit for the slider: of the shipped collection, by two attackers."""
    more = [replace(row, attacker="inference", score=0.0, low=0.0, high=0.0)
            for row in rows if row.kind == "risk"]  # fmt: skip
    return [replace(row, data="icd10cm") for row in [*rows, *more]]


def write(folder: Path, rows: list[Row]) -> Path:
    folder.mkdir(exist_ok=True)
    write_csv(Results("x", tuple(rows)), folder / "results.csv")
    return folder


def settings(plane: MeasuredPlane) -> list[tuple[str, int]]:
    return [(stop.setting.mechanism, stop.setting.size) for stop in plane.stops]


def test_stops_are_what_nothing_beats_from_private_to_useful(tmp_path: Path) -> None:
    plane = load_plane(write(tmp_path / "audit", FRONT))
    assert settings(plane) == [
        ("cmp(epsilon=1)", 20),
        ("cmp(epsilon=5)", 5),
        ("cmp(epsilon=20)", 20),
    ]
    assert [stop.risk.score for stop in plane.stops] == [0.0, 0.1, 0.9]
    assert [stop.utility.score for stop in plane.stops] == [0.1, 0.3, 0.6]
    assert (plane.collection, plane.engine, plane.shipped) == ("icd", "bm25", False)
    assert plane.origin == str(tmp_path / "audit")
    assert plane.plain == PLAIN
    assert "attacked with inference" in plane.note
    assert plane.rows == tuple(FRONT)


def test_a_stop_tells_its_figures(tmp_path: Path) -> None:
    stop = load_plane(write(tmp_path / "audit", FRONT)).stops[1]
    assert stop.log_size == 500
    assert stop.upper == pytest.approx(0.19, abs=0.01)
    message = str(stop)
    assert message.startswith("cmp(epsilon=5) with 5 variants: ")
    assert "out of 500 " in message
    assert "for 10 % of 80 queries" in message
    assert f"at most {math.ceil(1000 * stop.upper) / 10:g} %" in message
    assert "0.30 of 1" in message


def test_the_place_of_a_setting(tmp_path: Path) -> None:
    plane = load_plane(write(tmp_path / "audit", FRONT))
    assert plane.place(Configuration("cmp(epsilon=5)", 5)) == 1
    assert plane.place(Configuration("cmp(epsilon=5)", 20)) is None


def test_the_start_is_private_rather_than_useful(tmp_path: Path) -> None:
    plane = load_plane(write(tmp_path / "audit", FRONT))
    assert plane.default == 1
    assert plane.stops[1].upper < BOUND < plane.stops[2].upper
    risky = load_plane(write(tmp_path / "audit", point("cmp(epsilon=9)", 0.5, 0.5)))
    assert risky.default == 0


def test_the_bound_decides_where_it_starts_and_not_the_mean(tmp_path: Path) -> None:
    rows = [*point("cmp(epsilon=1)", 0.0, 0.1), *point("cmp(epsilon=5)", BOUND - 0.0125, 0.3)]
    plane = load_plane(write(tmp_path / "audit", rows))
    assert plane.stops[1].risk.score < BOUND < plane.stops[1].upper
    assert plane.default == 0


UNFIT = {
    "nothing is proved": point("wbb(epsilon=1)", 0.0, 0.9),
    "no mechanism on words": point("aea(level=1)", 0.0, 0.9),
    "unknown": point("gone(epsilon=1)", 0.0, 0.9),
    "out of range": point("cmp(epsilon=-1)", 0.0, 0.9),
    "no spec": point("cmp(epsilon=1", 0.0, 0.9),
    "no variant": point("cmp(epsilon=2)", 0.0, 0.9, size=0),
    "too many variants": point("cmp(epsilon=2)", 0.0, 0.9, size=1001),
    "a risk that is none": point("cmp(epsilon=2)", -0.5, 0.9),
    "no risk": point("cmp(epsilon=2)", math.nan, 0.9),
    "no utility": point("cmp(epsilon=2)", 0.0, math.nan),
    "not attacked": point("cmp(epsilon=2)", 0.0, 0.9)[2:],
}


@pytest.mark.parametrize("rows", UNFIT.values(), ids=UNFIT)
def test_what_cannot_be_used_or_proved_is_no_stop(rows: list[Row], tmp_path: Path) -> None:
    plane = load_plane(write(tmp_path / "audit", [*rows, *FRONT]))
    assert settings(plane) == settings(load_plane(write(tmp_path / "other", FRONT)))
    with pytest.raises(InputError, match="must have a configuration for the slider"):
        load_plane(write(tmp_path / "audit", rows))


def test_what_was_spared_the_strongest_attacker_is_no_stop(tmp_path: Path) -> None:
    weak = [
        row for item in FRONT for row in (item, replace(item, attacker="inference", score=0.0))
    ]
    tried = [row for row in weak if row.attacker or row in FRONT]
    spared = point("tem(epsilon=1)", 0.0, 0.9, attacker="inference")
    plane = load_plane(write(tmp_path / "audit", [*spared, *tried]))
    assert "tem(epsilon=1)" not in dict(settings(plane))
    assert len(plane.stops) == 3


def test_who_was_spared_any_other_attacker_is_told(tmp_path: Path) -> None:
    restored = replace(FRONT[0], kind="recovery", measure="queries", attacker="reconstruct")
    plane = load_plane(write(tmp_path / "audit", [*FRONT, restored]))
    assert ": reconstruct." in plane.stops[0].warning
    assert plane.stops[2].warning == ""


def test_a_query_that_is_restored_needs_no_log(tmp_path: Path) -> None:
    restored = replace(
        FRONT[6], kind="recovery", measure="queries", attacker="reconstruct", score=0.5
    )
    plane = load_plane(write(tmp_path / "audit", [*FRONT, restored]))
    assert len(plane.stops) == 4  # an attacker that few faced keeps nobody out
    stop = plane.stops[2]
    assert (stop.risk.attacker, stop.risk.score) == ("reconstruct", 0.5)
    assert stop.log_size is None
    assert "out of" not in str(stop)


def test_a_query_that_is_named_from_a_log_has_its_size(tmp_path: Path) -> None:
    again = replace(FRONT[6], kind="recovery", measure="queries", score=0.15)
    stop = load_plane(write(tmp_path / "audit", [*FRONT, again])).stops[1]
    assert (stop.risk.score, stop.log_size) == (0.15, 500)


def test_of_equal_points_one_is_a_stop(tmp_path: Path) -> None:
    rows = [*point("cmp(epsilon=5)", 0.1, 0.3), *point("tem(epsilon=5)", 0.1, 0.3, size=5)]
    assert settings(load_plane(write(tmp_path / "audit", rows))) == [("tem(epsilon=5)", 5)]


def test_the_first_collection_and_engine_are_taken(tmp_path: Path) -> None:
    other = [replace(row, data="other") for row in point("cmp(epsilon=5)", 0.0, 0.9)]
    dense = [replace(row, task="dense", score=0.9) for row in FRONT if row.task]
    plane = load_plane(write(tmp_path / "audit", [*FRONT, *other, *dense]))
    assert [stop.utility.score for stop in plane.stops] == [0.1, 0.3, 0.6]
    assert plane.rows == tuple(FRONT)


def test_the_last_audit_is_noted_for_its_owner_alone_and_used(tmp_path: Path) -> None:
    assert noted_audit() is None
    folder = write(tmp_path / "audit", fit(FRONT))
    note_audit(folder)
    write(Path("veil-report"), fit(point("tem(epsilon=1)", 0.0, 0.1)))
    plane = load_plane()
    assert plane.origin == str(folder)
    assert plane.note == ""
    if os.name == "posix":
        target = tmp_path / "data" / "last-audit"
        assert stat.S_IMODE(target.stat().st_mode) == 0o600
        assert stat.S_IMODE(target.parent.stat().st_mode) == 0o700


def test_an_audit_is_noted_by_its_whole_path(tmp_path: Path) -> None:
    odd = Path("an\naudit") if os.name == "posix" else Path("an audit")
    note_audit(write(odd, fit(FRONT)))
    assert noted_audit() == tmp_path / "here" / odd
    assert load_plane().origin == str(tmp_path / "here" / odd)


def test_without_a_last_audit_the_report_here_is_used(tmp_path: Path) -> None:
    note_audit(tmp_path / "gone")
    here = write(Path("veil-report"), fit(FRONT))
    assert load_plane().origin == str(here.absolute())


def test_a_broken_last_audit_is_told_and_passed_over(tmp_path: Path) -> None:
    folder = write(tmp_path / "audit", FRONT)
    note_audit(folder)
    (folder / "results.csv").write_text("name,age\nx,3\n")
    plane = load_plane()
    assert plane.shipped
    assert str(folder) in plane.note
    assert "not a table of a report" in plane.note
    with pytest.raises(InputError, match="not a table of a report"):
        load_plane(folder)


BROKEN = {
    "empty": b"",
    "foreign": b"a,b\n1,2\n",
    "binary": b"\x00\xff\xfe" * 100,
    "no number": SHIPPED.read_bytes().split(b"\n", 1)[0] + b"\na,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p\n",
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_a_named_folder_that_cannot_be_used_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_bytes(content)
    with pytest.raises(InputError, match=r"audit"):
        load_plane(tmp_path)


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Run 'veil audit' first"):
        load_plane(tmp_path / "none")
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be read"):
        load_plane(tmp_path / "file")


def test_a_table_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("veil.proxy.slider._LARGEST", 100)
    with pytest.raises(InputError, match="at most 100 bytes"):
        load_plane(write(tmp_path / "audit", FRONT))


@posix
def test_a_table_that_others_may_have_written_must_be_named(tmp_path: Path) -> None:
    folder = write(Path("veil-report"), FRONT)
    (folder / "results.csv").chmod(0o666)
    plane = load_plane()
    assert plane.shipped
    assert "Other users can write" in plane.note
    assert not load_plane(folder).shipped


@posix
@pytest.mark.parametrize("content", [b"relative/path", b"/a\0b", b"", b"/" * 70_000])
def test_a_note_that_names_no_folder_is_told(content: bytes, tmp_path: Path) -> None:
    note_audit(tmp_path)
    (tmp_path / "data" / "last-audit").write_bytes(content)
    plane = load_plane()
    assert plane.shipped
    assert "must name a folder" in plane.note


@posix
def test_a_note_that_others_can_read_is_told(tmp_path: Path) -> None:
    note_audit(write(tmp_path / "audit", FRONT))
    (tmp_path / "data" / "last-audit").chmod(0o644)
    plane = load_plane()
    assert plane.shipped
    assert "chmod go-rwx" in plane.note


@posix
def test_a_data_folder_that_others_can_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o755)
    with pytest.raises(LedgerError, match="chmod"):
        note_audit(tmp_path)


def test_the_shipped_plane_serves() -> None:
    plane = load_plane()
    assert plane.shipped
    assert plane.origin == "shipped with Veil"
    assert plane.note == ""
    assert len(plane.stops) >= 3
    assert plane.stops[plane.default].setting.mechanism.startswith("cover(table='icd10cm'")
    for item, after in pairwise(plane.stops):
        assert item.risk.score < after.risk.score
        assert item.utility.score < after.utility.score
    for stop in plane.stops:
        assert catalogue.mechanism(stop.setting.mechanism).guarantee.kind != "none"
        assert stop.risk.score <= stop.upper <= 1
        assert stop.log_size
    assert 0 <= plane.default < len(plane.stops)
    assert plane.plain is not None
    assert plane.stops[plane.default].upper < BOUND


def test_the_shipped_table_names_no_file() -> None:
    text = SHIPPED.read_text(encoding="utf-8")
    assert not any(sign in text for sign in ("/", "\\", "~"))
    assert {row.kind for row in read_csv(SHIPPED)} <= {"utility", "risk", "recovery", "similarity"}


def test_of_two_looks_at_a_risk_the_worse_one_ships() -> None:
    view = replace(FRONT[0], kind="recovery", measure="queries", score=0.4)
    again = replace(view, score=0.6)
    for looks in ([[view], [again]], [[again], [view]], [[view, again]]):
        assert joined(looks) == (again,)


def test_what_ships_is_what_the_page_needs_and_names_no_file() -> None:
    words = replace(FRONT[0], kind="recovery", measure="words")
    other = replace(FRONT[2], measure="recall@100")
    local = [replace(row, spec="fea(index='/home/me/index')") for row in FRONT[:3]]
    fewer = replace(FRONT[0], kind="recovery", measure="queries", size=2)
    assert trimmed([*FRONT, words, other, *local, fewer]) == tuple(FRONT)


def test_the_shipped_stops_can_be_asked_for_and_tell_of_queries_in_clear() -> None:
    plane = load_plane(SHIPPED)
    assert plane.shipped
    assert all(stop.clear is not None for stop in plane.stops)
    clear = [stop.clear.score for stop in plane.stops if stop.clear]
    assert clear[0] < clear[-1]


def test_a_last_audit_that_is_gone_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "report"
    folder.mkdir()
    note_audit(folder)
    plane = load_plane()
    assert plane.shipped
    assert "is gone" in plane.note


LACKS = {
    "10 queries": [replace(row, n=10) for row in fit(FRONT)],
    "attacked with inference": [replace(row, data="icd10cm") for row in FRONT],
    "attacked with bayes": [replace(row, attacker=row.attacker and "inference", data="icd10cm")
                    for row in FRONT],
    "for other with bm25": [replace(row, data="other") for row in fit(FRONT)],
    "with dense": [replace(row, task=row.task and "dense") for row in fit(FRONT)],
}  # fmt: skip


@pytest.mark.parametrize("words", LACKS)
def test_an_audit_that_is_not_fit_leaves_the_shipped_slider(words: str, tmp_path: Path) -> None:
    folder = write(tmp_path / "audit", LACKS[words])
    note_audit(folder)
    plane = load_plane()
    assert plane.shipped
    assert words in plane.note
    assert f"{folder} is not used for the slider" in plane.note
    explicit = load_plane(folder)  # its owner wants it
    assert not explicit.shipped
    assert words in explicit.note


def test_a_configuration_that_was_spared_an_attacker_is_told(tmp_path: Path) -> None:
    rows = [row for row in fit(FRONT)
            if (row.attacker, row.spec) != ("inference", "cmp(epsilon=5)")]  # fmt: skip
    note_audit(write(tmp_path / "audit", rows))
    assert "attacked with inference" in load_plane().note
