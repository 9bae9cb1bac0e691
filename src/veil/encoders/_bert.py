"""Run a BERT graph with onnxruntime: texts to tokens, tokens to batches, batches to vectors."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from veil.core.errors import MissingExtraError
from veil.core.parallel import cores
from veil.core.types import Ids, Role, Singles
from veil.data.fetch import Report, no_progress
from veil.encoders.encoder import blocks, check_texts

# onnxruntime reads this when it is imported. Without it, some versions contact a host of their
# vendor and store an id of this machine in the user's folder. Nothing may reveal a search.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

try:
    import onnxruntime
    from tokenizers import Tokenizer
except ImportError as error:
    raise MissingExtraError(
        "The minilm encoder needs onnxruntime and tokenizers: pip install 'veil[search]'."
    ) from error

_BATCH = 512  # tokens, padding included. Measured: larger batches no longer fit in the CPU cache
_ERRORS_ONLY = 3
_FOLDER = "session.model_external_initializers_file_folder_path"


class BertEncoder:
    """Mean of the last layer over the tokens of each text, scaled to length 1.

    A vector does not depend on the other texts, except for the last digits (about 1e-7), which
    depend on the batch size. Several batches are computed at a time, each by one thread: threads
    that share a batch spend most of the time waiting for each other.
    """

    def __init__(
        self, key: str, graph: bytes, folder: Path, max_tokens: int, threads: int | None = None
    ) -> None:
        self.key = key
        self.max_tokens = max_tokens
        self._tokenizer = Tokenizer.from_buffer((folder / "tokenizer.json").read_bytes())
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(max_tokens)
        self._threads = threads or cores()
        self._session = _session(graph, folder)
        self.dim = int(self._session.get_outputs()[0].shape[1])

    def encode(
        self, texts: Sequence[str], role: Role = "document", report: Report = no_progress
    ) -> Singles:
        """Map texts to unit vectors (n, dim), queries and documents alike."""
        del role  # the model has no roles
        check_texts(texts)
        out = np.empty((len(texts), self.dim), dtype=np.float32)
        done = 0
        for start, block in blocks(texts):
            tokens = [encoding.ids for encoding in self._tokenizer.encode_batch_fast(block)]

            def run(rows: Ids, tokens: list[list[int]] = tokens, start: int = start) -> int:
                ids, mask = _pad([tokens[row] for row in rows])
                (vectors,) = self._session.run(["vectors"], {"ids": ids, "mask": mask})
                out[start + rows] = vectors
                return len(rows)

            batches = list(_batches([len(ids) for ids in tokens], _BATCH))
            for count in _run_in_threads(run, batches, self._threads):
                done += count
                report("encoding texts", done, len(texts))
        return out


def _run_in_threads(
    run: Callable[[Ids], int], batches: Sequence[Ids], threads: int
) -> Iterator[int]:
    """Run batches in threads. If the caller is interrupted, no further batch is started."""
    if min(threads, len(batches)) < 2:
        yield from map(run, batches)
        return
    pool = ThreadPoolExecutor(min(threads, len(batches)))
    try:
        yield from pool.map(run, batches)
    finally:
        pool.shutdown(cancel_futures=True)


def _session(graph: bytes, folder: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _ERRORS_ONLY
    options.intra_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry(_FOLDER, str(folder))
    onnxruntime.disable_telemetry_events()
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def _batches(lengths: Sequence[int], limit: int) -> Iterator[Ids]:
    """Yield batches of rows of similar length, longest first, at most `limit` padded tokens."""
    order = np.argsort(-np.asarray(lengths, dtype=np.int64), kind="stable")
    start = 0
    while start < len(order):
        size = max(1, limit // lengths[order[start]])
        yield order[start : start + size]
        start += size


def _pad(rows: Sequence[Sequence[int]]) -> tuple[Ids, Ids]:
    """Return token ids and their mask, both (texts, tokens). The first row must be the longest."""
    lengths = np.array([len(row) for row in rows])
    mask = (np.arange(lengths[0]) < lengths[:, None]).astype(np.int64)
    ids = np.zeros_like(mask)
    ids[mask == 1] = np.concatenate([np.asarray(row, dtype=np.int64) for row in rows])
    return ids, mask
