"""What must be known to repeat a study, and what must be known to read it."""

import platform
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from veil.core.parallel import cores
from veil.corpus.wordnet import wordnet_folder
from veil.studies._inputs import installed
from veil.studies.bench import Bench
from veil.studies.cells import Cell
from veil.studies.table import Score
from veil.text.attacks import ATTACKS

_PACKAGES = (
    "numpy", "nltk", "textblob", "bm25s", "PyStemmer", "onnxruntime", "tokenizers",
    "sentence-transformers", "ir_measures",
)  # fmt: skip


def facts(material: Bench, spent: float, seconds: float | None) -> tuple[tuple[str, str], ...]:
    """Return pairs of a name and a value."""
    from veil.core.version import __version__

    study = material.study
    found = [
        ("command", _command()),
        ("veil", __version__),
        ("python", platform.python_version()),
        *((name, installed(name)) for name in _PACKAGES),
        ("seed", str(study.seed)),
        (
            "collection",
            f"{material.collection.name}, {len(material.collection.documents):,} documents",
        ),
        ("queries", f"{len(material.names):,}"),
        ("vectors", f"{study.vectors if '/' not in study.vectors else Path(study.vectors).name}"),
        ("engines", ", ".join(study.engine)),
        ("encoder", study.encoder),
        ("weights", _weights(material)),
        ("cosine of", "" if study.encoder == "none" else f"vectors of {study.encoder}"),
        ("METEOR", f"WordNet {wordnet_folder().name}" if material.synonyms else "no synonyms"),
        ("attackers", ", ".join(study.all_attackers)),
        ("variants per query", ", ".join(map(str, dict.fromkeys(study.sizes)))),
        ("results per variant", str(study.k)),
        ("cores", str(cores())),
        ("workers", "" if material.workers is None else str(material.workers)),
        ("time of all steps", f"{spent:,.0f} s"),
    ]
    if _uses_log(material):
        place = [name for name, _ in found].index("vectors")
        found.insert(place, ("log", f"{len(material.log):,} distinct queries"))
    if seconds is not None:
        found.append(("time of this run", f"{seconds:,.0f} s"))
    return tuple((name, value) for name, value in found if value)


def _weights(material: Bench) -> str:
    """Name the weights of a model of Hugging Face, whose name may stand for others later."""
    found = material.encoder
    return found.key if found is not None and found.key.startswith("huggingface ") else ""


def notes(
    material: Bench, cells: Sequence[Cell], missing: int, scores: Sequence[Score] = ()
) -> tuple[str, ...]:
    """Return sentences that a reader of the figures must know."""
    told = ["The releases are seeded, so that they can be repeated: they are not private."]
    if missing:
        told.append(f"{missing:,} steps are not computed yet: their figures are not here.")
    unfinished = list(dict.fromkeys(score.curve for score in scores if score.missing))
    if unfinished:
        told.append(
            f"Points are missing on {', '.join(unfinished)}: the QuIPU score is that of the points"
            " that are there."
        )
    if material.missing if _uses_log(material) else 0:
        lacking = f"{material.missing} of the queries were not in the log"
        told.append(
            f"{lacking} and were added to it."
            if material.study.add_queries_to_log
            else f"{lacking}: an attacker cannot find them, and the risk is a lower bound."
        )
    if any(cell.parameter == "" for cell in cells):
        told.append("A mechanism without a swept parameter is a single point of the plane.")
    return tuple(told)


def _uses_log(material: Bench) -> bool:
    return any("log" in ATTACKS.parse(each).needs for each in material.study.all_attackers)


def _command() -> str:
    return shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]) if sys.argv[0] else ""
