"""A topic is a noun of WordNet: the word, its synonyms, and everything below them."""

from collections.abc import Sequence

from veil.core.errors import ParameterError
from veil.corpus.wordnet import Thesaurus, wordnet
from veil.data.fetch import Report, silent
from veil.proxy.gate._reading import Unit, units, whole

_LEVELS = 40  # twice as deep as WordNet is
_MAX_TERMS = 30_000  # of one rule


def terms(
    topics: Sequence[str], where: str, senses: int = 0, report: Report = silent
) -> list[list[Unit]]:
    """Return the words and compounds that belong to topics; `senses` as in `Thesaurus`.

    Words below a topic that are spelt like a function word, a letter or a number are left out: a
    "will" is a document, too.
    """
    thesaurus = wordnet(report=report)
    asked = [" ".join(topic.split()).lower() for topic in topics]
    found: set[str] = set()
    for number, topic in enumerate(asked, start=1):
        below = _below(thesaurus, topic, senses)
        if below is None:
            raise ParameterError(
                f"The 'topics' number {number} of {where} must be a noun that WordNet knows;"
                " put other words under 'words'."
            )
        found |= below
        if len(found) > _MAX_TERMS:
            raise ParameterError(
                f"The 'topics' number {number} of {where} must be narrower: with it there are more"
                f" than {_MAX_TERMS:,} words."
            )
    spelt = [units(term) for term in sorted(found | {whole(term) for term in found})]
    return [units(topic) for topic in asked] + [words for words in spelt if _telling(words)]


def _telling(words: Sequence[Unit]) -> bool:
    """Tell whether a term has a word of its own in it."""
    return any(word.counts and len(word.text) > 1 and not word.text.isdigit() for word in words)


def _below(thesaurus: Thesaurus, topic: str, senses: int) -> frozenset[str] | None:
    """Return synonyms and hyponyms at all levels; None for a word that is not known."""
    found = thesaurus.synonyms(topic, "NN", senses)
    found |= thesaurus.hyponyms(topic, "NN", _LEVELS, senses)
    return found if found or thesaurus.hypernyms(topic, "NN") else None
