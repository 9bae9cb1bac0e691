"""Known families of bi-encoders: how each pools its tokens, and what it puts before a text."""

import re
from dataclasses import dataclass
from typing import Literal

Pooling = Literal["mean", "cls"]


@dataclass(frozen=True)
class Family:
    """How the models of a family were trained; `pooling` None leaves it to the model's files."""

    pattern: str  # of the name in lower case
    pooling: Pooling | None = None
    query: str | None = None  # put before a query; None leaves it to the model's files
    document: str | None = None


_BGE = "Represent this sentence for searching relevant passages: "
_BGE_ZH = "为这个句子生成表示以用于检索相关文章："
_E5_INSTRUCT = (
    "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: "
)
FAMILIES = (
    Family(r"sentence-transformers/.*"),
    Family(r".*contriever.*", "mean", "", ""),
    Family(r".*distilbert-dot-tas_b.*", "cls", "", ""),
    Family(r"intfloat/.*e5.*mistral.*|intfloat/.*e5.*-instruct", None, _E5_INSTRUCT, ""),
    Family(r"intfloat/.*e5-.*", "mean", "query: ", "passage: "),
    Family(r"baai/bge-m3.*", "cls", "", ""),
    Family(r"baai/bge-(small|base|large)-zh.*", "cls", _BGE_ZH, ""),
    Family(r"baai/bge-(small|base|large)-en.*", "cls", _BGE, ""),
    Family(r"thenlper/gte-.*", "mean", "", ""),
    Family(r"alibaba-nlp/gte-(base|large|multilingual|modernbert).*", "cls", "", ""),
)
_OTHER = Family(r".*")


def family(model: str) -> Family:
    """Return the first family that a model's name belongs to.

    >>> family("intfloat/e5-base-v2").query, family("facebook/contriever").pooling
    ('query: ', 'mean')
    """
    name = model.lower()
    return next((each for each in FAMILIES if re.fullmatch(each.pattern, name)), _OTHER)
