"""The OpenAPI document says what the interface does."""

from collections.abc import Iterator
from typing import cast

import pytest
from tests.conftest import make_space
from tests.web.conftest import Client, FakeDesk, make_plane

from veil.web.operation import Operation
from veil.web.routes import OPERATIONS, routes
from veil.web.service import RateLimit, Service, Slider, WorkQueue
from veil.web.verbs import verb_operations

Tree = dict[str, object]


@pytest.fixture
def described(client: Client) -> Tree:
    return client.get("/openapi.json").json()


def at(tree: object, *keys: str) -> Tree:
    for key in keys:
        assert isinstance(tree, dict)
        tree = tree[key]
    return cast(Tree, tree)


def nodes(tree: object) -> Iterator[Tree]:
    if isinstance(tree, dict):
        yield tree
    children = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    for child in children:
        yield from nodes(child)


def test_every_reference_resolves(described: Tree) -> None:
    result = [str(node["$ref"]) for node in nodes(described) if isinstance(node.get("$ref"), str)]
    assert len(result) > 50
    for ref in result:
        assert ref.startswith("#/")
        assert at(described, *ref.removeprefix("#/").split("/"))


def test_routes_and_document_agree(described: Tree, desk: FakeDesk) -> None:
    space, turns = make_space(2, 2), WorkQueue(1, 1)
    service = Service(desk, make_plane(), lambda: space, RateLimit(1), turns, turns, Slider(0))
    routed = {
        (method.lower(), route.path)
        for route in routes(service)
        for method in (route.methods or set()) - {"HEAD"}
        if route.path.startswith("/api/")
    }
    told = {(method, path) for path, one in at(described, "paths").items() for method in at(one)}
    (verbs,) = {path for path in routed if "{" in path[1]}
    assert verbs == ("post", "/api/{domain}/{verb}")
    derived = {("post", operation.path) for operation in verb_operations()}
    assert routed - {verbs} | derived == told
    assert len(OPERATIONS) == 16


def test_it_has_what_the_standard_asks_for(described: Tree) -> None:
    assert str(described["openapi"]).startswith("3.1.")
    assert {"title", "version"} <= set(at(described, "info"))
    names = []
    for item in OPERATIONS:
        operation = at(described, "paths", item.path, item.method.lower())
        names.append(operation["operationId"])
        assert ("requestBody" in operation) == (item.method == "POST")
        for status, response in at(operation, "responses").items():
            assert status.isdecimal()
            assert at(response)["description"]
            assert at(response, "content", "application/json", "schema")
    assert len(set(names)) == len(OPERATIONS)


@pytest.mark.parametrize("one", OPERATIONS, ids=lambda one: one.path)
def test_parameters_are_described(described: Tree, one: Operation) -> None:
    message = at(described, "paths", one.path, one.method.lower())
    if one.method == "GET":
        parameters = cast(list[Tree], message["parameters"])
        assert [value["name"] for value in parameters] == list(one.ask.model_fields)
        assert all(value["in"] == "query" and value["schema"] for value in parameters)
        return
    schema = at(message, "requestBody", "content", "application/json", "schema")
    body = at(described, *str(schema["$ref"]).removeprefix("#/").split("/"))
    assert body["additionalProperties"] is False
    assert set(at(body, "properties")) == set(one.ask.model_fields)
    assert all("description" in at(value) for value in at(body, "properties").values())


TOWN = "x,y\n1,2\n30,40\n500,10\n70,900\n"
PEOPLE = "age,sex\n" + "".join(f"{30 + i % 7},{'FM'[i % 2]}\n" for i in range(20))
KNOWN = {"age": "qi"}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/search", {"query": "cat", "show": 2}),
        ("/api/protect", {"texts": ["bababa dada"], "mechanism": "cmp(epsilon=1)"}),
        ("/api/explain", {"words": ["bababa", "dababa"], "mechanism": "santext(epsilon=1)"}),
        ("/api/places/plane", {"points": {"text": TOWN}}),
        ("/api/places/protect", {"points": {"text": TOWN}, "method": "disk(radius=9)"}),
        ("/api/tables/open", {"text": PEOPLE, "roles": KNOWN}),
        ("/api/tables/plane", {"text": PEOPLE, "roles": KNOWN}),
        ("/api/tables/protect", {"text": PEOPLE, "roles": KNOWN, "method": "mdav(k=2)"}),
        ("/api/mechanisms", None),
        ("/api/plane", None),
        ("/api/ledger?count=2", None),
        ("/api/budget", None),
    ],
)
def test_answers_are_as_described(
    client: Client, described: Tree, path: str, body: object
) -> None:
    reply = client.get(path) if body is None else client.post(path, body)
    assert reply.status == 200, reply.text
    method = "get" if body is None else "post"
    ok = at(described, "paths", path.partition("?")[0], method, "responses", "200")
    fit(described, at(ok, "content", "application/json", "schema"), reply.json())


def fit(described: Tree, schema: Tree, value: object) -> None:
    """Check a value by the few words of JSON Schema that the document uses."""
    if "$ref" in schema:
        schema = at(described, *str(schema["$ref"]).removeprefix("#/").split("/"))
    if "anyOf" in schema:
        expected = [item for item in cast(list[Tree], schema["anyOf"]) if item != {"type": "null"}]
        return None if value is None else fit(described, expected[0], value)
    kinds = {
        "string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list,
        "object": dict,
    }  # fmt: skip
    if "type" in schema:
        assert isinstance(value, kinds[str(schema["type"])]), (schema, value)  # type: ignore[arg-type]
    if isinstance(value, dict) and "properties" in schema:
        properties = at(schema, "properties")
        assert set(value) == set(properties)
        for key, item in value.items():
            fit(described, at(properties, key), item)
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        for item in value:
            fit(described, at(schema, "items"), item)
    return None
