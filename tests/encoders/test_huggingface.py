"""Each family of models is pooled and prompted as it was trained."""

import importlib
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
from tests.encoders.conftest import WIDTH, tiny_weights, write_tokenizer

from veil.core.errors import AssetError, MissingExtraError, ParameterError
from veil.encoders import catalogue, huggingface
from veil.encoders import weights as _safetensors
from veil.encoders.encoder import unit
from veil.encoders.huggingface import family
from veil.search.study.study import encoder_spec

QUERY = "Represent this sentence for searching relevant passages: "
MARKS = {f"{each}_token": f"[{each.upper()}]" for each in ("unk", "pad", "cls", "sep")}
CASES = {
    "facebook/contriever": ("mean", "", ""),
    "facebook/contriever-msmarco": ("mean", "", ""),
    "sebastian-hofstaetter/distilbert-dot-tas_b-b256-msmarco": ("cls", "", ""),
    "intfloat/e5-base-v2": ("mean", "query: ", "passage: "),
    "intfloat/multilingual-e5-small": ("mean", "query: ", "passage: "),
    "BAAI/bge-small-en-v1.5": ("cls", QUERY, ""),
    "BAAI/bge-m3": ("cls", "", ""),
    "thenlper/gte-base": ("mean", "", ""),
    "Alibaba-NLP/gte-modernbert-base": ("cls", "", ""),
    "sentence-transformers/msmarco-distilbert-base-tas-b": ("own", "", ""),
    "google-bert/bert-base-uncased": ("own", "", ""),
}


class Pooling:
    def __init__(self, width: int, mode: str) -> None:
        self.width, self.mode = width, mode


class Fake(list[Any]):
    """As much of SentenceTransformer as is used; its vectors tell what it was given."""

    made: ClassVar[list["Fake"]] = []
    prompts: ClassVar[dict[str, str]] = {}
    fails: ClassVar[list[Exception]] = []
    commit: ClassVar[str | None] = "c0ffee"

    def __init__(self, name: str, **named: object) -> None:
        if self.fails:
            raise self.fails.pop()
        config = SimpleNamespace(hidden_size=3, _commit_hash=self.commit)
        super().__init__([SimpleNamespace(auto_model=SimpleNamespace(config=config))])
        self.append(Pooling(3, "own"))
        self.name, self.named = name, named
        self.max_seq_length = 512
        self.calls: list[tuple[list[str], str]] = []
        self.made.append(self)

    def encode(self, texts: list[str], prompt: str, **_: object) -> object:
        self.calls.append((texts, prompt))
        return np.array([[3.0, 4.0, len(text)] for text in texts])


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    fake = ModuleType("sentence_transformers")
    fake.SentenceTransformer = Fake  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", fake)
    Fake.made.clear()
    Fake.fails.clear()
    monkeypatch.setattr(Fake, "prompts", {})
    return huggingface


@pytest.mark.parametrize("name", CASES)
def test_pooling_and_prompts_of_the_family(module: ModuleType, name: str) -> None:
    pooling, query, document = CASES[name]
    encoder = module.HuggingFace(model=name).open()
    (model,) = Fake.made
    assert (model[1].mode, model[1].width) == (pooling, 3)
    model.calls.clear()
    encoder.encode(["a"], "query")
    encoder.encode(["b"], "document")
    encoder.encode(["c"])
    assert model.calls == [(["a"], query), (["b"], document), (["c"], document)]


def test_prompts_of_the_model_itself(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Fake, "prompts", {"query": "ask: ", "passage": "say: "})
    other = module.HuggingFace(model="someone/model").open()
    assert other.prompts == {"query": "ask: ", "document": "say: "}
    known = module.HuggingFace(model="facebook/contriever").open()
    assert known.prompts == {"query": "", "document": ""}


def test_foreign_code_and_pickles_are_refused(module: ModuleType) -> None:
    module.HuggingFace(model="a/b").open()
    module.HuggingFace(model="a/b", safetensors=False, offline=True).open()
    careful, lax = (model.named for model in Fake.made)
    assert careful["trust_remote_code"] is lax["trust_remote_code"] is False
    assert careful["model_kwargs"] == {"use_safetensors": True}
    assert lax["model_kwargs"] == {"use_safetensors": None}
    assert careful["local_files_only"] is lax["local_files_only"] is True  # nobody is asked


def test_a_model_that_is_not_there_is_fetched_once(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []

    def absent(name: str, *, local_files_only: bool, **named: object) -> Fake:
        asked.append(local_files_only)
        if local_files_only:
            raise OSError
        return Fake(name, local_files_only=local_files_only, **named)

    monkeypatch.setattr(module, "_library", lambda: absent)
    module.HuggingFace(model="a/b").open()
    assert asked == [True, False]
    with pytest.raises(Exception, match="could not be opened"):
        module.HuggingFace(model="a/b", offline=True).open()
    assert asked == [True, False, True]


def test_rows_have_length_one(module: ModuleType) -> None:
    encoder = module.HuggingFace(model="a/b").open()
    vectors = encoder.encode(["", "long text", "\ud800"])
    assert vectors.dtype == np.float32
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() < 1e-6
    assert encoder.encode([]).shape == (0, 3)
    assert Fake.made[0].calls[-1][0][-1] == "\ufffd"


def test_key_names_what_changes_the_vectors(module: ModuleType) -> None:
    specs: list[dict[str, object]] = [
        {"model": "a/b"},
        {"model": "a/c"},
        {"model": "a/b", "max_tokens": 64},
    ]
    keys = [module.HuggingFace.load(spec).open().key for spec in specs]
    assert len(set(keys)) == 3
    assert all("c0ffee" in key for key in keys)
    assert Fake.made[2].max_seq_length == 64


def test_revision_is_asked_for_and_in_spec_and_key(module: ModuleType) -> None:
    plain = module.HuggingFace(model="a/b")
    tagged = catalogue.parse("huggingface(model=a/b, revision=v1.0)")
    assert "revision='v1.0'" in str(tagged)
    assert encoder_spec(str(tagged)) == "huggingface(model=a/b, revision=v1.0)"
    keys = [plain.open().key, tagged.open().key]
    assert keys[0] != keys[1]
    assert "v1.0 c0ffee" in keys[1]
    assert [model.named.get("revision") for model in Fake.made] == [None, "v1.0"]


def test_revision_is_asked_for_when_fetched_too(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def absent(name: str, *, local_files_only: bool, **named: object) -> Fake:
        asked.append(named["revision"])
        if local_files_only:
            raise OSError
        return Fake(name, **named)

    monkeypatch.setattr(module, "_library", lambda: absent)
    module.HuggingFace(model="a/b", revision="main").open()
    assert asked == ["main", "main"]


def test_another_commit_than_the_revision_is_refused(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = module.HuggingFace(model="a/b", revision="ab" * 20)
    with pytest.raises(AssetError, match="another commit"):
        spec.open()
    monkeypatch.setattr(Fake, "commit", "ab" * 20)
    assert "ab" * 20 in spec.open().key
    monkeypatch.setattr(Fake, "commit", None)  # as of a folder, which the library takes as it is
    with pytest.raises(AssetError, match="Remove .revision."):
        spec.open()


@pytest.mark.parametrize("revision", ["", "-x", "a b", "../up\n", "x" * 201])
def test_odd_revisions_are_refused(revision: str) -> None:
    with pytest.raises(ParameterError, match="revision"):
        huggingface.HuggingFace.load({"model": "a/b", "revision": revision})


@pytest.mark.parametrize("error", [OSError("secret"), ValueError("a\nb"), ImportError("x")])
def test_model_that_cannot_be_had(module: ModuleType, error: Exception) -> None:
    Fake.fails += [error, error]  # neither among what was fetched, nor elsewhere
    with pytest.raises(AssetError, match=r"^The model a/b could not be opened \(\w+\)") as caught:
        module.HuggingFace(model="a/b").open()
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    spec = catalogue.parse("facebook/contriever")  # can be read and shown all the same
    assert str(spec).startswith("huggingface(model='facebook/contriever'")
    with pytest.raises(MissingExtraError, match=r"pip install .*\[neural\]'"):
        spec.open()


def test_instruct_models_are_not_plain_e5() -> None:
    assert family("intfloat/multilingual-e5-large-instruct").pooling is None
    assert "Instruct" in (family("intfloat/e5-mistral-7b-instruct").query or "")


@pytest.mark.filterwarnings("ignore")
def test_real_library_on_a_tiny_bert(tmp_path: Path, bert: Path) -> None:
    """A BERT of two layers through the library itself, and through our own graph."""
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
    transformers = importlib.import_module("transformers")
    from veil.encoders._bert import BertEncoder

    weights = tiny_weights()
    config = transformers.BertConfig(
        vocab_size=len(weights["embeddings.word_embeddings.weight"]),
        hidden_size=WIDTH,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=40,
        layer_norm_eps=1e-12,
    )
    texts = ["the cat sat", "lung cancer", "", "\ud800"]
    ours = BertEncoder("tiny", (bert / "float32.onnx").read_bytes(), bert, 32, 1).encode(texts)
    for name, pooling in (
        ("plain", "mean"),
        ("contriever", "mean"),
        ("distilbert-dot-tas_b", "cls"),
    ):
        folder = tmp_path / name
        transformers.BertModel(config, add_pooling_layer=False).save_pretrained(folder)
        _safetensors.write_tensors(folder / "model.safetensors", weights)
        write_tokenizer(tmp_path / "tokenizer.json")
        transformers.PreTrainedTokenizerFast(
            tokenizer_file=str(tmp_path / "tokenizer.json"), **MARKS
        ).save_pretrained(folder)
        spec = huggingface.HuggingFace(model=str(folder), max_tokens=32)
        encoder = spec.open()
        vectors = encoder.encode(texts)
        assert encoder.dim == WIDTH
        assert np.abs(vectors - unit(vectors)).max() < 1e-6
        assert (np.abs(vectors - ours).max() < 2e-6) == (pooling == "mean")
        assert encoder.key == spec.open().key
