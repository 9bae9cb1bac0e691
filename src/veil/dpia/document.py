"""The document as plain parts, which each writer draws in its own way."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading below that of a step."""

    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph; a `hint` is set in smaller letters."""

    text: str
    hint: bool = False


@dataclass(frozen=True, slots=True)
class Items:
    """A list, each entry with what stands before it in bold, or nothing."""

    entries: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Questions with the paragraphs of their answers."""

    entries: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """A table; the first cell of a row is its name."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


Part = Heading | Paragraph | Items | Pairs | Grid


@dataclass(frozen=True, slots=True)
class Chapter:
    """A part of the document that the list of contents names."""

    identity: str
    title: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """The whole: a title, sentences that sum it up, and chapters."""

    title: str
    summary: tuple[str, ...]
    chapters: tuple[Chapter, ...]
