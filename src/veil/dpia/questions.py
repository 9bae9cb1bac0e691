"""What is asked of a person: one row per question, with its place in the five steps.

The numbers are those of the questions in the PIA software of the CNIL, whose files
`veil.dpia.cnil` writes. The five steps are the usual process of an impact assessment: identify
the needs, describe the processing, assess the risks, mitigate them, and the final steps.
"""

from typing import NamedTuple

GAP = "NOT STATED"
STEPS = (
    "Identify the needs",
    "Description of the processing",
    "Risk assessment",
    "Risk mitigation",
    "Final steps",
)


class Question(NamedTuple):
    """One question: its key in the file, its step from 1, its number, and what is asked."""

    key: str
    step: int
    reference: int
    asks: str


QUESTIONS = (
    Question("description", 1, 111, "What is the processing that is assessed?"),
    Question("controller", 1, 112, "Who is the controller?"),
    Question("processor", 1, 112, "Who is the processor?"),
    Question("legal_basis", 1, 212, "What is the legal basis?"),
    Question("standards", 1, 113, "Which standards or codes of conduct apply?"),
    Question("data", 1, 121, "Which data are stored?"),
    Question("purposes", 2, 211, "For what purposes?"),
    Question("collection", 2, 122, "How are the data collected?"),
    Question("storage", 2, 122, "How are they stored?"),
    Question("access", 2, 122, "Who has access, and how?"),
    Question("querying", 2, 122, "How are they queried, and what leaves?"),
    Question("assets", 2, 123, "On which systems and supports do they lie?"),
    Question("recipients", 2, 121, "Who receives them?"),
    Question("retention", 2, 215, "How long are they kept?"),
    Question("minimisation", 2, 213, "Why is each of them needed?"),
    Question("accuracy", 2, 214, "How are they kept accurate and up to date?"),
    Question("information", 2, 221, "How are the people informed?"),
    Question("consent", 2, 222, "How is consent obtained, where it is the basis?"),
    Question("access_rights", 2, 223, "How do people exercise access and portability?"),
    Question("rectification", 2, 224, "How do they exercise rectification and erasure?"),
    Question("objection", 2, 225, "How do they exercise restriction and objection?"),
    Question("contracts", 2, 226, "What do the contracts with processors say?"),
    Question("transfers", 2, 227, "Are data transferred abroad, and how are they protected?"),
    Question("stakeholders", 5, 0, "Who was consulted, and what did they say?"),
)
PEOPLE = {"author": "Author", "evaluator": "Evaluator", "validator": "Validator"}


class Event(NamedTuple):
    """Something that people fear: its key, the tens of its questions, and what it is."""

    key: str
    tens: int
    title: str


EVENTS = (
    Event("access", 320, "Illegitimate access to data"),
    Event("modification", 330, "Unwanted modification of data"),
    Event("loss", 340, "Disappearance of data"),
)
LISTED = {  # the parts of an event that are lists, by the last digit of their question
    "impacts": (1, "Impacts on the people"),
    "threats": (2, "Threats"),
    "sources": (3, "Sources of the risk"),
}
