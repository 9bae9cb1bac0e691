"""Personal data is replaced first, and the mechanism never sees it."""

import sys
from pathlib import Path

import pytest
from tests.conftest import make_space
from tests.reference import fake_presidio

import veil
from veil.core.errors import InputError, MissingExtraError, ParameterError, VeilError
from veil.text.redact.presidio import PresidioFinder
from veil.text.redact.pseudonyms import Pseudonyms
from veil.text.redact.redactor import FOUND, LINKED, Redactor
from veil.text.redact.span import Span

SPACE = make_space(60, 4)
WBB = veil.WBB(epsilon=5, k=3, n=9)  # never the word itself: what stays is seen at once
A, B = SPACE.words[:2]
MAIL, PHONE = "ada@example.org", "+39 049 827 1234"


def released(text: str, redact: str | Redactor = "patterns") -> veil.Variants:
    return veil.protect([text], WBB, SPACE, select="all", redact=redact)


def test_data_becomes_its_kind_and_the_rest_goes_through_the_mechanism() -> None:
    result = released(f"{A} ({MAIL}), 100%: {PHONE}; {B}")
    first, rest = result.rows[0][0].split(" ", 1)
    assert rest.startswith("([EMAIL]), ")
    assert ": [PHONE]; " in rest
    assert first != A
    assert result.redacted == (("EMAIL", "PHONE"),)
    assert result.protected == (3,)  # both words, and the number
    cmp = veil.protect([f"{A} {MAIL}"], veil.CMP(epsilon=5), SPACE, redact="patterns")
    assert FOUND in cmp.cost.caveat
    assert LINKED not in cmp.cost.caveat


def test_a_file_says_what_was_replaced_and_what_no_bound_covers(tmp_path: Path) -> None:
    source, target = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text(f"{A} {MAIL}\n{B} {MAIL} {PHONE}\n")
    names = Pseudonyms()
    cmp = veil.CMP(epsilon=5)
    made = veil.protect_file(source, target, cmp, SPACE, redact=Redactor(pseudonyms=names))
    assert made.redacted == {"EMAIL": 2, "PHONE": 1}
    assert FOUND in made.cost.caveat
    assert LINKED in made.cost.caveat
    assert set(names.originals.values()) == {MAIL, PHONE}
    assert veil.protect_file(source, target, cmp, SPACE).redacted == {}


def test_nobody_looks_unless_asked() -> None:
    result = veil.protect([f"{A} {MAIL}"], veil.CMP(epsilon=5), SPACE)
    assert result.redacted == ()
    assert FOUND not in result.cost.caveat
    assert "[EMAIL]" not in result.rows[0][0]


class Cuts:
    """Finds the second and third letter of a text."""

    def spans(self, text: str) -> list[Span]:
        return [Span(1, 3, "LETTERS")]


def test_a_word_that_data_cuts_is_hidden_as_a_whole() -> None:
    redactor = Redactor()
    redactor.__dict__["_detector"] = Cuts()
    result = released(f"{A}, {B}", redactor)
    assert result.rows[0][0].startswith("[LETTERS], ")
    assert result.protected == (1,)


def test_the_same_data_is_the_same_pseudonym_and_another_key_another() -> None:
    names = Pseudonyms()
    text = f"{A} {MAIL} {B} {MAIL} {PHONE}"
    first = released(text, Redactor(pseudonyms=names)).rows[0][0].split()
    again = released(text, Redactor(pseudonyms=names)).rows[0][0].split()
    other = released(text, Redactor(pseudonyms=Pseudonyms())).rows[0][0].split()
    assert first[1] == first[3] == again[1] != other[1]
    assert first[1].startswith("[EMAIL-")
    assert sorted(names.originals.values()) == sorted([MAIL, PHONE])
    assert MAIL not in repr(names)
    assert names.key.hex() not in repr(Redactor(pseudonyms=names))


def test_presidio_finds_what_it_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_presidio.install(monkeypatch)
    result = released(f"{A} 555-1234 {B}", "presidio")
    assert result.redacted == (("PHONE_NUMBER",),)
    assert result.rows[0][0].split()[1] == "[PHONE_NUMBER]"


def test_an_error_of_presidio_quotes_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_presidio.install(monkeypatch)
    detector = PresidioFinder()

    def fails(**given: object) -> None:
        raise ValueError(given["text"])

    monkeypatch.setattr(detector._engine, "analyze", fails)
    with pytest.raises(VeilError, match="failed to search") as error:
        detector.spans(MAIL)
    assert error.value.__cause__ is None
    assert error.value.__suppress_context__


def test_without_presidio_nothing_is_released(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "presidio_analyzer", None)
    with pytest.raises(MissingExtraError, match=r"\[pii\]"):
        released(f"{A} {MAIL}", "presidio")


def test_bad_choices_are_named() -> None:
    with pytest.raises(ParameterError, match="'patterns' or 'presidio'.*Did you mean"):
        released(A, "pattern")
    with pytest.raises(ParameterError, match="Leave it out"):
        Redactor(model="en_core_web_sm")
    with pytest.raises(ParameterError, match="'redact'"):
        veil.protect([A], veil.mechanism("fea"), redact="patterns")


def test_two_originals_never_share_a_pseudonym() -> None:
    names = Pseudonyms()
    made = names.name("EMAIL", MAIL)
    names.originals[made] = "somebody@else.org"
    with pytest.raises(InputError, match="Protect the texts again") as error:
        names.name("EMAIL", MAIL)
    assert MAIL not in str(error.value)
