"""All that a mechanism works with: what its spec tells, and what it reads besides."""

from importlib.metadata import PackageNotFoundError, version

from veil.corpus.wordnet import wordnet_folder
from veil.search.study.bench import Bench
from veil.text.mechanisms.mechanism import TextMechanism

_TAGGERS = {  # what `veil.text.select` calls them, and the packages that hold program and data
    "pos": ("textblob",),
    "nltk": ("nltk",),
    "spacy": ("spacy", "en_core_web_sm"),
}
_OF_QUERIES = ("textblob", "nltk", "PyStemmer")  # tagger, reader of WordNet, terms of an index


def inputs(mechanism: TextMechanism, bench: Bench, size: int = 1) -> dict[str, object]:
    """Name all that decides what a mechanism makes of a text, but for the draws.

    Files are named by their content, wherever they lie. A mechanism of whole queries opens by
    itself what it needs; all that it can open is named.
    """
    found: dict[str, object] = {}
    if index := getattr(mechanism, "index", ""):  # it works with documents of its own
        mechanism = mechanism.model_copy(update={"index": bench.index_digest(index)})
    found["mechanism"] = str(mechanism)
    if made := bench.tables.named(mechanism, size, bench.study.universe):
        found["table"] = made
    if "vectors" in mechanism.needs:
        found["vectors"] = [bench.space.name, bench.space_digest]
        select = str(getattr(mechanism, "select", ""))
        packages = _TAGGERS.get(select.partition(":")[0], ())
    else:
        found["wordnet"] = wordnet_folder().name
        packages = _OF_QUERIES
    if packages:
        found["packages"] = [f"{name} {installed(name)}" for name in packages]
    return found


def installed(package: str) -> str:
    """Return the version of a package, or "" where it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
