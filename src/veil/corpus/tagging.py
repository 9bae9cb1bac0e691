"""Part-of-speech tags, by whichever tagger is at hand.

The default is TextBlob's pattern tagger: it ships with its lexicon, needs no download and never
reaches the network. NLTK's and spaCy's are used when asked for by name.
"""

import warnings
from collections.abc import Callable, Sequence
from functools import cache

from veil.core.errors import MissingExtraError, UnknownNameError

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
