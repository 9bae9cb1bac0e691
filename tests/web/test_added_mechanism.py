"""A mechanism of another package: with presets it is on the page, without them it is not."""

import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import EntryPoint
from types import ModuleType
from typing import Any, ClassVar, cast

import numpy as np
import pytest
from numpy.random import Generator
from tests.web.conftest import Client
from tests.web.reading import Page

from veil.core import registry
from veil.core.component import Component
from veil.places import mechanisms as of_places
from veil.places.mechanisms.gaussian import Gaussian
from veil.tables import mechanisms as of_tables
from veil.tables.mechanism import Masked, Mechanism, Presets
from veil.tables.table import Table

TABLE = "age,sex\n" + "".join(f"{20 + i},{'FM'[i % 2]}\n" for i in range(40))
POINTS = "x,y\n" + "".join(f"{400_000 + 40 * i},{300_000 + 7 * i}\n" for i in range(40))


class Toy(Mechanism):
    """Release the table as it is."""

    name: ClassVar[str] = "toy"
    presets: ClassVar[Presets | None] = lambda _: ["toy(size=1)", "toy(size=2)"]
    size: int = 1

    def mask(self, table: Table, columns: Sequence[str], rng: Generator) -> Masked:
        return Masked(table, np.arange(len(table)))


class Heir(Toy):
    """Inherits presets, which name another mechanism."""

    name: ClassVar[str] = "heir"


class Wide(Gaussian):
    """Add noise under another name."""

    name: ClassVar[str] = "wide"
    presets: ClassVar[Callable[[int], str] | None] = lambda metres: f"wide(sigma={metres})"


@pytest.fixture
def announced(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    module = ModuleType("veil_toy_mechanisms")
    groups: dict[str, list[type[Component]]] = {
        "veil.mechanisms.tables": [Toy, Heir],
        "veil.mechanisms.places": [Wide],
    }
    for cls in (Toy, Heir, Wide):
        setattr(module, cls.__name__, cls)
    monkeypatch.setitem(sys.modules, module.__name__, module)

    def points(group: str) -> list[EntryPoint]:
        return [
            EntryPoint(cls.name, f"{module.__name__}:{cls.__name__}", group)
            for cls in groups.get(group, [])
        ]

    monkeypatch.setattr(registry, "entry_points", points)
    yield
    for loaded in (of_tables.MECHANISMS._loaded, of_places.MECHANISMS._loaded):
        for name in ("toy", "heir", "wide"):
            loaded.pop(name, None)


def answer(client: Client, path: str, ask: object) -> Any:  # noqa: ANN401 - of many shapes
    return client.post(path, ask).json()


def options(client: Client, path: str, name: str) -> list[str]:
    page = Page(client.get(path).text)
    page.one("select", id=name)
    return [element.attributes.get("value", "") for element in page.all("option")]


@pytest.mark.usefixtures("announced")
def test_a_mechanism_for_tables_is_offered_and_works(client: Client) -> None:
    shown = options(client, "/tables", "tables-method")
    assert shown[0] == "mondrian"
    assert "toy" in shown
    assert "heir" not in shown
    ask = {"text": TABLE, "roles": {"age": "qi"}}
    opened = answer(client, "/api/tables/open", ask)
    assert "toy" in [row["name"] for row in opened["methods"]]
    plane = answer(client, "/api/tables/plane", {**ask, "method": "toy"})
    assert [stop["spec"] for stop in plane["stops"]] == ["toy(size=1)", "toy(size=2)"]
    released = client.post("/api/tables/protect", {**ask, "method": "toy(size=2)"})
    assert released.status == 200
    refused = client.post("/api/tables/protect", {**ask, "method": "heir"})
    assert refused.status == 422
    assert "toy" in cast(Any, refused.json())["error"]


@pytest.mark.usefixtures("announced")
def test_a_mechanism_for_places_is_offered_and_works(client: Client) -> None:
    shown = options(client, "/places", "places-method")
    assert shown.index("donut") < shown.index("wide")
    ask = {"points": {"text": POINTS, "format": "csv"}, "crs": "metres"}
    plane = answer(client, "/api/places/plane", {**ask, "method": "wide"})
    assert plane["stops"][0]["spec"].startswith("wide(sigma=5")
    released = client.post("/api/places/protect", {**ask, "method": "wide(sigma=5)"})
    assert released.status == 200


def test_without_the_package_they_are_not_there(client: Client) -> None:
    assert "toy" not in options(client, "/tables", "tables-method")
    refused = client.post("/api/tables/plane", {"text": TABLE, "method": "toy"})
    assert refused.status == 422
    assert "toy" not in cast(Any, refused.json())["error"]
