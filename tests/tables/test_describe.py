"""Descriptions of tables: what they see, what they propose, and what they never show."""

import stat
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from tests.tables.golden import ADULT, needs_golden
from tests.tables.people import PERSON, columns

from veil import tables
from veil.core.errors import InputError
from veil.tables.column import Column
from veil.tables.describe import Description, infer_kind
from veil.tables.table import Table

pytestmark = pytest.mark.filterwarnings("ignore:Nearly all values")


def described(held: Mapping[str, Sequence[object]] | None = None) -> Description:
    return tables.describe(tables.load(held or columns(200)))


def test_every_column_is_looked_at() -> None:
    description = described()
    name, age, sex = description["name"], description["age"], description["sex"]
    assert (name.distinct, name.uniqueness, name.missing) == (200, 1, 0)
    assert name.entropy == pytest.approx(np.log2(200))
    assert sex.distinct == 2
    assert 0.9 < sex.entropy <= 1
    assert age.kind == "whole numbers"
    assert description["wage"].kind == "numbers"
    assert description["district"].kind == "codes"


def test_no_column_is_guessed_to_be_harmless() -> None:
    description = described()
    roles = {name.name: name.proposal.role for name in description.columns}
    assert roles == {
        "name": "identifier", "age": "qi", "sex": "qi", "district": "qi",
        "illness": "confidential", "wage": "confidential",
    }  # fmt: skip
    assert "other" not in roles.values()
    assert "wage" in description.suspicious  # nearly every row has its own


def test_what_looks_like_a_name_or_a_key_is_pointed_out() -> None:
    description = described(
        {
            "clerkid": [1, 1, 2, 2] * 10,
            "counter": list(range(40)),
            "amount": [float(7919 * i * i % 99_991) for i in range(40)],
            "blank": [None] * 40,
            "same": ["x"] * 40,
            "rare": ["a"] * 39 + ["b"],
            "weight": [1.5] * 40,
            "weight2": [2.5] * 39 + [3.0],
        }
    )
    assert "identifies people" in description["clerkid"].suspicious
    assert description["counter"].proposal.role == "identifier"
    assert description["amount"].proposal.role == "qi"  # whole, but not counted up
    assert "identifies" in description["amount"].suspicious
    assert description["blank"].kind == "empty"
    assert "no value" in description["blank"].suspicious
    assert "the same value" in description["same"].suspicious
    assert "1 of its values occur once" in description["rare"].suspicious
    weights = [name.name for name in description.columns if name.proposal.role == "weight"]
    assert weights == ["weight"]  # a table has one


def test_pairs_that_tell_rows_apart() -> None:
    a, b = np.divmod(np.arange(100), 10)
    description = described(
        {"a": [f"p{i}" for i in a], "b": [f"q{i}" for i in b], "c": ["x", "y"] * 50}
    )
    assert description.together[0] == ("a", "b", 1.0)


@pytest.mark.parametrize(
    ("values", "kind"),
    [(["1987-03-21", "2001-01-01"], "dates"), (["20121", "00185"], "codes"),
     (["A-10", "B 7"], "codes"), (["Rome", "Oslo"], "texts"), (["1.5", "2"], "numbers"),
     (["12", "9"], "whole numbers"), (["", ""], "empty")],
)  # fmt: skip
def test_kinds_of_columns(values: list[str], kind: str) -> None:
    assert infer_kind(Column.of_texts(values)) == kind


def test_the_draft_is_a_schema_that_opens_the_table_again(tmp_path: Path) -> None:
    data = columns(80) | {"born": [f"19{40 + i % 60}-0{1 + i % 9}-11" for i in range(80)]}
    data["post code"] = [f"{20_000 + 7 * (i % 40)}" for i in range(80)]
    t = tables.load(data)
    description = tables.describe(t)
    draft = tmp_path / "schema.toml"
    description.write(draft)
    assert stat.S_IMODE(draft.stat().st_mode) == 0o600
    text = draft.read_text(encoding="utf-8")
    assert PERSON not in text
    assert "flu" not in text  # no value at all
    assert "N1" not in text
    read = tomllib.loads(text)["columns"]
    assert read["post code"] == {"role": "qi", "hierarchy": "prefix()"}
    assert read["born"]["hierarchy"] == "dates()"
    again = tables.load(data, schema=draft)
    assert isinstance(again, Table)
    assert again.roles == {name.name: name.proposal.role for name in description.columns}
    release = tables.protect(again, "generalise(level=1)", columns=["age", "born", "post code"])
    assert len(release.table.column("age").categories) < len(t.column("age").categories)
    with pytest.raises(InputError, match="exists already"):
        description.write(draft)


def test_declared_roles_stay() -> None:
    t = tables.load(columns(80), qi=["illness"], identifiers=["sex"])
    description = tables.describe(t)
    assert description["illness"].proposal.role == "qi"
    assert description["sex"].proposal.role == "identifier"
    assert description["sex"].proposal.why == "as declared"


def test_bad_input_is_refused() -> None:
    t = tables.load(columns(10))
    with pytest.raises(InputError, match="no rows"):
        tables.describe(t.take(np.arange(0)))
    with pytest.raises(InputError, match="no column 'nothing'"):
        tables.describe(t)["nothing"]


@needs_golden
def test_adult_as_a_person_would_begin_with_it() -> None:
    description = tables.describe(tables.load(ADULT / "adult.csv"))
    roles = {name.name: name.proposal.role for name in description.columns}
    assert roles["occupation"] == roles["salary-class"] == "confidential"
    assert {roles[name] for name in ("sex", "age", "race", "native-country")} == {"qi"}
    assert "intervals(width=5" in description["age"].proposal.hierarchy
    assert description.together[0][:2] == ("age", "native-country")
