"""WordLlama: the mean of static token vectors. Fast, but ignores word order."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import ClassVar

import numpy as np

from veil.core.errors import InputError, MissingExtraError
from veil.core.types import Ids, Role, Singles
from veil.data.fetch import Package, Report, cache_folder, no_progress
from veil.encoders.encoder import EncoderSpec, in_blocks, unit
from veil.encoders.weights import PinnedFile, from_wheel, read_tensor

try:
    from tokenizers import Tokenizer
except ImportError as error:
    raise MissingExtraError(
        "The wordllama encoder needs tokenizers: pip install 'veil[search]'."
    ) from error

_PACKAGE = Package(
    name="wordllama",
    version="0.4.0.post1",
    file="wordllama-0.4.0.post1-*.whl",
    algorithm="sha256",
    digest="",  # there is one wheel per platform, so the members are pinned instead
    megabytes=21,
)
_WEIGHTS, _TOKENIZER = "weights.safetensors", "tokenizer.json"
_MEMBERS = (
    PinnedFile(
        "wordllama/weights/l2_supercat_256.safetensors",
        _WEIGHTS,
        16_384_096,
        "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
    ),
    PinnedFile(
        "wordllama/tokenizers/l2_supercat_tokenizer_config.json",
        _TOKENIZER,
        1_842_796,
        "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68",
    ),
    PinnedFile(
        "wordllama-0.4.0.post1.dist-info/licenses/LICENSE",
        "LICENSE",
        1_067,
        "a1e482c45bfab76056845e542ad4c95acfc4f38dd63be1c5b663c16065529fc8",
    ),
)
_UNKNOWN = 0  # the token used for a text without tokens
_STEP = 32_768  # tokens gathered at a time


class StaticEncoder:
    """Mean of the token vectors, scaled to length 1. A text without tokens has one unknown."""

    def __init__(self, key: str, folder: Path) -> None:
        self.key = key
        table = read_tensor(folder / _WEIGHTS, "embedding.weight")
        self._table: Singles = table.astype(np.float32)
        self._tokenizer = Tokenizer.from_buffer((folder / _TOKENIZER).read_bytes())
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        if table.ndim != 2 or self._tokenizer.get_vocab_size() > len(table):
            raise InputError(f"The vectors of {key} do not match its tokens. Fetch them again.")
        self.dim = int(table.shape[1])

    def encode(
        self, texts: Sequence[str], role: Role = "document", report: Report = no_progress
    ) -> Singles:
        """Map texts to unit vectors (n, dim), queries and documents alike."""
        del role  # the model has no roles
        return in_blocks(texts, self.dim, lambda block: unit(self._means(block)), report)

    def raw(self, texts: Sequence[str], role: Role = "document") -> Singles:
        """Map texts to the means of their token vectors (n, dim)."""
        del role
        return in_blocks(texts, self.dim, self._means)

    def _means(self, block: list[str]) -> Singles:
        encodings = self._tokenizer.encode_batch_fast(block, add_special_tokens=False)
        rows = [encoding.ids or [_UNKNOWN] for encoding in encodings]
        lengths = np.array([len(row) for row in rows])
        ids = np.fromiter(chain.from_iterable(rows), np.int64, int(lengths.sum()))
        means = self._sums(ids, lengths)
        means /= lengths[:, None]
        return means

    def _sums(self, ids: Ids, lengths: Ids) -> Singles:
        """Return the sum of the vectors of each run of ids (n, dim), a few at a time."""
        out = np.zeros((len(lengths), self.dim), dtype=np.float32)
        owners = np.repeat(np.arange(len(lengths)), lengths)
        for start in range(0, len(ids), _STEP):
            texts = owners[start : start + _STEP]
            cuts = np.flatnonzero(np.diff(texts, prepend=-1))
            vectors = self._table[ids[start : start + _STEP]]
            out[texts[cuts]] += np.add.reduceat(vectors, cuts, axis=0)
        return out


class WordLlama(EncoderSpec):
    """Encode with WordLlama's l2_supercat: a static vector of 256 dimensions per Llama 2 token.

    It encodes tens of thousands of short texts per second, but finds less than minilm. The vectors
    (16 MB) are fetched from PyPI the first time and kept in the cache folder. Their pinned SHA-256
    is checked whenever the encoder is opened.

    References
    ----------
    Miller. WordLlama: Recycled Token Embeddings from Large Language Models. 2024.
    https://github.com/dleemiller/wordllama
    """

    name: ClassVar[str] = "wordllama"

    def open(self, report: Report = no_progress) -> StaticEncoder:
        """Load the vectors, which are fetched the first time."""
        folder = from_wheel(self.name, wordllama_folder(), _PACKAGE, _MEMBERS, report)
        digests = "-".join(member.sha256[:8] for member in _MEMBERS)
        return StaticEncoder(f"wordllama-l2-supercat-256 {digests}", folder)


def wordllama_folder() -> Path:
    """Return the folder of the vectors, whether it exists or not."""
    return cache_folder() / "encoders" / "wordllama-l2-supercat-256"
