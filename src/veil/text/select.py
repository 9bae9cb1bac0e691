"""Select the words of a text that are protected, for any mechanism.

====================  =====================================================================
``"all"``             every word
``"content"``         every word except the function words of `veil.corpus.tokens`
``"pos:NN NNS JJ"``   words with these Penn Treebank tags (``nltk:`` or ``spacy:`` instead of
                      ``pos:`` choose another tagger)
a list of terms       these words and phrases
a function            words of one text -> one boolean per word, for example a detector of
                      personal data
====================  =====================================================================

The selection applies to ordinary known words. Numbers, addresses and out-of-vocabulary words
follow their own policies (see `protect`) and never pass because they are not selected.

A bound holds between two selected words. If selection depends on the context (tags, phrases, a
function), replacing a protected word by another one may unselect it, so that it passes unchanged.
Prefer ``content`` or a list of single words, for which the bound is easy to interpret.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Literal

from veil.core.errors import ParameterError, VeilError
from veil.core.registry import did_you_mean
from veil.corpus.tokens import STOP_WORDS, TAGS, bare_parts, tagger, tokens

Reach = Literal["all", "words", "context"]
Selector = Callable[[Sequence[str]], Sequence[bool]]
Select = str | Collection[str] | Selector
_NAMES = ("all", "content", "pos", "nltk", "spacy")
_WANTED = (
    "The 'select' argument must be 'all', 'content', 'pos:' with tags (as 'pos:NN JJ'), a list of"
    " terms, or a function of a list of words."
)


def selector(select: Select) -> Selector:
    """Return a selection as a function of the words of one text."""
    if callable(select):
        return _checked(select)
    if not isinstance(select, str):
        return _by_terms(select)
    if select == "all":
        return lambda words: [True] * len(words)
    if select == "content":
        return lambda words: [word.lower() not in STOP_WORDS for word in words]
    kind, colon, tags = select.partition(":")
    if colon and tags.split() and kind in ("pos", "nltk", "spacy"):
        return _by_tags("pattern" if kind == "pos" else kind, frozenset(tags.split()))
    raise ParameterError(_WANTED + did_you_mean(select.partition(":")[0], _NAMES))


def reach(select: Select) -> Reach:
    """Return what a selection depends on: nothing ("all"), the word only, or also its context.

    Lists with phrases, taggers and functions may depend on the context.

    >>> reach("all"), reach(["cancer", "hiv"]), reach(["skin cancer"]), reach("pos:NN")
    ('all', 'words', 'context', 'context')
    """
    if callable(select):
        return "context"
    if isinstance(select, str):
        return "all" if select == "all" else "words" if select == "content" else "context"
    return "context" if any(len(_bare(term)[0]) > 1 for term in select) else "words"


def _checked(function: Selector) -> Selector:
    def choose(words: Sequence[str]) -> Sequence[bool]:
        answers = [bool(answer) for answer in function(words)]
        if len(answers) != len(words):
            raise ParameterError(
                f"The 'select' function must give one answer per word: {len(words)} words,"
                f" {len(answers)} answers."
            )
        return answers

    return choose


def _by_tags(name: str, tags: frozenset[str]) -> Selector:
    if strange := sorted(tags - TAGS):  # a misspelt tag would unprotect every word
        raise ParameterError(
            f"The 'select' argument has the unknown tag '{strange[0][:40]}'."
            f" Use these tags: {' '.join(sorted(TAGS))}."
        )
    tag = tagger(name)

    def choose(words: Sequence[str]) -> Sequence[bool]:
        if not words:
            return []
        # Not every tagger understands every spelling, so it gets alphabetic words only.
        alphabetic = [word if word.replace("-", "").isalpha() else "thing" for word in words]
        marks = tag(alphabetic)
        if len(marks) != len(words):  # the tagger split words: protect everything
            return [True] * len(words)
        # The pattern tagger marks some words with several tags, as in NN|VBG.
        return [not tags.isdisjoint(mark.split("|")) for mark in marks]

    return choose


def _by_terms(terms: Collection[str]) -> Selector:
    if not isinstance(terms, Iterable):
        raise ParameterError(_WANTED)
    phrases = {_bare(term)[0] for term in terms} - {()}
    if not phrases:
        raise VeilError("The 'select' list must have at least one term to protect.")
    lengths = sorted({len(phrase) for phrase in phrases})

    def choose(words: Sequence[str]) -> Sequence[bool]:
        parts, owner = _flatten(words)
        selected = [False] * len(words)
        for i in range(len(parts)):
            for length in lengths:
                if parts[i : i + length] in phrases:
                    for word in owner[i : i + length]:
                        selected[word] = True
        return selected

    return choose


def _bare(term: object) -> tuple[tuple[str, ...], list[int]]:
    if not isinstance(term, str):
        raise ParameterError("The 'select' list must hold terms, which are strings.")
    return _flatten([term[t.start : t.end] for t in tokens(term)])


def _flatten(words: Sequence[str]) -> tuple[tuple[str, ...], list[int]]:
    """Return the bare parts of all words, and the index of the word of each part.

    Parts make 'HIV' match "HIV-positive" and "HIV's".
    """
    parts: list[str] = []
    owner: list[int] = []
    for number, word in enumerate(words):
        for part in bare_parts(word):
            parts.append(part)
            owner.append(number)
    return tuple(parts), owner
