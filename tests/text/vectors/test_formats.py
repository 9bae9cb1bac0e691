"""Vectors as other programs write them, whole and torn."""

import gzip
import io
import json
import pickle
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veil.core.errors import InputError
from veil.text.vectors import formats
from veil.text.vectors import formats as wink_module
from veil.text.vectors.embeddings import Embeddings
from veil.text.vectors.formats import read_vectors, read_wink_json

GLOVE = "the 0.5 -1 2e-1\ncat 1 0 0\nÉcole 0 1 0\n"
Spoken = Callable[[BaseException], str]


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def binary(
    entries: list[tuple[str, list[float]]], header: str = "", newline: bytes = b""
) -> bytes:
    width = len(entries[0][1])
    out = (header or f"{len(entries)} {width}\n").encode()
    for word, numbers in entries:
        out += word.encode() + b" " + struct.pack(f"<{width}f", *numbers) + newline
    return out


def check_glove(space: Embeddings) -> None:
    assert space.words == ("the", "cat", "École")
    assert space.vectors.dtype == np.float32
    expected = np.array([[0.5, -1, 0.2], [1, 0, 0], [0, 1, 0]], dtype=np.float32)
    np.testing.assert_array_equal(space.vectors, expected)


def test_glove_text(tmp_path: Path) -> None:
    check_glove(read_vectors(write(tmp_path / "v.txt", GLOVE)))


def test_last_line_without_line_break_and_windows_line_breaks(tmp_path: Path) -> None:
    check_glove(read_vectors(write(tmp_path / "v.txt", GLOVE.rstrip("\n"))))
    check_glove(read_vectors(write(tmp_path / "w.txt", GLOVE.replace("\n", "\r\n"))))
    check_glove(read_vectors(write(tmp_path / "x.txt", GLOVE.replace("\n", " \n") + "\n")))


def test_word2vec_text_with_header(tmp_path: Path) -> None:
    check_glove(read_vectors(write(tmp_path / "v.vec", "3 3\n" + GLOVE)))


def test_gzip(tmp_path: Path) -> None:
    check_glove(read_vectors(write(tmp_path / "v.txt.gz", gzip.compress(GLOVE.encode()))))


@pytest.mark.parametrize("newline", [b"", b"\n"])
def test_word2vec_binary(tmp_path: Path, newline: bytes) -> None:
    entries = [("the", [0.5, -1, 0.2]), ("cat", [1.0, 0, 0]), ("École", [0.0, 1, 0])]
    check_glove(read_vectors(write(tmp_path / "v.bin", binary(entries, newline=newline))))


def test_binary_numbers_may_look_like_layout(tmp_path: Path) -> None:
    # 0x20202020 and 0x0a0a0a0a: the bytes of spaces and line breaks inside the numbers
    tricky = list(struct.unpack("<2f", b"    \n\n\n\n"))
    data = binary([("a", tricky), ("b", tricky), ("c", [1, 2])])
    space = read_vectors(write(tmp_path / "v.bin", data))
    assert space.words == ("a", "b", "c")
    np.testing.assert_array_equal(space.vectors[1], np.array(tricky, dtype=np.float32))


@pytest.mark.parametrize("words", ["v.words.txt", "v.txt", "words.txt"])
def test_npy_with_its_words(tmp_path: Path, words: str) -> None:
    np.save(tmp_path / "v.npy", np.array([[0.5, -1, 0.2], [1, 0, 0], [0, 1, 0]]))
    write(tmp_path / words, "the\ncat\nÉcole\n")
    check_glove(read_vectors(tmp_path / "v.npy"))


def test_own_folder(tmp_path: Path) -> None:
    read_vectors(write(tmp_path / "v.txt", GLOVE)).save(tmp_path / "folder")
    check_glove(read_vectors(tmp_path / "folder"))


def test_words_with_spaces(tmp_path: Path) -> None:
    text = "the 1 2\n. . . 3 4\nat name@domain.com 5 6\n1995 7 8\nnan 9 10\n"
    space = read_vectors(write(tmp_path / "v.txt", text))
    assert space.words == ("the", "at name@domain.com", "1995", "nan")  # ". . ." is no word
    assert space.vectors[1].tolist() == [5, 6]


def test_first_of_duplicates_is_kept(tmp_path: Path) -> None:
    for header in ("", "3 1\n"):
        space = read_vectors(write(tmp_path / "v.txt", header + "a 1\nb 2\na 3\n"))
        assert space.words == ("a", "b")
        assert space.vectors[:, 0].tolist() == [1, 2]
    space = read_vectors(write(tmp_path / "v.bin", binary([("a", [1.0]), ("b", [2]), ("a", [3])])))
    assert space.vectors[:, 0].tolist() == [1, 2]


def test_more_rows_than_one_block(tmp_path: Path) -> None:
    rows = 8192 + 3
    text = "".join(f"w{i} {i}\n" for i in range(rows))
    seen: list[int] = []
    space = read_vectors(write(tmp_path / "v.txt", text), seen.append)
    assert space.vectors[:, 0].tolist() == list(range(rows))
    assert seen == sorted(seen)
    assert 0 < seen[-1] <= len(text)


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("a 1 2 3\nb 1 2 3\nc 1 2", "Line 3"),  # torn
        ("a 1 2 3\nb 1 2 3\nc", "Line 3"),
        ("a 1 2 3\nb 1 2 3 4\n", "Line 2"),  # mixed widths
        ("a 1 2 3\nb 1 2\n", "Line 2"),
        ("a 1 2 3\n1995 1 2\n", "Line 2"),  # a number is no word of a torn line
        ("a 1 2 3\nb 1 x 3\n", "Line 2"),
        ("3 2\na 1 2 3\n", "Line 2"),  # a header that lies about the width
        ("3 4\na 1 2 3\n", "Line 2"),
        ("a 1 2\nb 1 nan\n", "Line 2"),
        ("a 1 2\nb -inf 1\n", "Line 2"),
        ("a 1 2\nb 1e300 1\n", "Line 2"),
        (b"a 1 2\n\xff\xfe 1 2\n", "Line 2"),
        ("hello\n", "Line 1"),
        ("3 3\n" + GLOVE[:26], "Line 1"),  # torn between two lines: only the header knows
        ("2 3\n" + GLOVE, "Line 1"),
        ("a" + " 1" * 10_001, "Line 1"),
    ],
)
def test_broken_text_names_file_and_line(
    tmp_path: Path, content: str | bytes, line: str, spoken: Spoken
) -> None:
    with pytest.raises(InputError) as caught:
        read_vectors(write(tmp_path / "mine.txt", content))
    message = spoken(caught.value)
    assert f"{line} of mine.txt" in message
    assert ". " in message  # what to do follows


def test_header_counts_are_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="announces 2 vectors more than follow"):
        read_vectors(write(tmp_path / "v.txt", "5 3\n" + GLOVE))


@pytest.mark.parametrize("content", ["", "\n\n", "3 2\n"])
def test_empty_file(tmp_path: Path, content: str, spoken: Spoken) -> None:
    with pytest.raises(InputError) as caught:
        read_vectors(write(tmp_path / "mine.txt", content))
    assert "mine.txt has no vectors. Give" in spoken(caught.value)


def test_huge_line_is_not_read_into_memory(
    tmp_path: Path, spoken: Spoken, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formats, "_MAX_LINE", 100)
    check_glove(read_vectors(write(tmp_path / "v.txt", GLOVE)))
    with pytest.raises(InputError) as caught:
        read_vectors(write(tmp_path / "mine.txt", "a" * 200))
    assert "mine.txt has a line of more than 100 bytes" in spoken(caught.value)


def test_torn_and_false_gzip(tmp_path: Path, spoken: Spoken) -> None:
    packed = gzip.compress(("".join(f"w{i} {i}.5\n" for i in range(2000))).encode())
    middle = bytearray(packed)
    middle[len(packed) // 2 : len(packed) // 2 + 40] = b"\xff" * 40
    for content in (packed[:-20], bytes(middle), b"plain text"):
        with pytest.raises(InputError) as caught:
            read_vectors(write(tmp_path / "mine.txt.gz", content))
        assert "mine.txt.gz" in spoken(caught.value)


def test_missing_file(tmp_path: Path, spoken: Spoken) -> None:
    with pytest.raises(InputError) as caught:
        read_vectors(tmp_path / "none.txt")
    assert "none.txt does not exist. Check the path" in spoken(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no header here\n",
        b"2\n",
        b"-1 3\n",
        b"1 0\n",
        b"1 99999\n" + b"x" * 100,
        binary([("a", [1.0, 2]), ("b", [3, 4])])[:-1],
        binary([("a", [1.0, 2]), ("b", [3, 4])], header="3 2\n"),
        binary([("a", [1.0, 2]), ("b", [3, 4])], header="1 2\n"),
        binary([("a", [1.0, 2]), ("b", [3, 4])], header="2 1\n"),
        binary([("a", [1.0, 2]), ("b", [3, 4])], header="9999999999 300\n"),
        b"1 1\n" + b"\xff\xff " + struct.pack("<f", 1),
        b"1 1\n" + b"a" * 5000 + b" " + struct.pack("<f", 1),
    ],
)
def test_torn_binary(tmp_path: Path, content: bytes, spoken: Spoken) -> None:
    with pytest.raises(InputError) as caught:
        read_vectors(write(tmp_path / "mine.bin", content))
    assert "mine.bin must be a complete word2vec .bin file" in spoken(caught.value)


def test_binary_with_nan(tmp_path: Path, spoken: Spoken) -> None:
    data = binary([("a", [1.0]), ("b", [float("nan")])])
    with pytest.raises(InputError) as caught:
        read_vectors(write(tmp_path / "mine.bin", data))
    assert "Vector 2 of mine.bin" in spoken(caught.value)


class Bomb:
    """Leaves a mark when unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.mark,)


def test_npy_is_never_unpickled(tmp_path: Path, spoken: Spoken) -> None:
    mark = tmp_path / "exploded"
    np.save(tmp_path / "mine.npy", np.array([[Bomb(mark)]], dtype=object), allow_pickle=True)
    write(tmp_path / "mine.txt", "a\n")
    with pytest.raises(InputError) as caught:
        read_vectors(tmp_path / "mine.npy")
    assert "mine.npy" in spoken(caught.value)
    (tmp_path / "mine.npy").write_bytes(pickle.dumps(Bomb(mark)))
    with pytest.raises(InputError):
        read_vectors(tmp_path / "mine.npy")
    assert not mark.exists()


def test_npy_without_words(tmp_path: Path, spoken: Spoken) -> None:
    np.save(tmp_path / "mine.npy", np.eye(2))
    with pytest.raises(InputError) as caught:
        read_vectors(tmp_path / "mine.npy")
    message = spoken(caught.value)
    assert "mine.npy needs its words" in message
    assert "mine.words.txt, mine.txt or words.txt" in message


def test_npy_that_does_not_fit_its_words(tmp_path: Path) -> None:
    np.save(tmp_path / "mine.npy", np.eye(2))
    write(tmp_path / "mine.txt", "a\nb\nc\n")
    with pytest.raises(InputError, match=r"mine\.npy has 3 words but 2 vectors"):
        read_vectors(tmp_path / "mine.npy")
    write(tmp_path / "mine.txt", b"\xff\n\xfe\n")
    with pytest.raises(InputError, match="UTF-8 text"):
        read_vectors(tmp_path / "mine.npy")
    write(tmp_path / "mine.txt", "a\nb\n")
    whole = (tmp_path / "mine.npy").read_bytes()
    for torn in (whole[:-1], whole[:20], b""):
        write(tmp_path / "mine.npy", torn)
        with pytest.raises(InputError, match=r"mine\.npy must be a NumPy array"):
            read_vectors(tmp_path / "mine.npy")


WINK = {
    "the": [0.5, -1.25, 1.1, 0],
    'say "hi"': [1, 0, 1.0, 1],
    "back\\slash": [1e-05, 2, 2.0, 2],
    "naïve": [3, 4, 5.0, 3],
    "日本": [-3, 4, 5.0, 4],
    "x}:{,[": [6, 7, 8.5, 5],
}


def wink(
    vectors: dict[str, list[Any]], dimensions: object = 2, *, ascii_only: bool = False
) -> str:
    document = {"size": 6, "dimensions": dimensions, "unkVector": [0, 0], "vectors": vectors}
    return json.dumps(document, separators=(",", ":"), ensure_ascii=ascii_only)


@pytest.mark.parametrize("chunk", [1, 2, 3, 5, 7, 16, 64, 2**20])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_wink_json_whatever_the_chunk(
    monkeypatch: pytest.MonkeyPatch, chunk: int, ascii_only: bool
) -> None:
    monkeypatch.setattr(wink_module, "_CHUNK", chunk)
    data = wink(WINK, ascii_only=ascii_only).encode()
    if chunk * 64 < len(data):  # the window must hold an entry, not the file
        monkeypatch.setattr(wink_module, "_CHUNK", max(chunk, 2))
    seen: list[int] = []
    space = read_wink_json(io.BytesIO(data), "tiny", seen.append)
    assert space.words == tuple(WINK)
    expected = np.array([row[:2] for row in WINK.values()], dtype=np.float32)
    np.testing.assert_array_equal(space.vectors, expected)
    assert seen == sorted(seen)
    assert seen[-1] <= len(data)


def test_wink_json_torn_anywhere(spoken: Spoken) -> None:
    data = wink(WINK).encode()
    end = data.rindex(b"}}")  # the last entry is whole only before this
    for cut in range(end):
        with pytest.raises(InputError) as caught:
            read_wink_json(io.BytesIO(data[:cut]), "mine")
        assert "mine" in spoken(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        wink({}),
        wink({"a": [1]}),
        wink({"a": [1, "x", 1, 0]}),
        wink({"a": [1, None, 1, 0]}),
        wink({"a": [1, 2, 3, 0], "b": [1]}),
        wink(WINK, "many"),
        '{"vectors":{"a":[1,2]}}',
        '{"dimensions":2,"vectors":{"a":5}} ',
        '{"dimensions":2,"vectors":{"a"[1,2]}} ',
        '{"dimensions":2,"vectors":{5:[1,2]}} ',
        '{"dimensions":2,"vectors":{"a":[1,NaN]}} ',
    ],
)
def test_wink_json_of_another_shape(text: str, spoken: Spoken) -> None:
    with pytest.raises(InputError) as caught:
        read_wink_json(io.BytesIO(text.encode()), "mine")
    assert "mine" in spoken(caught.value)
