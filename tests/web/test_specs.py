"""No request makes the server open or fetch what it names."""

from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import pytest
from pydantic import AliasChoices, AliasPath, ConfigDict, Field
from tests.web.conftest import CANARY, Client, FakeDesk

import veil.core.registry as registry
import veil.web.asks as specs
from veil.corpus.wordnet import wordnet_at_hand
from veil.text.mechanisms.catalogue import mechanism
from veil.text.mechanisms.words import MECHANISMS
from veil.text.mechanisms.words.cmp import CMP
from veil.text.vectors.embeddings import Embeddings
from veil.web.messages import StatusError
from veil.web.routes import OPERATIONS
from veil.web.text import catalogue

TAKES_SPECS = [one for one in OPERATIONS if "mechanism" in one.ask.model_fields]
BODIES: dict[str, dict[str, object]] = {
    "/api/protect": {"texts": ["bababa"], "size": 2},
    "/api/search": {"query": "bababa"},
    "/api/explain": {"words": ["bababa"]},
}


class Opener(CMP):
    """Opens what it is told to."""

    name: ClassVar[str] = "opener"

    source: Annotated[str, Field(description="a file")] = "some.txt"
    place: Annotated[Path | None, Field(description="another")] = None
    many: Annotated[tuple[str, ...], Field(description="more")] = ()
    way: Annotated[Literal["a", "b"] | None, Field(description="a choice")] = None

    def __init__(self, **parameters: object) -> None:
        assert not {"source", "place", "many"} & set(parameters), "built before it was refused"
        super().__init__(**parameters)  # type: ignore[arg-type]


@pytest.fixture
def plugin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    result = [EntryPoint("opener", f"{__name__}:Opener", "veil.mechanisms.words")]
    monkeypatch.setattr(
        registry, "entry_points",
        lambda group: result if group == MECHANISMS.group else entry_points(group=group),
    )  # fmt: skip
    monkeypatch.setitem(MECHANISMS._loaded, "opener", Opener)
    catalogue.cache_clear()
    yield
    catalogue.cache_clear()


def test_every_address_that_takes_a_spec_is_tried() -> None:
    assert {item.path for item in TAKES_SPECS} == set(BODIES)


@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize(
    "index",
    ["{folder}/docs.tsv", "{folder}/none.tsv", "{folder}", "irds:vaswani", "irds:no-such-thing",
     "icd10cm-full", "http://127.0.0.1:1/x", "/proc/self/environ", "/dev/stdin", ".", "", "5"],
)  # fmt: skip
def test_nothing_that_a_request_names_is_opened(
    client: Client,
    desk: FakeDesk,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    index: str,
) -> None:
    (tmp_path / "docs.tsv").write_text(f"1\tdiabetes payment {CANARY}\n")
    monkeypatch.setattr("veil.text.mechanisms.queries.fea.load_collection", _no)
    monkeypatch.setattr("veil.text.mechanisms.queries.fea.wordnet", _no)
    monkeypatch.setattr("veil.web.asks.wordnet_at_hand", _no)
    index_name = index.format(folder=tmp_path)
    spec = f"fea(index='{index_name}', longest=1, candidates=200)"
    sentence = client.post(path, BODIES[path] | {"mechanism": spec}).refused(422)
    assert sentence == (
        "The 'index' parameter of fea must not be set over the web, as it names something to open."
        " Valid parameters: window, longest, targets, score, candidates."
    )  # the same, whatever there is
    assert desk.searched == []


def _no(*names: object, **more: object) -> object:
    raise AssertionError("something was looked for")


@pytest.mark.parametrize("path", BODIES)
def test_parameters_of_plugins_that_could_be_names_are_refused(
    client: Client, plugin: None, path: str
) -> None:
    for params in ("source=/etc/passwd", "place=/etc/passwd", "many=x", "source=''"):
        spec = f"opener(epsilon=1, {params})"
        sentence = client.post(path, BODIES[path] | {"mechanism": spec}).refused(422)
        assert sentence.endswith("Valid parameters: epsilon, way.")
    reply = client.post(path, BODIES[path] | {"mechanism": "opener(epsilon=1, way=b)"})
    assert reply.status == 200


class Renamed(CMP):
    """Its parameters have other names; one of them is that of a number."""

    name: ClassVar[str] = "opener"

    source: Annotated[str, Field(alias="file")] = ""
    other: Annotated[str, Field(validation_alias=AliasChoices("pick", AliasPath("deep", 0)))] = ""
    third: Annotated[str, Field(validation_alias="number")] = ""
    number: int = 0
    count: Annotated[int, Field(alias="counted")] = 0
    still: str = "same"
    fourth: Annotated[str, Field(validation_alias="still")] = ""


class Open(Renamed):
    """And it takes whatever it is given."""

    model_config = ConfigDict(extra="allow")


@pytest.mark.parametrize("cls", [Renamed, Open])
@pytest.mark.parametrize("path", BODIES)
def test_no_other_name_of_a_parameter_goes_round_it(
    client: Client, monkeypatch: pytest.MonkeyPatch, plugin: None, path: str, cls: type[CMP]
) -> None:
    monkeypatch.setitem(MECHANISMS._loaded, "opener", cls)
    monkeypatch.setattr(cls, "load", _no)
    params = ["file=/etc/passwd", "pick=/etc/passwd", "deep=/etc/passwd", "number=/etc/passwd",
             "source=/etc/passwd", "source=''", "third=''", "count=/etc/passwd", "counted=1",
             "still=same", "still=/etc/passwd"]  # fmt: skip
    for value in params:
        spec = f"opener(epsilon=1, {value})"
        sentence = client.post(path, BODIES[path] | {"mechanism": spec}).refused(422)
        assert sentence.endswith("Valid parameters: epsilon.")


@pytest.mark.parametrize("path", BODIES)
def test_what_is_no_parameter_is_never_handed_on(
    client: Client, monkeypatch: pytest.MonkeyPatch, plugin: None, path: str
) -> None:
    for cls, messages in (
        (Open, "The 'filed' parameter of opener must not be set over the web"),
        (Renamed, "opener has no parameter 'filed'; its parameters are: "),
        (CMP, "cmp has no parameter 'filed'; its parameters are: epsilon."),
    ):
        monkeypatch.setitem(MECHANISMS._loaded, cls.name, cls)
        monkeypatch.setattr(cls, "load", _no)
        spec = f"{cls.name}(epsilon=1, filed=/etc/passwd)"
        assert messages in client.post(path, BODIES[path] | {"mechanism": spec}).refused(422)


def test_no_table_of_cover_is_built_for_a_request(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("veil.text.mechanisms.queries.cover.is_cached", lambda *_, **__: False)
    monkeypatch.setattr("veil.cover.catalogue.build", _no)
    for path, body in BODIES.items():
        sentence = client.post(path, body | {"mechanism": "cover(cell=7)"}).refused(422)
        assert "veil cover build" in sentence


def test_a_built_in_table_of_cover_may_be_named_if_it_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lookups: list[tuple[str, dict[str, int]]] = []

    def at_hand(name: str, **chosen: int) -> bool:
        lookups.append((name, chosen))
        return name == "wordnet"

    monkeypatch.setattr("veil.text.mechanisms.queries.cover.is_cached", at_hand)
    specs.check_spec("cover(table=wordnet, cell=7)")
    specs.check_spec("cover(table='wordnet')")
    assert lookups == [("wordnet", {"cell": 7}), ("wordnet", {})]
    for spec in ("cover(table=icd10cm)", "cover(table=icd10cm-full)", "cover"):
        with pytest.raises(StatusError, match="none is built for a request"):
            specs.check_spec(spec)


@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize(
    "table", ["{folder}", "./wordnet", "wordnet/", "WordNet", " wordnet", "", ".", "5", "True"]
)
def test_no_folder_is_named_as_a_table(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, table: str
) -> None:
    monkeypatch.setattr("veil.text.mechanisms.queries.cover.is_cached", _no)
    monkeypatch.setattr("veil.cover.catalogue.open_table", _no)
    spec = f"cover(table='{table.format(folder=tmp_path)}')"
    for value in (spec, "cover(table=5)"):
        sentence = client.post(path, BODIES[path] | {"mechanism": value}).refused(422)
        assert sentence.startswith("The 'table' parameter of cover must not be set over the web")
        assert sentence.endswith("Valid values of 'table': icd10cm, icd10cm-full, wordnet.")


def test_the_catalogue_shows_what_may_be_set(
    client: Client, monkeypatch: pytest.MonkeyPatch, plugin: None
) -> None:
    monkeypatch.setattr(
        "veil.text.mechanisms.queries.cover.is_cached", lambda *_, **__: True
    )  # the tables of cover
    reply = client.get("/api/mechanisms").json()
    shown = reply["opener"]
    assert isinstance(shown, dict)
    assert set(shown["schema"]["properties"]) == {"epsilon", "way"}
    fea = reply["fea"]
    assert isinstance(fea, dict)
    assert "index" not in fea["schema"]["properties"]
    assert fea["example"] == (
        "fea(window=12, longest=3, targets=10, score='ndcg', candidates=3000)"
    )
    for entry in reply.values():
        assert isinstance(entry, dict)
        specs.check_spec(entry["example"])


def test_a_mechanism_that_must_be_told_a_name_is_not_offered(
    client: Client, monkeypatch: pytest.MonkeyPatch, plugin: None
) -> None:
    class Needy(Opener):
        source: str

    monkeypatch.setitem(MECHANISMS._loaded, "opener", Needy)
    assert "opener" not in client.get("/api/mechanisms").json()


def test_what_is_not_in_the_cache_is_not_fetched(
    client: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("VEIL_CACHE", str(tmp_path))
    monkeypatch.setattr("subprocess.run", _no)
    for name in ("aea", "fea", "aea(level=2)"):
        for path, body in BODIES.items():
            sentence = client.post(path, body | {"mechanism": name}).refused(422)
            assert sentence.endswith("Run: veil fetch wordnet.")
    folder = tmp_path / "wordnet" / "3.1"
    folder.mkdir(parents=True)
    (folder / "data.noun").write_text("torn")
    for name in ("aea", "fea"):
        body = BODIES["/api/protect"] | {"mechanism": name}
        assert client.post("/api/protect", body).refused(422) == (
            f"{name} needs wordnet, which is damaged in the cache, and requests fetch nothing."
            " Run: veil fetch --again wordnet."
        )
    assert sorted(folder.iterdir()) == [folder / "data.noun"]


@pytest.mark.parametrize(
    "select", ["nltk:NN", "spacy:NN", "spacy:", "/etc/passwd", "", "all ", "content:NN", "Pos:NN"]
)
def test_selection_opens_no_model(
    client: Client, monkeypatch: pytest.MonkeyPatch, select: str
) -> None:
    monkeypatch.setattr("veil.text.select.tagger", _no)
    body = BODIES["/api/protect"] | {"mechanism": "cmp(epsilon=1)", "select": select}
    assert "The 'select' parameter" in client.post("/api/protect", body).refused(422)


@pytest.mark.parametrize("select", ["all", "content", "pos:NN JJ", ["bababa"]])
def test_selection_by_words_or_tags_stays(client: Client, select: object) -> None:
    body = BODIES["/api/protect"] | {"mechanism": "cmp(epsilon=1)", "select": select}
    assert client.post("/api/protect", body).status == 200


def test_specs_that_answers_give_can_be_sent_again(client: Client, space: Embeddings) -> None:
    for name in ("cmp(epsilon=1)", "custext(epsilon=1, k=5)", "wbb(epsilon=2, k=2, n=3)"):
        body = BODIES["/api/protect"] | {"mechanism": name}
        spec = client.post("/api/protect", body).json()["mechanism"]
        assert client.post("/api/protect", body | {"mechanism": spec}).status == 200
    specs.check_spec("cmp(epsilon=1)")
    if wordnet_at_hand():
        specs.check_spec(str(mechanism("fea")))  # its index is the default
