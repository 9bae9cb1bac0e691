"""Texts to words and back, with function words and part-of-speech tags.

Texts to words and back: a word keeps its place, spacing, punctuation and case pattern.
White space and punctuation are the layout, which stays. Everything else is a word: letters,
digits, and also symbols, emoji, control and unassigned characters, because what is not known to be
harmless must not pass. E-mail and web addresses are one word each.

Part-of-speech tags, by whichever tagger is at hand.
The default is TextBlob's pattern tagger: it ships with its lexicon, needs no download and never
reaches the network. NLTK's and spaCy's are used when asked for by name.
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

MASK = "[MASK]"  # in place of a word that is hidden
MAX_CHARS = 1_000_000  # in one text, unless the caller says otherwise


class Kind(StrEnum):
    """What sort of word it is, by its spelling."""

    WORD = "word"
    NUMBER = "number"
    EMAIL = "email"
    URL = "url"
    IDENTIFIER = "identifier"  # letters and digits mixed
    SYMBOL = "symbol"  # no letter and no digit: emoji, currency signs, control characters


@dataclass(frozen=True, slots=True)
class Token:
    """A word of a text: `text[start:end]`."""

    start: int
    end: int
    kind: Kind


_SPECIAL = re.compile(
    r"(?P<email>(?<![\w.+%-])[\w.+%-]+@[\w-]+(?:\.[\w-]+)*)"
    r"|(?P<url>(?:(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{0,15}://|www\.)[^\s<>\"]*[\w/]"
    # a bare host, with or without a path; end.Next without a space is taken for one, too
    r"|(?<![\w.-])[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,24}(?![\w-])(?:[/:?#][^\s<>\"]*[\w/])?)"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_NUMBER = re.compile(r"[+-]?\d+(?:[.,:/]\d+)*")
_ASCII_WORD = re.compile(r"[A-Za-z]+")
_CLITIC = re.compile(r"(?:n['’]t|['’](?:s|m|d|t|re|ve|ll))$", re.IGNORECASE)
_JOINERS = "'’-"  # inside a word: don't, x-ray


@lru_cache(maxsize=4096)
def _is_layout(character: str) -> bool:
    """Tell whether a character is white space or punctuation."""
    return character.isspace() or unicodedata.category(character)[0] in "PZ"


def check_text(text: object, where: str, max_chars: int = MAX_CHARS) -> str:
    """Return the text, or say what is wrong with it without quoting it."""
    if not isinstance(text, str):
        raise InputError(f"{where} must be a string. Got {type(text).__name__} instead.")
    if len(text) > max_chars:
        raise InputError(
            f"{where} has {len(text):,} characters, more than the limit of {max_chars:,};"
            " split it, or raise the limit: max_chars, --max-chars."
        )
    surrogate = None if text.isascii() else _SURROGATE.search(text)
    if surrogate:
        raise InputError(
            f"{where} has a lone surrogate at character {surrogate.start() + 1}, which is not"
            " text; decode the input with the right encoding."
        )
    return text


def fold_text(text: str) -> str:
    """Return a text as it is compared: case and white space folded.

    >>> fold_text("  Skin   Cancer ")
    'skin cancer'
    """
    return " ".join(text.casefold().split())


def lookup_form(text: str) -> str:
    r"""Return a text as it is looked up: folded, in whatever characters it is spelt (NFKC).

    >>> lookup_form("½ Cup of\0ﬂour")
    '1⁄2 cup of flour'
    """
    return fold_text(unicodedata.normalize("NFKC", printable(text)))


def tokens(text: str) -> list[Token]:
    """Find the words of a text, in order.

    >>> text = "Don't e-mail j.doe@x.org: HIV, 3.5 mg"
    >>> [text[t.start:t.end] for t in tokens(text)]
    ["Don't", 'e-mail', 'j.doe@x.org', 'HIV', '3.5', 'mg']
    """
    found: list[Token] = []
    at = 0
    for match in _SPECIAL.finditer(text) if "@" in text or "." in text or "/" in text else ():
        found += _plain(text, at, match.start())
        found.append(Token(match.start(), match.end(), Kind(match.lastgroup or "url")))
        at = match.end()
    return found + _plain(text, at, len(text))


def _plain(text: str, start: int, end: int) -> list[Token]:
    """Find the words of a stretch that has no addresses."""
    found = []
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
        while number is None and stop < end and _goes_on(text, stop, end):
            stop += 1
        found.append(Token(at, stop, Kind.NUMBER if number else _kind(text[at:stop])))
        at = stop
    return found


def _goes_on(text: str, at: int, end: int) -> bool:
    """Tell whether the word goes on at this character: also at a joiner between two letters."""
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
    """Return a word without a clitic at its end.

    >>> [without_clitic(word) for word in ("patient's", "don't", "skin")]
    ['patient', 'do', 'skin']
    """
    return _CLITIC.sub("", word)


def bare_parts(word: str) -> list[str]:
    """Return what is left of a word without case, accents' spelling, clitic and hyphens.

    >>> bare_parts("HIV-positive"), bare_parts("Crohn’s")
    (['hiv', 'positive'], ['crohn'])
    """
    plain = unicodedata.normalize("NFC", word).casefold()
    return [part for part in without_clitic(plain).split("-") if part] or [plain]


def unaccented(word: str) -> str:
    """Return a word without its accents.

    >>> unaccented("Sjögren"), unaccented("café")
    ('Sjogren', 'cafe')
    """
    apart = unicodedata.normalize("NFKD", word)
    return "".join(letter for letter in apart if not unicodedata.combining(letter))


class Case(StrEnum):
    """The case pattern of a word."""

    AS_IS = "as is"
    TITLE = "title"
    UPPER = "upper"


def case_of(word: str) -> Case:
    """Return the pattern of a word that its replacement is to follow."""
    if word.islower():
        return Case.AS_IS
    if len(word) > 1 and word.isupper():
        return Case.UPPER
    if word[:1].isupper() and not any(c.isupper() for c in word[1:]):
        return Case.TITLE
    return Case.AS_IS


def apply_case(case: Case, word: str) -> str:
    """Write a word in a case pattern.

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


Tagger = Callable[[Sequence[str]], list[str]]  # the words of one text -> Penn Treebank tags

TAGS = frozenset(  # of the Penn Treebank, without those of punctuation
    """
    CC CD DT EX FW IN JJ JJR JJS LS MD NN NNP NNPS NNS PDT POS PRP PRP$ RB RBR RBS RP SYM TO UH VB
    VBD VBG VBN VBP VBZ WDT WP WP$ WRB
    """.split()
)


def tagger(name: str = "pattern") -> Tagger:
    """Return a tagger by name: pattern, nltk or spacy."""
    if name not in _TAGGERS:
        raise UnknownNameError(f"No tagger called '{name[:40]}'. Known: {', '.join(_TAGGERS)}.")
    return _TAGGERS[name]()


@cache
def _pattern() -> Tagger:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # it leaves its lexicon's files open
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
            "The nltk tagger needs NLTK's data: python -m nltk.downloader"
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
