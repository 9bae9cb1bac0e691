"""HTML in which a string is text unless it is Markup: that of the reports, and empty elements."""

from veil.studies.report.markup import Markup as Markup
from veil.studies.report.markup import join as join
from veil.studies.report.markup import tag as tag

ON = ""  # value of an attribute that counts by being there


def void(name: str, **attributes: object) -> Markup:
    """Return an element that has no content, such as a field of a form.

    >>> void("input", name_="q", required=ON, value=None)
    '<input name="q" required="">'
    """
    return Markup(tag(name, **attributes).removesuffix(f"</{name}>"))


def hidden(words: str) -> Markup:
    """Say something to those who listen to the page alone."""
    return tag("span", words, class_="aside-only")


def isolated(words: str) -> Markup:
    """Show foreign words: their direction of writing is their own and touches nothing else."""
    return tag("bdi", words)
