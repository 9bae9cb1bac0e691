"""The contract of verbs: typed functions in ``<domain>/api.py``.

Commands, the HTTP interface and its description are derived from the signature of a verb:

- positional parameters are arguments, keyword-only parameters are options;
- ``mechanism`` is ``-m``, ``attack`` is ``-a``, ``of`` names the original, ``out`` is ``-o``;
- a parameter of type `Report` gets the progress reporter, and is no option;
- a parameter whose name Python reserves ends in "_", which its option does not show;
- a frozen dataclass stands for one option for each of its fields;
- the numpydoc section *Parameters* is the help of the options.

A verb returns a `Reply`, a release, an `Outcome`, figures by name, a text, or None.
"""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeVar


@dataclass(frozen=True)
class PathKind:
    """Kind of a path parameter: "file", "folder" or "any"; `new` if the verb writes it."""

    kind: str = "any"
    new: bool = False


@dataclass(frozen=True)
class SpecOf:
    """Registry ``module:NAME`` of the specs that a text parameter accepts."""

    registry: str


@dataclass(frozen=True)
class ReadsInput:
    """Text parameter for which - means standard input."""


@dataclass(frozen=True)
class MayNameFile:
    """A text parameter that may name a file; over HTTP it may be the content of one."""


@dataclass(frozen=True)
class SplitOnCommas:
    """Repeatable text option whose values may contain several comma-separated names."""


@dataclass(frozen=True)
class KeepCommas:
    """List-valued key of a study whose option takes one text per value."""


File = Annotated[Path, PathKind("file")]
Folder = Annotated[Path, PathKind("folder")]
NewFile = Annotated[Path, PathKind("file", new=True)]
NewPath = Annotated[Path, PathKind(new=True)]
TextOrInput = Annotated[str, ReadsInput()]
FileOrText = Annotated[str, MayNameFile()]
Columns = Annotated[tuple[str, ...], SplitOnCommas()]


@dataclass(frozen=True)
class Sheet:
    """A table for a screen: column heads, and rows of formatted cells.

    A narrow screen gets a line for each cell, unless `labels` or `narrow` is set.

    Attributes
    ----------
    labels
        Number of leading columns that identify a row: a narrow screen gets several tables, which
        repeat them.
    narrow
        The columns for a narrow screen, which wraps long texts but no figures.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    labels: int = 0
    narrow: Sequence[str] = ()


@dataclass(frozen=True)
class Reply:
    """The report of a verb.

    Attributes
    ----------
    lines
        Results, in the order of the output.
    notes
        Remarks that are not results, such as costs and names of written files.
    cautions
        Warnings and limits.
    data
        The results as JSON values, for ``--json`` and for programs.
    code
        Exit code of the command: 0, or 1 if a claim is refuted.
    """

    lines: Sequence[str | Sheet] = ()
    notes: Sequence[str] = ()
    cautions: Sequence[str] = ()
    data: Mapping[str, object] = field(default_factory=dict)
    code: int = 0


V = TypeVar("V", bound=Callable[..., object])
_LOCAL = "__veil_local__"


def local(verb: V) -> V:
    """Mark a verb as unavailable over HTTP, because it opens addresses or runs for long."""
    setattr(verb, _LOCAL, True)
    return verb


def is_local(verb: object) -> bool:
    """Return whether a verb is only for the command line."""
    return bool(getattr(verb, _LOCAL, False))


def verb_help(verb: Callable[..., object]) -> str:
    """Return the docstring of a verb up to its first numpydoc section."""
    text = inspect.getdoc(verb) or ""
    return re.split(r"\n(?=\S[^\n]*\n-{3,})", text, maxsplit=1)[0].strip()


@cache
def parameter_help(source: Any) -> Mapping[str, str]:  # noqa: ANN401 - a function or a class
    """Return the numpydoc texts of the parameters of a function, or the attributes of a class.

    >>> def protect(source, out):
    ...     '''Protect a file.
    ...
    ...     Parameters
    ...     ----------
    ...     source
    ...         File to read.
    ...     '''
    >>> dict(parameter_help(protect))
    {'source': 'File to read.'}
    """
    text = inspect.getdoc(source) or ""
    section = re.search(r"^(?:Parameters|Attributes)\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}|\Z)", text,
                        re.MULTILINE | re.DOTALL)  # fmt: skip
    helps: dict[str, str] = {}
    if section is None:
        return helps
    for entry in re.finditer(r"^(\w[^\n]*)\n((?:[ ]+[^\n]*\n?|\n)+)", section[1], re.MULTILINE):
        words = " ".join(entry[2].split())
        helps |= dict.fromkeys(re.split(r",\s*", entry[1].partition(" :")[0]), words)
    return helps
