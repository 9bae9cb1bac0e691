"""What programs are answered by the interface; documents of a search are those of all doors."""

from pydantic import Field

from veil.proxy.answers import Answer, CostAnswer, FoundAnswer, Text


class ErrorAnswer(Answer):
    """Why a request was not served."""

    error: Text = Field(description="one sentence, which quotes no text")
    kind: str = Field(description="budget, gate, risk, engine, input, busy or server")


class TextAnswer(Answer):
    """The variants of one text."""

    variants: list[Text]
    protected_words: int
    kept_words: list[Text] = Field(description="words that passed unchanged by policy")


class ProtectAnswer(Answer):
    """The variants of all texts, in their order, and what the release costs."""

    mechanism: str
    size: int
    texts: list[TextAnswer]
    cost: CostAnswer
    seeded: bool


class SearchAnswer(Answer):
    """What was found for each query, in their order."""

    engine: str
    network: bool = Field(description="whether variants leave the machine")
    answers: list[FoundAnswer]
