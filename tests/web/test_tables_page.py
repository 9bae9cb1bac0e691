"""The interface behind the page of tables: what it answers, and what it refuses."""

import csv
import io
import json
import tempfile
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from tests.web.conftest import CANARY, Client

from veil import tables
from veil.web.tables import COLUMNS, KNOWN, MOST

_DRAWS = np.random.default_rng(7)
AGES, JOBS = _DRAWS.integers(20, 70, 60).tolist(), _DRAWS.integers(0, 3, 60).tolist()
CLINIC = "name,age,sex,job,pay,illness\n" + "".join(
    f"{CANARY}{i},{age},{'FM'[i % 2]},{('baker', 'clerk', 'nurse')[job]},{900 + 37 * i % 801},"
    f"{'flu' if i % 4 else 'gout'}\n"
    for i, (age, job) in enumerate(zip(AGES, JOBS, strict=True))
)
ROLES = {"name": "identifier", "age": "qi", "sex": "qi", "job": "qi", "illness": "confidential"}
NUMBERS = {"name": "identifier", "age": "qi", "pay": "qi", "illness": "confidential"}


def clinic(**more: object) -> dict[str, object]:
    return {"text": CLINIC, "roles": ROLES, **more}


def answered(client: Client, path: str, asked: object) -> dict[str, Any]:
    reply = client.post(f"/api/tables/{path}", asked)
    assert reply.status == 200, reply.text
    return cast(dict[str, Any], reply.json())


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_a_table_is_opened_and_its_risk_is_told_at_once(client: Client) -> None:
    answer = answered(client, "open", clinic())
    content = {name: [row[name] for row in rows_of(CLINIC)] for name in ROLES}
    table = tables.load(content, qi=["age", "sex", "job"], identifiers=["name"])
    alike, attack = tables.anonymity(table), tables.attack(table, table, "linkage")
    stand = answer["stand"]
    assert (stand["rows"], stand["k"], stand["uniques"]) == (60, alike.k, alike.uniques)
    assert stand["largest"] == 1 / alike.k
    assert stand["risk"] == pytest.approx(attack.risk)
    assert stand["worst"] == attack.per_record.max() == 1
    assert stand["low"] <= stand["risk"] <= stand["high"]
    assert answer["columns"][1] == {
        "name": "age", "kind": "whole numbers", "different": len(set(AGES)), "missing": 0,
        "role": "qi", "says": "",
    }  # fmt: skip
    assert "alone" in answer["svg"]
    assert CANARY not in str(answer)


def test_without_roles_some_are_proposed_and_told(client: Client) -> None:
    answer = answered(client, "open", {"text": CLINIC})
    assert {column["name"]: column["role"] for column in answer["columns"]} == {
        "name": "identifier", "age": "qi", "sex": "qi", "job": "qi", "pay": "confidential",
        "illness": "confidential",
    }  # fmt: skip
    assert answer["stand"]["k"] == 1
    assert CANARY not in str(answer)


def test_what_a_person_says_of_a_column_counts(client: Client) -> None:
    answer = answered(client, "open", clinic(roles={"sex": "qi", "age": "other"}))
    assert [column["role"] for column in answer["columns"]].count("other") == 5


def test_a_column_that_tells_rows_apart_is_pointed_out(client: Client) -> None:
    answer = answered(client, "open", clinic(roles={"sex": "qi"}))
    messages = {column["name"]: column["says"] for column in answer["columns"]}
    assert "Nearly unique" in messages["name"]
    assert messages["sex"] == messages["illness"] == ""


def test_where_nothing_is_known_nothing_is_claimed(client: Client) -> None:
    answer = answered(client, "open", clinic(roles={"name": "identifier"}))
    stand = answer["stand"]
    assert stand.pop("rows") == 60
    assert set(stand.values()) == {None}
    assert answer["svg"] == ""


def test_methods_that_do_not_fit_say_why(client: Client) -> None:
    answer = answered(client, "open", clinic(roles={"sex": "qi"}))
    unfit = {method["name"]: method["unfit"] for method in answer["methods"]}
    assert "numeric" in unfit["mdav"]
    assert unfit["mondrian"] == unfit["sample"] == unfit["suppress"] == ""


@pytest.mark.parametrize("method", ["mondrian", "ola", "suppress", "sample", "mdav", "rank_swap"])
def test_strengths_go_from_weak_to_strong(client: Client, method: str) -> None:
    roles = NUMBERS if method in ("mdav", "rank_swap") else ROLES
    answer = answered(client, "plane", clinic(method=method, roles=roles))
    stops = answer["stops"]
    assert len(stops) > 2
    assert all(stop["spec"].startswith(method) for stop in stops)
    risks = [stop["stand"]["risk"] for stop in stops]
    assert risks[0] > risks[-1]
    assert all(stop["stand"]["worst"] >= stop["stand"]["risk"] for stop in stops)
    assert all(0 <= stop["utility"] <= 1 for stop in stops)
    if method != "ola":  # whose levels lose least of something else
        assert stops[0]["utility"] > stops[-1]["utility"]
    assert answer["svg"].count('class="spot"') == len(stops)
    assert answer["left_out"] == []


@pytest.mark.parametrize("method", ["noise", "rounding"])
def test_numbers_are_moved_more_and_more(client: Client, method: str) -> None:
    answer = answered(client, "plane", clinic(method=method, roles=NUMBERS))
    stops = answer["stops"]
    assert stops[0]["stand"]["risk"] > stops[-1]["stand"]["risk"]
    assert stops[0]["utility"] > stops[-1]["utility"]


def test_hierarchies_are_built_and_told(client: Client) -> None:
    answer = answered(client, "plane", clinic(method="ola"))
    assert answer["hierarchies"] == {
        "age": "intervals(width=5, steps=4)",
        "sex": "the value or nothing",
        "job": "the value or nothing",
    }
    assert all(
        stop["stand"]["k"] >= k for stop, k in zip(answer["stops"], (2, 3, 5, 10), strict=True)
    )


def test_a_strength_that_cannot_be_had_is_left_out(client: Client) -> None:
    """Half of the rows are alone with each value: no level but the top has groups."""
    text = "a\n" + "".join(f"v{i}\n" for i in range(8)) + "w\n" * 8
    answer = answered(client, "plane", {"text": text, "roles": {"a": "qi"}, "method": "suppress"})
    assert answer["stops"]
    lone = "age\n" + "\n" * 11 + "3\n"
    reply = client.post(
        "/api/tables/plane", {"text": lone, "roles": {"age": "qi"}, "method": "mdav"}
    )
    assert "fewer than k" in reply.refused(422)


def test_a_release_has_no_identifier_no_order_and_a_card(client: Client) -> None:
    answer = answered(client, "protect", clinic(method="mondrian(k=5)"))
    released = rows_of(answer["file"])
    assert [*released[0]] == ["age", "sex", "job", "pay", "illness"]
    assert len(released) == 60
    pays = [row["pay"] for row in rows_of(CLINIC)]
    assert [row["pay"] for row in released] != pays  # the order is a link
    assert sorted(row["pay"] for row in released) == sorted(pays)
    assert answer["stand"]["k"] >= 5
    assert answer["stand"]["worst"] <= 0.2
    assert answer["cost"]["kind"] == "k-anonymity"
    assert "k = 5" in answer["cost"]["says"]
    assert "pay" in answer["kept"]
    assert "age" in answer["changed"]
    assert (answer["seeded"], answer["suppressed"], answer["blanked"]) == (False, 0, 0)
    assert CANARY not in str(answer)


def test_the_card_says_what_is_proved_and_holds_no_cell(client: Client) -> None:
    answer = answered(client, "protect", clinic(method="mondrian(k=5)"))
    card = json.loads(answer["card"])
    assert card["method"].startswith("mondrian(k=5")
    assert card["guarantee"] == "k-anonymity: k = 5, per record"
    assert "Confidential values" in card["caveat"]
    assert (card["seeded"], card["order"], card["dropped"]) == (False, "random", ["name"])
    assert card["as_they_were"] == answer["kept"]
    assert card["measured"]["attacker"] == "linkage"
    assert card["measured"]["risk"] == answer["stand"]["risk"]
    cells = {cell for row in rows_of(CLINIC) for cell in row.values() if len(cell) > 2}
    text = answer["card"].replace("confidential", "")
    assert [cell for cell in cells if cell in text] == []


def test_draws_are_fresh(client: Client) -> None:
    request = clinic(method="noise(scale=0.5)", roles=NUMBERS)
    answer, again = (answered(client, "protect", request) for _ in range(2))
    ages = [sorted(row["age"] for row in rows_of(item["file"])) for item in (answer, again)]
    assert ages[0] != ages[1]
    assert answer["cost"]["kind"] == "none"
    assert json.loads(answer["card"])["guarantee"] == "no formal guarantee, per record"


def test_emptied_cells_are_counted_and_both_readings_told(client: Client) -> None:
    answer = answered(client, "protect", clinic(method="suppress(k=3)"))
    empty = sum(cell == "" for row in rows_of(answer["file"]) for cell in row.values())
    assert answer["blanked"] == empty > 0
    assert answer["stand"]["k"] == 1 < 3 <= answer["stand"]["k_any"]
    assert "missing value" in answer["cost"]["caveat"]


def test_cells_that_were_empty_before_are_not_counted(client: Client) -> None:
    text = "age,sex\n" + "30,F\n,F\n31,M\n30,M\n31,F\n" * 6
    request = {"text": text, "roles": {"age": "qi"}, "method": "rounding(base=2)"}
    answer = answered(client, "protect", request)
    assert answer["blanked"] == 0
    assert answer["stand"]["k_any"] is not None


def test_nothing_of_a_file_is_left_behind(
    client: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    answered(client, "protect", clinic(method="mondrian(k=5)"))
    client.post("/api/tables/open", {"text": f"a,b\n1,{CANARY}\n2\n"}).refused(422)
    assert list(tmp_path.iterdir()) == []


def test_what_is_drawn_is_what_is_known_and_what_was_changed(client: Client) -> None:
    answer = answered(client, "protect", clinic(method="mondrian(k=4)"))
    heads = [svg.partition("<title>")[2].partition("</title>")[0] for svg in answer["svg"]]
    assert heads == ["Records by how many look alike", "age", "sex", "job"]
    assert all("original" in svg and "released" in svg for svg in answer["svg"])


def test_formulas_are_quoted_on_request(client: Client) -> None:
    text = CLINIC.replace("baker", "=1+1")
    roles = {"age": "qi", "name": "identifier"}
    request = {"text": text, "roles": roles, "method": "mondrian(k=2)"}
    baseline, safe = (
        answered(client, "protect", {**request, "excel_safe": quoted})["file"]
        for quoted in (False, True)
    )
    assert ",=1+1," in baseline
    assert ",'=1+1," in safe


def test_more_columns_than_can_be_known_are_not_measured(client: Client) -> None:
    names = [f"c{i}" for i in range(KNOWN + 1)]
    text = ",".join(names) + "\n" + (",".join("1" * len(names)) + "\n") * 9
    request: dict[str, object] = {"text": text, "roles": dict.fromkeys(names, "qi")}
    answer = answered(client, "open", request)
    assert answer["stand"]["k"] is None
    assert f"At most {KNOWN}" in answer["note"]
    reply = client.post("/api/tables/plane", request)
    assert reply.refused(422) == answer["note"]


def test_suppression_of_too_many_cells_is_refused(client: Client) -> None:
    names = [f"c{i}" for i in range(8)]
    text = ",".join(names) + "\n" + "1,1,1,1,1,1,1,1\n" * 2_500
    request = {"text": text, "roles": dict.fromkeys(names, "qi"), "method": "suppress(k=2)"}
    assert "Got 20,000 instead" in client.post("/api/tables/protect", request).refused(422)


def test_a_wide_lattice_is_refused_before_it_is_searched(client: Client) -> None:
    names = [f"c{i}" for i in range(8)]
    lines = [",".join(str(row * (i + 3) % 97) for i in range(8)) for row in range(60)]
    text = ",".join(names) + "\n" + "\n".join(lines) + "\n"
    request = {"text": text, "roles": dict.fromkeys(names, "qi"), "method": "ola"}
    reply = client.post("/api/tables/plane", request)
    assert "combinations of levels" in reply.refused(422)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"method": "tree(epsilon=1)"}, "mechanism must be one of"),
        ({"method": "nothing"}, "mechanism must be one of"),
        ({"method": "mdav(k=1)"}, "'k'"),
        ({"method": "mondrian(k=1000)"}, "fewer than k"),
        ({"method": "mdav(k=3)", "roles": {"sex": "qi"}}, "numeric"),
        ({"roles": {"name": "identifier"}}, "No quasi-identifier"),
        ({"roles": {"shoes": "qi"}}, "no column 'shoes'"),
        ({"roles": {"age": "weight", "pay": "weight"}}, "Only one column"),
        ({"roles": {"sex": "weight"}}, "weights must be numbers"),
        ({"roles": {"age": "secret"}}, "roles"),
        ({"text": f"a,b\n1,{CANARY}\n2\n"}, "columns"),
        ({"text": f"a,a\n1,{CANARY}\n"}, "two columns"),
        ({"text": "age\n"}, "no rows"),
        ({"text": ""}, "no table"),
        ({"text": "age\n1e999\n2\n", "roles": {"age": "qi"}}, "too large"),
        ({"text": "age\n" + "1\n" * (MOST + 1)}, f"at most {MOST:,} rows"),
        ({"text": ",".join(f"c{i}" for i in range(COLUMNS + 1)) + "\n" + "1," * COLUMNS + "1\n"},
         f"{COLUMNS} columns"),
        ({"seed": 3}, "no such parameter"),
    ],
)  # fmt: skip
def test_what_is_refused_is_said_without_a_cell(
    client: Client, change: dict[str, object], sentence: str
) -> None:
    request = clinic(method="mondrian(k=2)") | change
    if "text" in change and "roles" not in change:
        request.pop("roles")
    assert sentence in client.post("/api/tables/protect", request).refused(422)


def test_the_page_says_what_happens_to_a_file(client: Client) -> None:
    reply = client.get("/tables")
    assert reply.status == 200
    assert "not stored" in reply.text
    assert "/static/tables.js" in reply.text
