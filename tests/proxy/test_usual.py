"""What a search uses unless the user says otherwise."""

from pathlib import Path

import pytest
from tests.cover.conftest import bag as bag
from tests.cover.conftest import table as table
from tests.cover.conftest import texts as texts

from veil.core.errors import InputError, ParameterError
from veil.cover import Table
from veil.data.fetch import Report
from veil.proxy.settings import SIZE, usual_mechanism, usual_size
from veil.search.locality import Locality
from veil.text.mechanisms.catalogue import mechanism
from veil.text.mechanisms.queries.blind import Blind
from veil.text.mechanisms.queries.cover import Cover


@pytest.mark.parametrize(
    ("standing", "universe"),
    [("stand-in", "icd10cm"), ("own", "icd10cm"), ("elsewhere", "wordnet")],
)
def test_cover_is_usual_everywhere(standing: Locality, universe: str) -> None:
    selected = mechanism(usual_mechanism(standing))
    assert isinstance(selected, Cover)
    assert selected == Cover(table=universe)


def test_the_table_decides_how_many_are_sent(table: Table, tmp_path: Path) -> None:
    table.save(tmp_path / "t")
    cover = Cover(table=str(tmp_path / "t"))
    assert usual_size(cover, None) == usual_size(cover, 4) == 4
    assert usual_size(cover.model_copy(update={"ahead": 2}), None) == 8
    for size in (1, 5, SIZE):
        with pytest.raises(ParameterError, match="sends all 4 texts of a group or none"):
            usual_size(cover, size)
    with pytest.raises(InputError, match="does not exist. Build a table"):
        usual_size(Cover(table=str(tmp_path / "none")), None)


def test_a_table_that_must_be_built_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    messages: list[str] = []

    def load(path: str, *, report: Report, **_: object) -> Table:
        report(f"building {path}", 0, 0)
        raise InputError("Not here.")

    monkeypatch.setattr("veil.text.mechanisms.queries.cover.load", load)
    with pytest.raises(InputError, match="Not here"):
        usual_size(Cover(), None, lambda what, *_: messages.append(what))
    assert messages == ["building icd10cm"]


def test_others_have_as_many_as_are_asked_for() -> None:
    for spec in ("cmp(epsilon=6)", "aea(level=3)"):
        assert usual_size(mechanism(spec), None) == SIZE == 20
        assert usual_size(mechanism(spec), 7) == 7
    assert usual_size(Blind(count=3), None) == 3
    with pytest.raises(ParameterError, match="sends all 3 texts"):
        usual_size(Blind(count=3), 20)
