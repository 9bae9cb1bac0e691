"""Any bi-encoder on Hugging Face, by name."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from veil.core.errors import AssetError, MissingExtraError
from veil.core.types import Role, Singles
from veil.data.fetch import Report, no_progress
from veil.encoders.encoder import EncoderSpec, in_blocks, unit

Pooling = Literal["mean", "cls"]


@dataclass(frozen=True)
class ModelFamily:
    """Pooling and prefixes that a family of models was trained with; None: as in its files."""

    pattern: str  # matches the name in lower case
    pooling: Pooling | None = None
    query: str | None = None  # prefix of queries
    document: str | None = None  # prefix of documents


_BGE = "Represent this sentence for searching relevant passages: "
_BGE_ZH = "为这个句子生成表示以用于检索相关文章："
_E5_INSTRUCT = (
    "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: "
)
FAMILIES = (
    ModelFamily(r"sentence-transformers/.*"),
    ModelFamily(r".*contriever.*", "mean", "", ""),
    ModelFamily(r".*distilbert-dot-tas_b.*", "cls", "", ""),
    ModelFamily(r"intfloat/.*e5.*mistral.*|intfloat/.*e5.*-instruct", None, _E5_INSTRUCT, ""),
    ModelFamily(r"intfloat/.*e5-.*", "mean", "query: ", "passage: "),
    ModelFamily(r"baai/bge-m3.*", "cls", "", ""),
    ModelFamily(r"baai/bge-(small|base|large)-zh.*", "cls", _BGE_ZH, ""),
    ModelFamily(r"baai/bge-(small|base|large)-en.*", "cls", _BGE, ""),
    ModelFamily(r"thenlper/gte-.*", "mean", "", ""),
    ModelFamily(r"alibaba-nlp/gte-(base|large|multilingual|modernbert).*", "cls", "", ""),
)
_OTHER = ModelFamily(r".*")


def family(model: str) -> ModelFamily:
    """Return the first family whose pattern matches the name of a model.

    >>> family("intfloat/e5-base-v2").query, family("facebook/contriever").pooling
    ('query: ', 'mean')
    """
    name = model.lower()
    return next((item for item in FAMILIES if re.fullmatch(item.pattern, name)), _OTHER)


_BATCH = 32  # texts
_FULL_COMMIT = re.compile(r"[0-9a-f]{40}")


class SentenceEncoder:
    """A sentence-transformers model with the prefixes of its family."""

    def __init__(self, key: str, model: Any, prompts: dict[Role, str]) -> None:  # noqa: ANN401
        self.key = key
        self.prompts = prompts
        self._model = model
        self.dim = int(self._run([""], "").shape[1])

    def encode(
        self, texts: Sequence[str], role: Role = "document", report: Report = no_progress
    ) -> Singles:
        """Map texts to unit vectors (n, dim)."""
        prompt = self.prompts[role]
        return in_blocks(texts, self.dim, lambda block: unit(self._run(block, prompt)), report)

    def raw(self, texts: Sequence[str], role: Role = "document") -> Singles:
        """Map texts to the model's own vectors (n, dim), not normalised."""
        return in_blocks(texts, self.dim, lambda block: self._run(block, self.prompts[role]))

    def _run(self, texts: list[str], prompt: str) -> Singles:
        vectors = self._model.encode(
            texts,
            prompt=prompt,  # even if empty: otherwise the model would add its default prompt
            batch_size=_BATCH,
            show_progress_bar=False,
            convert_to_numpy=True,
        )
        return np.asarray(vectors, dtype=np.float32)


class HuggingFace(EncoderSpec):
    """Encode with a bi-encoder such as facebook/contriever, by name or by the path of a folder.

    Pooling and prefixes are those the family was trained with: Contriever (mean), TAS-B (first
    token), E5 (mean, "query: " and "passage: "), BGE (first token, an instruction before queries),
    GTE. For other models the configuration in the model's files is used, or the mean of the tokens
    if there is none.

    Rows are divided by their length, including those of models trained for the inner product
    (Contriever, TAS-B), so these are compared by cosine.

    The model is fetched from Hugging Face the first time, which reveals its name to Hugging Face.
    After that there are no further requests. A name refers to the version its owner uploaded last.
    A `revision` that is a full commit fixes the files, while a tag or branch can be moved. Code
    that comes with a model is never run, and pickled weights are loaded only with
    ``safetensors=false``.
    """

    name: ClassVar[str] = "huggingface"

    model: Annotated[
        str,
        Field(
            min_length=1,
            max_length=500,
            description="name on Hugging Face, or path of a folder",
            examples=["facebook/contriever"],
        ),
    ]
    revision: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=200,
            pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]*$",
            description="commit, tag or branch of the model; default: the latest version",
        ),
    ] = None
    max_tokens: Annotated[
        int | None,
        Field(ge=3, le=32_768, description="longest text, in tokens; default: the model's limit"),
    ] = None
    safetensors: Annotated[
        bool, Field(description="refuse pickled weights (pytorch_model.bin)")
    ] = True
    offline: Annotated[
        bool, Field(description="use only files fetched before, without any request")
    ] = False

    def open(self, report: Report = no_progress) -> SentenceEncoder:
        """Load the model, which is fetched the first time."""
        library = _library()
        report(f"opening {self.model}", 0, 0)
        try:
            model = self._load(library)
        except (OSError, ValueError, ImportError, LookupError) as error:
            raise AssetError(
                f"The model {self.model} could not be opened ({type(error).__name__}). Check its"
                " name and the connection, or set safetensors=false if its weights are pickled."
            ) from None
        kind = family(self.model)
        _set_pooling(model, kind)
        if self.max_tokens is not None:
            model.max_seq_length = self.max_tokens
        prompts = _prompts(model, kind)
        parts = [self.model, self._weights(model), str(model.max_seq_length), str(kind.pooling)]
        key = " ".join([*parts, repr(prompts["query"]), repr(prompts["document"])])
        return SentenceEncoder(f"huggingface {key}", model, prompts)

    def _weights(self, model: Any) -> str:  # noqa: ANN401
        """Return an identifier of the weights; refuse weights not known to be of the revision."""
        if self.revision is None:
            return _identity(model)
        commit = _commit(model)
        if commit is None:
            raise AssetError(
                f"The model {self.model} does not record its commit (a folder has none), so"
                " 'revision' cannot be checked. Remove 'revision'."
            )
        if _FULL_COMMIT.fullmatch(str(self.revision)) and commit != self.revision:
            raise AssetError(
                f"The model {self.model} was opened at another commit than 'revision'. Check it."
            )
        return f"{self.revision} {commit}"

    def _load(self, library: Any) -> Any:  # noqa: ANN401 - the library has no types
        """Load files fetched before without any request; fetch them only if there are none."""
        options: dict[str, Any] = {
            "trust_remote_code": False,
            "model_kwargs": {"use_safetensors": self.safetensors or None},
        }
        if self.revision is not None:
            options["revision"] = self.revision
        try:
            return library(self.model, local_files_only=True, **options)
        except (OSError, ValueError, LookupError):
            if self.offline:
                raise
        return library(self.model, local_files_only=False, **options)


def _library() -> Any:  # noqa: ANN401 - the library has no types
    """Import the library on first use: it takes seconds, which a list of encoders can avoid."""
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise MissingExtraError(
            "The huggingface encoder needs sentence-transformers: pip install 'veil[neural]'."
        ) from None
    return SentenceTransformer


def _set_pooling(model: Any, kind: ModelFamily) -> None:  # noqa: ANN401
    """Set the pooling of the family, which overrides the model's files."""
    if kind.pooling is None:
        return
    for index, module in enumerate(model):
        if type(module).__name__ == "Pooling":
            width = int(model[0].auto_model.config.hidden_size)
            model[index] = type(module)(width, kind.pooling)


def _prompts(model: Any, kind: ModelFamily) -> dict[Role, str]:  # noqa: ANN401
    """Return the prefixes of the family, else those in the model's files, else empty ones."""
    own: dict[str, str] = getattr(model, "prompts", None) or {}
    query = own.get("query") or ""
    document = own.get("document") or own.get("passage") or ""
    return {
        "query": query if kind.query is None else kind.query,
        "document": document if kind.document is None else kind.document,
    }


def _commit(model: Any) -> str | None:  # noqa: ANN401
    commit = getattr(model[0].auto_model.config, "_commit_hash", None)
    return str(commit) if commit else None


def _identity(model: Any) -> str:  # noqa: ANN401
    """Return the commit of the weights, or else a digest of all weights that are used.

    BERT's own pooling layer is not used, and is random if the files lack it.
    """
    commit = _commit(model)
    if commit is not None:
        return commit
    total = hashlib.blake2b(digest_size=16)
    for name, tensor in sorted(model.state_dict().items()):
        if ".pooler." in name:
            continue
        values = tensor.detach().cpu().float().numpy()
        total.update(f"{name} {values.shape} ".encode() + np.ascontiguousarray(values).tobytes())
    return total.hexdigest()
