"""Labels for a collection that has none: a document with a word of a list is sensitive."""

from collections.abc import Iterable
from dataclasses import fields, replace

import numpy as np

from veil.core.errors import ParameterError
from veil.corpus.collection import Collection
from veil.sensitive.collection import SensitiveCollection
from veil.sensitive.wording import words_of

# In the manner of OHSUMED, where diseases of the urogenital system were taken as sensitive.
TERMS = tuple(
    """
    hiv aids syphilis gonorrhea gonorrhoea chlamydia herpes papillomavirus hpv abortion pregnancy
    pregnant contraceptive contraception prostate prostatic testis testicular ovary ovarian uterine
    uterus vagina vaginal erectile sexual sexually infertility fertility menstrual menopause
    menopausal urogenital urinary genital gender transgender
    """.split()
)


def simulate(collection: Collection, terms: Iterable[str] = TERMS) -> SensitiveCollection:
    """Call a document sensitive when a term occurs in its title or text, as a word in any case.

    The terms are kept as `hidden`: a classifier that saw them would learn the list and no more.

    Notes
    -----
    Such labels are noise-free and lexical. What is measured on them says how strategies compare,
    and little about how well real sensitivity is recognised.
    """
    if isinstance(terms, str):
        raise ParameterError("The terms must be a list of words, not one text.")
    hidden = frozenset(str(term).strip().lower() for term in terms)
    if not hidden or not all(words_of(term) == [term] for term in hidden):
        raise ParameterError("The terms must be at least one, and single words each.")
    labels = np.array(
        [not hidden.isdisjoint(words_of(text)) for text in collection.documents.passages],
        dtype=np.int8,
    )
    if isinstance(collection, SensitiveCollection):
        return replace(collection, sensitive=labels, hidden=hidden)
    same = {one.name: getattr(collection, one.name) for one in fields(Collection)}
    return SensitiveCollection(**same, sensitive=labels, hidden=hidden)
