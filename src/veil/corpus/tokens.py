"""Tokens of a text, with positions and case patterns; stop words; part-of-speech tags.

White space and punctuation are layout, which mechanisms keep. Everything else is a word: letters,
digits, and also symbols, emoji, control and unassigned characters, because only characters that
are known to be harmless may pass. An e-mail or web address is one word.

The default tagger is TextBlob's pattern tagger, which ships with its lexicon and never uses the
network. NLTK's and spaCy's taggers are available by name.
"""

import re
import unicodedata
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache

from veil.core.errors import InputError, MissingExtraError, UnknownNameError
from veil.core.formatting import printable

MASK = "[MASK]"  # replaces a hidden word
MAX_CHARS = 1_000_000  # default limit for one text


class Kind(StrEnum):
    """The kind of a word, by its spelling."""

    WORD = "word"
    NUMBER = "number"
    EMAIL = "email"
    URL = "url"
    IDENTIFIER = "identifier"  # letters and digits
    SYMBOL = "symbol"  # no letters or digits: emoji, currency signs, control characters


@dataclass(frozen=True, slots=True)
class Token:
    """A word of a text: `text[start:end]`."""

    start: int
    end: int
    kind: Kind


_SPECIAL = re.compile(
    r"(?P<email>(?<![\w.+%-])[\w.+%-]+@[\w-]+(?:\.[\w-]+)*)"
    r"|(?P<url>(?:(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{0,15}://|www\.)[^\s<>\"]*[\w/]"
    # a bare host, with or without a path; also matches end.Next without a space
    r"|(?<![\w.-])[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,24}(?![\w-])(?:[/:?#][^\s<>\"]*[\w/])?)"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_NUMBER = re.compile(r"[+-]?\d+(?:[.,:/]\d+)*")
_ASCII_WORD = re.compile(r"[A-Za-z]+")
_CLITIC = re.compile(r"(?:n['’]t|['’](?:s|m|d|t|re|ve|ll))$", re.IGNORECASE)
_JOINERS = "'’-"  # inside a word: don't, x-ray


@lru_cache(maxsize=4096)
def _is_layout(character: str) -> bool:
    """Return whether a character is white space or punctuation."""
    return character.isspace() or unicodedata.category(character)[0] in "PZ"


def check_text(text: object, where: str, max_chars: int = MAX_CHARS) -> str:
    """Return the text, or raise an error that does not quote it."""
    if not isinstance(text, str):
        raise InputError(f"{where} must be a string. Got {type(text).__name__} instead.")
    if len(text) > max_chars:
        raise InputError(
            f"{where} must have at most {max_chars:,} characters. Got {len(text):,} instead. Split"
            " it, or raise the limit with max_chars or --max-chars."
        )
    surrogate = None if text.isascii() else _SURROGATE.search(text)
    if surrogate:
        raise InputError(
            f"{where} has a lone surrogate at character {surrogate.start() + 1}, which is not"
            " text. Decode the input with the right encoding."
        )
    return text


def fold_text(text: str) -> str:
    """Return a text for comparison, with case and white space folded.

    >>> fold_text("  Skin   Cancer ")
    'skin cancer'
    """
    return " ".join(text.casefold().split())


def lookup_form(text: str) -> str:
    r"""Return a text for look-up: folded, with compatible characters unified (NFKC).

    >>> lookup_form("½ Cup of\0ﬂour")
    '1⁄2 cup of flour'
    """
    return fold_text(unicodedata.normalize("NFKC", printable(text)))


def tokens(text: str) -> list[Token]:
    """Return the words of a text, in order.

    >>> text = "Don't e-mail j.doe@x.org: HIV, 3.5 mg"
    >>> [text[t.start:t.end] for t in tokens(text)]
    ["Don't", 'e-mail', 'j.doe@x.org', 'HIV', '3.5', 'mg']
    """
    words: list[Token] = []
    at = 0
    for match in _SPECIAL.finditer(text) if "@" in text or "." in text or "/" in text else ():
        words += _words_between(text, at, match.start())
        words.append(Token(match.start(), match.end(), Kind(match.lastgroup or "url")))
        at = match.end()
    return words + _words_between(text, at, len(text))


def _words_between(text: str, start: int, end: int) -> list[Token]:
    """Return the words of ``text[start:end]``, which has no addresses."""
    words = []
    at = start
    while at < end:
        character = text[at]
        if _is_layout(character):
            at += 1
            continue
        number = _NUMBER.match(text, at, end)
        stop = number.end() if number else at + 1
        if number and stop < end and not _is_layout(text[stop]):
            number = None  # 3rd, 4x4: letters follow
        while number is None and stop < end and _continues(text, stop, end):
            stop += 1
        words.append(Token(at, stop, Kind.NUMBER if number else _kind(text[at:stop])))
        at = stop
    return words


def _continues(text: str, at: int, end: int) -> bool:
    """Return whether a word continues at `at`: with a word character or a joiner inside it."""
    if not _is_layout(text[at]):
        return True
    return (
        text[at] in _JOINERS and at + 1 < end and text[at + 1].isalnum() and text[at - 1].isalnum()
    )


def _kind(word: str) -> Kind:
    if _ASCII_WORD.fullmatch(word):
        return Kind.WORD
    letters = any(c.isalpha() for c in word)
    digits = any(c.isdigit() for c in word)
    if letters and digits:
        return Kind.IDENTIFIER
    if letters:
        return Kind.WORD
    return Kind.NUMBER if digits else Kind.SYMBOL


def without_clitic(word: str) -> str:
    """Return a word without a final clitic.

    >>> [without_clitic(word) for word in ("patient's", "don't", "skin")]
    ['patient', 'do', 'skin']
    """
    return _CLITIC.sub("", word)


def bare_parts(word: str) -> list[str]:
    """Return the hyphen-separated parts of a word, folded (NFC), without a clitic.

    >>> bare_parts("HIV-positive"), bare_parts("Crohn’s")
    (['hiv', 'positive'], ['crohn'])
    """
    folded = unicodedata.normalize("NFC", word).casefold()
    return [part for part in without_clitic(folded).split("-") if part] or [folded]


def unaccented(word: str) -> str:
    """Return a word without its accents.

    >>> unaccented("Sjögren"), unaccented("café")
    ('Sjogren', 'cafe')
    """
    decomposed = unicodedata.normalize("NFKD", word)
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))


class Case(StrEnum):
    """The case pattern of a word."""

    AS_IS = "as is"
    TITLE = "title"
    UPPER = "upper"


def case_of(word: str) -> Case:
    """Return the case pattern of a word, for its replacement."""
    if word.islower():
        return Case.AS_IS
    if len(word) > 1 and word.isupper():
        return Case.UPPER
    if word[:1].isupper() and not any(c.isupper() for c in word[1:]):
        return Case.TITLE
    return Case.AS_IS


def apply_case(case: Case, word: str) -> str:
    """Return a word in a case pattern.

    >>> apply_case(case_of("Cancer"), "melanoma"), apply_case(case_of("HIV"), "mri")
    ('Melanoma', 'MRI')
    """
    if case is Case.UPPER:
        return word.upper()
    if case is Case.TITLE:
        return word[:1].upper() + word[1:]
    return word


STOP_WORDS: frozenset[str] = frozenset(
    """
    a an the this that these those each every either neither some any no none all both such
    i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his
    himself she her hers herself it its itself they them their theirs themselves one ones who whom
    whose which what whatever whichever whoever someone somebody something anyone anybody anything
    everyone everybody everything nobody nothing
    about above across after against along among around as at before behind below beneath beside
    besides between beyond by despite down during except for from in inside into like near of off
    on onto out outside over past per since than through throughout till to toward towards under
    until up upon via with within without
    and but or nor so yet if unless whether while whereas although though because when whenever
    where wherever why how
    am is are was were be been being do does did doing done have has had having can could may might
    must shall should will would ought
    not only own same too very just also even ever never here there then thus hence again once more
    most much many few less least other another rather quite almost
    """.split()
)


Tagger = Callable[[Sequence[str]], list[str]]  # words of one text to Penn Treebank tags

TAGS = frozenset(  # of the Penn Treebank, without punctuation
    """
    CC CD DT EX FW IN JJ JJR JJS LS MD NN NNP NNPS NNS PDT POS PRP PRP$ RB RBR RBS RP SYM TO UH VB
    VBD VBG VBN VBP VBZ WDT WP WP$ WRB
    """.split()
)


def tagger(name: str = "pattern") -> Tagger:
    """Return a tagger by name: pattern, nltk or spacy."""
    if name not in _TAGGERS:
        raise UnknownNameError(f"No tagger '{name[:40]}'. Known: {', '.join(_TAGGERS)}.")
    return _TAGGERS[name]()


@cache
def _pattern() -> Tagger:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # TextBlob leaves files open
        from textblob.en import tag

        tag("a", tokenize=False)  # reads the lexicon

    def run(words: Sequence[str]) -> list[str]:
        return [str(mark) for _, mark in tag(" ".join(words), tokenize=False)]

    return run


@cache
def _nltk() -> Tagger:
    try:
        from nltk import pos_tag

        pos_tag(["test"])
    except (ImportError, LookupError):
        raise MissingExtraError(
            "The nltk tagger needs NLTK and its data: python -m nltk.downloader"
            " averaged_perceptron_tagger_eng."
        ) from None
    return lambda words: [mark for _, mark in pos_tag(list(words))]


@cache
def _spacy() -> Tagger:
    try:
        import spacy
        from spacy.tokens import Doc

        model = spacy.load("en_core_web_sm")
    except (ImportError, OSError):
        raise MissingExtraError(
            "The spacy tagger needs spaCy and its small English model: pip install 'veil[spacy]'"
            " and python -m spacy download en_core_web_sm."
        ) from None
    return lambda words: [token.tag_ for token in model(Doc(model.vocab, words=list(words)))]


_TAGGERS: dict[str, Callable[[], Tagger]] = {"pattern": _pattern, "nltk": _nltk, "spacy": _spacy}
