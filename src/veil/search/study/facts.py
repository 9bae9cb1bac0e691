"""What must be known to repeat a study of private search, and to read it."""

from collections.abc import Iterator
from pathlib import Path

from veil.corpus.wordnet import wordnet_folder
from veil.search.study.bench import Bench
from veil.search.study.inputs import installed
from veil.text.attacks import ATTACKS

_PACKAGES = (
    "numpy", "nltk", "textblob", "bm25s", "PyStemmer", "onnxruntime", "tokenizers",
    "sentence-transformers", "ir_measures",
)  # fmt: skip


def facts(material: Bench) -> Iterator[tuple[str, str]]:
    """Yield pairs of a name and a value; one that is empty is not shown."""
    study, documents = material.study, len(material.collection.documents)
    yield from ((name, installed(name)) for name in _PACKAGES)
    yield "collection", f"{material.collection.name}, {documents:,} documents"
    yield "queries", f"{len(material.names):,}"
    if _uses_log(material):
        yield "log", f"{len(material.log):,} distinct queries"
    yield "vectors", study.vectors if "/" not in study.vectors else Path(study.vectors).name
    yield "engines", ", ".join(study.engine)
    yield "encoder", study.encoder
    yield "weight of letters", f"{study.letters:g}" if study.letters else ""
    yield "weights", _weights(material)
    yield "cosine of", "" if study.encoder == "none" else f"vectors of {study.encoder}"
    yield "METEOR", f"WordNet {wordnet_folder().name}" if material.synonyms else "no synonyms"
    yield "attackers", ", ".join(study.all_attackers)
    yield "variants per query", ", ".join(map(str, dict.fromkeys(study.sizes)))
    yield "results per variant", str(study.k)


def notes(material: Bench) -> Iterator[str]:
    """Yield sentences that a reader of the figures must know."""
    if _uses_log(material) and material.missing:
        lacking = f"{material.missing} of the queries were not in the log"
        yield (
            f"{lacking} and were added to it."
            if material.study.add_queries_to_log
            else f"{lacking}: an attacker cannot find them, and the risk is a lower bound."
        )


def _weights(material: Bench) -> str:
    """Name the weights of a model of Hugging Face, whose name may stand for others later."""
    found = material.encoder
    return found.key if found is not None and found.key.startswith("huggingface ") else ""


def _uses_log(material: Bench) -> bool:
    return any("log" in ATTACKS.parse(each).needs for each in material.study.all_attackers)
