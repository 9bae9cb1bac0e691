"""A release of scrambled queries: rows, costs, and what is refused."""

from typing import ClassVar

import pytest
from tests.reference import tiny_wordnet

from veil.core.errors import InputError, ParameterError
from veil.core.formatting import count_of
from veil.core.guarantee import Guarantee
from veil.core.types import Released, Seeded
from veil.corpus.tokens import bare_parts, tokens
from veil.corpus.wordnet import Thesaurus, wordnet
from veil.text.mechanisms.mechanism import QueryMechanism, QueryRelease
from veil.text.mechanisms.queries import QUERY_MECHANISMS, aea
from veil.text.mechanisms.queries.aea import AEA
from veil.text.mechanisms.queries.scramble import scramble


@pytest.fixture(autouse=True)
def tiny(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Thesaurus:
    made = wordnet(tiny_wordnet.write(tmp_path_factory.mktemp("wordnet") / "dict"))
    monkeypatch.setattr(aea, "wordnet", lambda: made)
    return made


class Echo(QueryMechanism):
    """A mechanism that forgets to protect."""

    name: ClassVar[str] = "echo"
    paper: ClassVar[str] = "none"

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee("none", unit="query")

    def bind(self) -> "Echo":
        return self

    def scramble(self, text: str, size: int) -> QueryRelease:
        return QueryRelease((text, f" {text.upper()}! ", "", "  ...", "ok", "ok", "no"), ("x",), 1)


def test_rows() -> None:
    texts = ["cancer of the lung", "dogs", "qwerty 2024", "who is it"]
    release = scramble(texts, AEA(level=1), 4)
    assert [len(row) for row in release] == [4, 3, 0, 0]
    assert release[0][0] == "malignant tumor of the entity"
    assert release.kept == (("of", "the"), (), (), ())
    assert release.protected == (2, 1, 2, 0)
    assert release.seeded is False
    assert release.mechanism == str(AEA(level=1))
    for row in release:
        for query in row:
            assert isinstance(query, Released)
            assert not isinstance(query, Seeded)


def test_the_release_has_no_randomness() -> None:
    texts = ["cancer of the lung", "dogs"]
    assert scramble(texts, AEA(), 9) == scramble(texts, AEA(), 9)


def test_cost() -> None:
    cost = scramble(["dogs", "qwerty", "cancer of the lung"], AEA(level=1), 4).cost
    assert cost.kind == "none"
    assert cost.unit == "release (4 words, 7 queries)"
    for sentence in (
        "Nothing is proved",
        "no randomness",
        "1 text has no query that may be sent.",
        "1 text has fewer than 4 queries.",
        "2 words passed unchanged by policy.",
    ):
        assert sentence in cost.caveat
    small = scramble(["dogs"], AEA(), 1).cost.caveat
    assert "fewer" not in small
    assert "passed" not in small


def test_nothing_to_do() -> None:
    release = scramble([], AEA())
    assert (release.rows, release.kept, release.protected) == ((), (), ())


def test_the_text_itself_never_leaves() -> None:
    release = scramble(["Dog, cancer", "ok"], Echo(), 5)
    assert release.rows == (("ok", "no"), ("no",))
    assert scramble(["Dog, cancer"], Echo(), 1).rows == (("ok",),)


@pytest.mark.parametrize("size", [1, 3, 20])
@pytest.mark.parametrize("unknown", ["drop", "keep"])
@pytest.mark.parametrize(
    "text", ["Dog, cancer!", "the dog's cancer of LUNG", "dog-cancer qwerty", "puppy pets dog"]
)
def test_every_word_that_is_sent_is_listed(text: str, unknown: str, size: int) -> None:
    mechanism = AEA.load({"originals": "allow", "unknown": unknown})
    release = scramble([text], mechanism, size)
    sent = {word for query in release[0] for word in query.split()}
    listed = {part for word in release.kept[0] for part in bare_parts(word)}
    own = {part for token in tokens(text) for part in bare_parts(text[token.start : token.end])}
    assert sent & own
    assert sent & own == listed
    assert f"{count_of(len(release.kept[0]), 'word')} passed" in release.cost.caveat
    assert release.cost.passed == len(release.kept[0])


def test_a_mechanism_that_does_not_tell_what_it_passes() -> None:
    assert scramble(["OK dog"], Echo(), 5).kept == (("OK",),)


@pytest.mark.parametrize("texts", ["text", b"text", 7, None, {"text"}])
def test_texts_must_be_a_list(texts: list[str]) -> None:
    with pytest.raises(InputError, match="must be a list of strings"):
        scramble(texts, AEA())


def test_no_error_quotes_a_text() -> None:
    for texts in (["secret", 7], ["secret " * 1000], ["secret \ud800"]):
        with pytest.raises(InputError) as caught:
            scramble(texts, AEA())  # type: ignore[arg-type]
        assert "secret" not in str(caught.value)
        assert "Text" in str(caught.value)


def test_max_chars() -> None:
    assert scramble(["dogs"], AEA(), max_chars=4)[0]
    with pytest.raises(InputError, match="at most 4 characters. Got 5"):
        scramble(["dogs!"], AEA(), max_chars=4)
    for bad in (0, -1, "x", True):
        with pytest.raises(ParameterError, match="max_chars"):
            scramble(["dogs"], AEA(), max_chars=bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [0, -1, 1.5, True, "3", 100_001])
def test_size(size: int) -> None:
    with pytest.raises(ParameterError, match="'size' argument must be a whole number from 1"):
        scramble(["dogs"], AEA(), size)


def test_mechanism() -> None:
    with pytest.raises(ParameterError, match="must be a query mechanism such as aea"):
        scramble(["dogs"], "aea")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", QUERY_MECHANISMS.names())
def test_every_query_mechanism_is_honest(name: str) -> None:
    cls = QUERY_MECHANISMS.get(name)
    mechanism = cls()
    assert cls.paper
    assert mechanism.name == name
    assert mechanism.guarantee.kind == ("leakage" if cls.whole else "none")
    if not cls.whole:
        assert mechanism.guarantee.caveat.startswith("Nothing is proved")
    assert QUERY_MECHANISMS.parse(str(mechanism)) == mechanism
    assert cls.__doc__ is not None
    assert "References" in cls.__doc__
    for field in cls.model_fields.values():
        assert field.description
