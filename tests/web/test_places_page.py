"""The interface behind the page of places: what it answers, and what it refuses."""

from typing import Any, cast

import pytest
from tests.web.conftest import Client

TOWN = "x,y,name\n" + "".join(f"{i * 37 % 400},{i * 91 % 700},secret{i}\n" for i in range(40))


def points(text: str = TOWN, kind: str = "csv") -> dict[str, object]:
    return {"points": {"text": text, "format": kind}}


def answered(client: Client, path: str, asked: object) -> dict[str, Any]:
    reply = client.post(f"/api/places/{path}", asked)
    assert reply.status == 200, reply.text
    return cast(dict[str, Any], reply.json())


def test_strengths_go_from_weak_to_strong(client: Client) -> None:
    answer = answered(client, "plane", {**points(), "method": "donut"})
    stops = answer["stops"]
    assert [stop["metres"] for stop in stops] == sorted(stop["metres"] for stop in stops)
    assert stops[0]["risk"] > 0.9 > 0.3 > stops[-1]["risk"]
    assert stops[0]["utility"] > 0.9 > stops[-1]["utility"]
    assert (answer["points"], answer["addresses"]) == (40, 40)
    assert answer["svg"].count('class="spot"') == len(stops)


def test_addresses_of_others_make_it_harder(client: Client) -> None:
    own = answered(client, "plane", points())
    others = TOWN + "".join(f"{i * 13 % 401},{i * 57 % 703},n\n" for i in range(400))
    many = answered(client, "plane", {**points(), "addresses": {"text": others}})
    assert many["addresses"] == 440
    assert sum(s["risk"] for s in many["stops"]) < sum(s["risk"] for s in own["stops"])


def test_a_release_holds_coordinates_alone(client: Client) -> None:
    request = {**points(), "method": "laplace(epsilon=0.1)"}
    answer, again = (answered(client, "protect", request) for _ in range(2))
    assert answer["file"].splitlines()[0] == "x,y"
    assert len(answer["file"].splitlines()) == 41
    assert "secret" not in str(answer)
    assert answer["file"] != again["file"]  # fresh randomness
    assert answer["cost"]["kind"] == "metric-dp"
    assert "not for release" not in answer["svg"]
    shown = answered(client, "protect", {**request, "original": True})
    assert "not for release" in shown["svg"]


def test_what_is_taken_as_metres_is_said(client: Client) -> None:
    request = {**points(), "method": "disk(radius=10)"}
    assert "taken as metres" in answered(client, "protect", request)["cost"]["caveat"]
    for messages in ({"crs": "metres"}, points("lon,lat\n1,2\n3,4\n")):
        caveat = answered(client, "protect", {**request, **messages})["cost"]["caveat"]
        assert "taken as metres" not in caveat


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"method": "street(nodes='/etc/passwd')"}, "mechanism must be one of"),
        ({"method": "nothing"}, "mechanism must be one of"),
        ({"method": "donut(low=9, high=3)"}, "low"),
        ({"points": {"text": "x,y\n1,quokka\n"}}, "two numbers"),
        ({"points": {"text": "x,y\n"}}, "no points"),
        ({"points": {"text": "x,y\n-15540,6712904\n"}}, "names no system"),
        ({"points": {"text": "x,y\n" + "1,2\n" * 3_001}}, "at most 3,000"),
        ({"crs": "EPSG:99999"}, "EPSG:99999"),
        ({"seed": 3}, "no such parameter"),
    ],
)
def test_what_is_refused_is_said_without_a_coordinate(
    client: Client, change: dict[str, object], sentence: str
) -> None:
    request = {**points(), "method": "disk(radius=5)", **change}
    reply = client.post("/api/places/protect", request)
    assert reply.status == 422
    assert sentence in reply.text
    assert "quokka" not in reply.text


def test_the_page_says_what_happens_to_a_file(client: Client) -> None:
    reply = client.get("/places")
    assert reply.status == 200
    assert "not stored" in reply.text
    assert "/static/places.js" in reply.text
