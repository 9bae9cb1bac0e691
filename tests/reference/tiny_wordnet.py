"""A WordNet of a few words, in the format of the real one."""

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

PARTS = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
HEAD = "  1 A licence  \n"
INVERSE = {"@": "~", "@i": "~i", "#p": "%p", "#m": "%m"}


@dataclass
class Synset:
    """`links` are (symbol, first word of the other synset)."""

    pos: str
    words: list[str]
    links: list[tuple[str, str]] = field(default_factory=list)
    offset: int = 0


def synsets() -> list[Synset]:
    return [
        Synset("n", ["entity"]),
        Synset("n", ["animal", "beast"], [("@", "entity")]),
        Synset("n", ["pet"], [("@", "animal")]),
        Synset("n", ["dog", "domestic_dog", "hound"], [("@", "pet"), ("#m", "pack")]),
        Synset("n", ["puppy"], [("@", "dog")]),
        Synset("n", ["pack"], [("@", "entity")]),
        Synset("n", ["disease", "illness"], [("@", "entity")]),
        Synset("n", ["cancer", "malignant_tumor"], [("@", "disease")]),
        Synset("n", ["melanoma"], [("@", "cancer")]),
        Synset("n", ["lung_cancer"], [("@", "cancer")]),
        Synset("n", ["lung"], [("@", "entity"), ("#p", "chest")]),
        Synset("n", ["chest", "thorax"], [("@", "entity")]),
        Synset("n", ["city"], [("@", "entity")]),
        Synset("n", ["Paris", "City_of_Light"], [("@i", "city")]),
        Synset("v", ["act", "move"]),
        Synset("v", ["treat", "care_for"], [("@", "act")]),
        Synset("v", ["find", "discover"]),
        Synset("v", ["dog", "chase"], [("@", "act")]),
        Synset("a", ["happy", "felicitous"]),
        Synset("r", ["quickly", "apace"]),
    ]


def write(folder: Path) -> Path:
    """Write data and index files, and a licence."""
    folder.mkdir(parents=True, exist_ok=True)
    all_of = synsets()
    first = {synset.words[0]: synset for synset in reversed(all_of)}  # of two, the earlier
    for synset in all_of:
        for symbol, other in synset.links:
            if symbol in INVERSE:
                first[other].links.append((INVERSE[symbol], synset.words[0]))
    for synset in all_of:  # a line is as long with offsets as without
        before = [each for each in all_of[: all_of.index(synset)] if each.pos == synset.pos]
        synset.offset = len(HEAD) + sum(len(_line(each, first)) for each in before)
    for pos, part in PARTS.items():
        some = [synset for synset in all_of if synset.pos == pos]
        data = "".join(_line(synset, first) for synset in some)
        (folder / f"data.{part}").write_text(HEAD + data)
        (folder / f"index.{part}").write_text(HEAD + _index(some))
    (folder / "index.sense").write_text("")
    (folder / "LICENSE").write_text("free\n")
    return folder


def _index(some: list[Synset]) -> str:
    lemmas: dict[str, list[Synset]] = defaultdict(list)
    for synset in some:
        for word in synset.words:
            lemmas[word.lower()].append(synset)
    lines = ""
    for lemma, held in sorted(lemmas.items()):
        where = " ".join(f"{synset.offset:08}" for synset in held)
        lines += f"{lemma} {held[0].pos} {len(held)} 0 {len(held)} 0 {where}  \n"
    return lines


def _line(synset: Synset, first: dict[str, Synset]) -> str:
    words = " ".join(f"{word} 0" for word in synset.words)
    links = ""
    for symbol, other in synset.links:
        links += f" {symbol} {first[other].offset:08} {first[other].pos} 0000"
    frames = " 00" if synset.pos == "v" else ""
    head = f"{synset.offset:08} 03 {synset.pos} {len(synset.words):02x} {words}"
    return f"{head} {len(synset.links):03}{links}{frames} | gloss  \n"
