"""Build the ONNX graphs of the minilm encoder: a development-time script.

    python tools/minilm_graph.py [FOLDER]

writes ``src/veil/encoders/minilm.onnx`` and ``minilm-int8.onnx``; FOLDER holds both weights files,
by default the cache, where opening ``minilm(precision=int8)`` once puts them. It needs the `onnx`
package, which the encoder itself does not. The graphs ship with the project and hold no weights:
each initialiser is an external tensor that says at which place of ``model.safetensors`` (or
``int8.safetensors``) its numbers lie. The same weights files give the same bytes, and a test
builds the graphs again.

A graph is BERT (token, position and type vectors; layers of self-attention and feed-forward, each
followed by a residual and a layer normalisation), the mean over the tokens of each text, and
division by the Euclidean length. Its inputs are `ids` and `mask`, int64 (texts, tokens), its
output is `vectors`, float32 (texts, width).

In the int8 graph the six matrices of each layer are int8 with a scale per column. What is
multiplied with them is quantised with a scale **per token**, where the usual dynamic quantisation
takes one scale for a whole batch: the vector of a text does not depend on the texts beside it.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from veil.encoders.minilm import minilm_folder

OPSET = 20
IR = 9  # the oldest that knows the opset: old runtimes refuse a newer one


@dataclass(frozen=True)
class Tensor:
    """Type, shape and position of a tensor in a weights file."""

    kind: str
    shape: tuple[int, ...]
    offset: int  # bytes from the start of the file
    length: int  # bytes


def tensors(path: Path) -> dict[str, Tensor]:
    """Return the position of each tensor of a safetensors file, which was checked when fetched."""
    data = path.read_bytes()
    base = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:base])
    header.pop("__metadata__", None)
    return {
        name: Tensor(
            entry["dtype"],
            tuple(entry["shape"]),
            base + entry["data_offsets"][0],
            entry["data_offsets"][1] - entry["data_offsets"][0],
        )
        for name, entry in header.items()
    }


WEIGHTS = "model.safetensors"
INT8 = "int8.safetensors"
INPUTS = ("ids", "mask")
F32, I64 = np.float32, np.int64
_TYPES = {"F32": TensorProto.FLOAT, "I8": TensorProto.INT8}


@dataclass(frozen=True)
class Bert:
    """What the weights do not say of themselves."""

    heads: int = 12
    epsilon: float = 1e-12  # of the layer normalisation


@dataclass
class Builder:
    """A graph that grows; every method adds nodes and returns the name of what they compute."""

    files: Mapping[str, Mapping[str, Tensor]]  # file -> tensor -> place
    nodes: list[Any] = field(default_factory=list)
    initialisers: dict[str, Any] = field(default_factory=dict)

    def add(self, op: str, *inputs: str, **attributes: object) -> str:
        """Add a node with one output."""
        out = f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [out], **attributes))
        return out

    def constant(self, name: str, values: object, kind: type[np.generic]) -> str:
        """Add a small constant, stored in the graph itself."""
        if name not in self.initialisers:
            array = np.asarray(values, dtype=kind)
            self.initialisers[name] = numpy_helper.from_array(array, name)
        return name

    def weight(self, name: str, file: str = WEIGHTS) -> str:
        """Refer to a tensor of a weights file."""
        if name not in self.initialisers:
            place = self.files[file][name]
            proto = TensorProto(name=name, data_type=_TYPES[place.kind], dims=place.shape)
            proto.data_location = TensorProto.EXTERNAL
            entries = {"location": file, "offset": place.offset, "length": place.length}
            for key, value in entries.items():
                proto.external_data.add(key=key, value=str(value))
            self.initialisers[name] = proto
        return name

    def linear(self, x: str, name: str) -> str:
        """Multiply by a matrix and add a bias."""
        if INT8 in self.files:
            product = self._integer_product(x, f"{name}.weight")
        else:  # transposed once, when the session is opened
            matrix = self.add("Transpose", self.weight(f"{name}.weight"), perm=[1, 0])
            product = self.add("MatMul", x, matrix)
        return self.add("Add", product, self.weight(f"{name}.bias"))

    def _integer_product(self, x: str, name: str) -> str:
        """Quantise each row of `x` to whole numbers of 8 bits and multiply those."""
        last = self.constant("last", [-1], np.int64)
        largest = self.add("ReduceMax", self.add("Abs", x), last, keepdims=0)
        tiny = self.constant("tiny", 1e-20, np.float32)  # a row of zeros stays one
        levels = self.constant("levels", 127.0, np.float32)
        scale = self.add("Div", self.add("Max", largest, tiny), levels)
        zero = self.constant("zero", 128, np.uint8)
        zeros = self.add("Expand", zero, self.add("Shape", scale))
        whole = self.add("QuantizeLinear", x, scale, zeros, axis=0)
        matrix = self.weight(f"{name}.int8", INT8)
        product = self.add("MatMulInteger", whole, matrix, zero)
        product = self.add("Cast", product, to=TensorProto.FLOAT)
        product = self.add("Mul", product, self.add("Unsqueeze", scale, last))
        return self.add("Mul", product, self.weight(f"{name}.scale", INT8))

    def norm(self, x: str, name: str, epsilon: float) -> str:
        """Normalise each row, then scale and shift it."""
        scale, bias = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.add("LayerNormalization", x, scale, bias, axis=-1, epsilon=epsilon)


def build(files: Mapping[str, Mapping[str, Tensor]], bert: Bert) -> bytes:
    """Return the graph for these weights: int8 when there is a file of int8 matrices."""
    to = Builder(files)
    names = files[WEIGHTS]
    width = names["embeddings.word_embeddings.weight"].shape[1]
    shape = to.add("Shape", "ids")  # (texts, tokens)
    x = _embeddings(to, shape, bert, width)
    far = to.add("Sub", to.add("Cast", "mask", to=TensorProto.FLOAT), to.constant("one", 1, F32))
    far = to.add("Mul", far, to.constant("far", 1e9, F32))  # 0 for a token, -1e9 for padding
    far = to.add("Unsqueeze", far, to.constant("heads_and_queries", [1, 2], I64))
    layers = sum(name.endswith("attention.self.query.weight") for name in names)
    for layer in range(layers):
        x = _layer(to, x, shape, far, f"encoder.layer.{layer}", bert, width)
    vectors = _mean(to, x, shape, width)
    to.nodes.append(helper.make_node("LpNormalization", [vectors], ["vectors"], axis=-1, p=2))
    sides = ["texts", "tokens"]
    graph = helper.make_graph(
        to.nodes,
        "bert",
        [helper.make_tensor_value_info(each, TensorProto.INT64, sides) for each in INPUTS],
        [helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["texts", width])],
        list(to.initialisers.values()),
    )
    opset = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=IR, producer_name="veil")
    return bytes(model.SerializeToString(deterministic=True))


def _embeddings(to: Builder, shape: str, bert: Bert, width: int) -> str:
    """Add up the vectors of token, position and type; rows are all tokens of all texts."""
    words = to.add("Gather", to.weight("embeddings.word_embeddings.weight"), "ids")
    count = to.add("Slice", shape, to.constant("at1", [1], I64), to.constant("at2", [2], I64))
    start, axis = to.constant("start", [0], I64), to.constant("first", [0], I64)
    table = to.weight("embeddings.position_embeddings.weight")
    places = to.add("Slice", table, start, count, axis)
    kinds = to.weight("embeddings.token_type_embeddings.weight")
    kind = to.add("Gather", kinds, to.constant("kind", 0, I64))
    x = to.add("Add", words, to.add("Add", places, kind))
    x = to.norm(x, "embeddings.LayerNorm", bert.epsilon)
    return to.add("Reshape", x, to.constant("rows", [-1, width], I64))


def _layer(to: Builder, x: str, shape: str, far: str, name: str, bert: Bert, width: int) -> str:
    """Add self-attention and feed-forward, each with its residual and normalisation."""
    split = to.add("Concat", shape, to.constant("split", [bert.heads, -1], I64), axis=0)
    heads = {
        part: to.add("Reshape", to.linear(x, f"{name}.attention.self.{part}"), split)
        for part in ("query", "key", "value")
    }
    query = to.add("Transpose", heads["query"], perm=[0, 2, 1, 3])
    key = to.add("Transpose", heads["key"], perm=[0, 2, 3, 1])
    value = to.add("Transpose", heads["value"], perm=[0, 2, 1, 3])
    root = to.constant("root", (width // bert.heads) ** -0.5, F32)
    scores = to.add("Mul", to.add("MatMul", query, key), root)
    share = to.add("Softmax", to.add("Add", scores, far), axis=-1)
    seen = to.add("Transpose", to.add("MatMul", share, value), perm=[0, 2, 1, 3])
    seen = to.add("Reshape", seen, to.constant("rows", [-1, width], I64))
    seen = to.linear(seen, f"{name}.attention.output.dense")
    x = to.norm(to.add("Add", seen, x), f"{name}.attention.output.LayerNorm", bert.epsilon)
    wide = to.add("Gelu", to.linear(x, f"{name}.intermediate.dense"))
    back = to.linear(wide, f"{name}.output.dense")
    return to.norm(to.add("Add", back, x), f"{name}.output.LayerNorm", bert.epsilon)


def _mean(to: Builder, x: str, shape: str, width: int) -> str:
    """Average the rows of each text that are not padding."""
    x = to.add("Reshape", x, to.add("Concat", shape, to.constant("w", [width], I64), axis=0))
    mask = to.add(
        "Unsqueeze", to.add("Cast", "mask", to=TensorProto.FLOAT), to.constant("last", [-1], I64)
    )
    axis = to.constant("at1", [1], I64)
    total = to.add("ReduceSum", to.add("Mul", x, mask), axis, keepdims=0)
    return to.add("Div", total, to.add("ReduceSum", mask, axis, keepdims=0))


def main(folder: Path, out: Path) -> None:
    """Write both graphs."""
    weights = {WEIGHTS: tensors(folder / WEIGHTS)}
    (out / "minilm.onnx").write_bytes(build(weights, Bert()))
    weights[INT8] = tensors(folder / INT8)
    (out / "minilm-int8.onnx").write_bytes(build(weights, Bert()))


if __name__ == "__main__":
    chosen = Path(sys.argv[1]) if len(sys.argv) > 1 else minilm_folder()
    main(chosen, Path(__file__).resolve().parents[1] / "src" / "veil" / "encoders")
