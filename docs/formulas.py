r"""Turn formulas into MathML while the site is built, so that a page loads nothing from elsewhere.

A formula is ``$...$`` or a block between lines of ``$$``, as code hosts show them, too, or, in a
docstring, :math:`...` or a block after ``.. math::``. mkdocs runs `on_config` (``hooks`` in
mkdocs.yml); what cannot be written in MathML stops the build.
"""

import re
from collections.abc import Iterator

from latex2mathml.converter import convert
from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor
from markdown.preprocessors import Preprocessor

_NAMES = {"arg": r"\mathrm{arg}", "bmod": r"\;\mathrm{mod}\;"}  # which the converter lacks
_BAR = '<mo stretchy="false">&#x0007C;</mo>'  # browsers would set it apart, as an operator
_BLOCK = re.compile(
    r"^(?P<indent> *)(?:\$\$(?P<dollars>[^$]+)\$\$ *$"
    r"|\.\. math::(?P<directive>.*(?:\n(?P=indent) +\S.*|\n[ ]*(?=\n(?P=indent) +\S))*))",
    re.MULTILINE,
)
_ROLE = r":math:`([^`]+)`"
_DOLLARS = r"(?<![\\$\w])\$(?=\S)([^$\n]*[^$\s])\$(?![\w$])"


def mathml(latex: str, display: str = "inline") -> str:
    r"""Return one formula as MathML.

    >>> mathml(r"\frac{1}{2}").partition("<mfrac>")[2]
    '<mn>1</mn><mn>2</mn></mfrac></mrow></math>'
    """
    known = re.sub(r"\\([A-Za-z]+)", lambda name: _NAMES.get(name[1], name[0]), latex)
    known = re.sub(r"(\\(?:ln|log))(?=\s*\\[a-z]|\s+\w)", r"\1\\,", known)
    written = convert(" ".join(known.split()), display=display)
    if re.search(r">[^<]*\\[A-Za-z]", written):
        raise ValueError(f"no MathML for the formula {latex}")
    return written.replace(_BAR, _BAR.replace(">", ' lspace="0" rspace="0">', 1))


def block(latex: str) -> str:
    """Return a block of formulas; on a narrow screen each is on a line of its own."""
    parts = "".join(mathml(part, "block") for part in _parts(latex))
    return f'<div class="formula">{parts}</div>'


def _parts(latex: str) -> Iterator[str]:
    r"""Cut where a space of a ``\quad`` stands outside of all brackets."""
    depth, begun = 0, 0
    for mark in re.finditer(r"\\[A-Za-z]+|\\.|[{}]", latex, re.DOTALL):
        depth += {"{": 1, r"\left": 1, "}": -1, r"\right": -1}.get(mark[0], 0)
        if depth == 0 and mark[0] in (r"\quad", r"\qquad"):
            yield latex[begun : mark.start()]
            begun = mark.end()
    yield latex[begun:]


class _Blocks(Preprocessor):
    """Keeps the formulas that stand alone from the rest of the conversion."""

    def run(self, lines: list[str]) -> list[str]:
        return _BLOCK.sub(self._kept, "\n".join(lines)).split("\n")

    def _kept(self, match: re.Match[str]) -> str:
        latex = match["dollars"] or match["directive"]
        kept = self.md.htmlStash.store(block(latex))
        return f"\n{match['indent']}{kept}\n"


class _Inline(InlineProcessor):
    """Keeps a formula within a line."""

    def handleMatch(  # type: ignore[override]  # noqa: N802 - the name of the library
        self,
        m: re.Match[str],
        data: str,  # noqa: ARG002
    ) -> tuple[str, int, int]:
        return self.md.htmlStash.store(mathml(m[1])), m.start(0), m.end(0)


class Formulas(Extension):
    """Formulas of pages and docstrings, as MathML."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 - the name of the library
        """Begin after code blocks (25) were put aside; within lines, `code` is 190."""
        md.preprocessors.register(_Blocks(md), "formula-blocks", 22)
        md.inlinePatterns.register(_Inline(_ROLE, md), "formula-role", 195)
        md.inlinePatterns.register(_Inline(_DOLLARS, md), "formula", 185)


def on_config(config):  # noqa: ANN001, ANN201 - mkdocs is not there where types are checked
    """Add the formulas to the extensions of all pages, those of docstrings, too."""
    config["markdown_extensions"].append(Formulas())
    return config
