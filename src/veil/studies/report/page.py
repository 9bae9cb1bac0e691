"""The skeleton of the page: one file that asks nothing of any network."""

import base64
import hashlib
from collections.abc import Sequence

from veil.studies.report.look import SCRIPT, STYLE
from veil.studies.report.markup import Markup, join, tag
from veil.studies.table import Section


def page(
    title: str,
    summary: Sequence[Markup],
    sections: Sequence[Section],
    *,
    style: str = STYLE,
    script: str = SCRIPT,
) -> str:
    """Put the whole page together; without a `script` the page forbids all of them."""
    links = [
        tag("li", tag("a", one.title, href=f"#{one.identity}")) for one in sections
    ]  # fmt: skip
    body = join(
        tag(
            "header",
            tag("h1", title),
            tag("nav", tag("ul", *links), aria_label="Sections"),
        ),
        tag(
            "main",
            tag("section", *(tag("p", one) for one in summary), class_="summary",
                aria_label="Summary"),
            *(_section(one) for one in sections),
        ),
        *([tag("script", Markup(script))] if script else []),
    )  # fmt: skip
    top = join(
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        tag("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name_="referrer", content="no-referrer"),
        tag("title", title),
        tag("style", Markup(style)),
    )
    return f"<!doctype html>\n{tag('html', tag('head', top), tag('body', body), lang='en')}\n"


def _section(one: Section) -> Markup:
    heading = tag("h2", one.title, id=one.identity)
    return tag("section", heading, *one.content, aria_labelledby=one.identity)


def _policy(style: str, script: str) -> str:
    """Forbid every load; allow our own style and script by their digests, and nothing else."""
    scripts = f" script-src '{_digest(script)}';" if script else ""
    return (
        f"default-src 'none'; style-src '{_digest(style)}';{scripts}"
        " base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
