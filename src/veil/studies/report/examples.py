"""Examples of variants, with the changed words marked."""

from collections.abc import Sequence
from difflib import SequenceMatcher

from veil.studies.report.markup import Markup, join, tag
from veil.studies.report.tables import head, table
from veil.studies.table import Example

SHOWN = 3  # variants of each example


def examples(found: Sequence[Example]) -> list[Markup]:
    """Return a block for each query: its configurations and some variants of each."""
    queries = dict.fromkeys(example.query for example in found)
    blocks = []
    for i, query in enumerate(queries):
        body = [
            tag(
                "tr",
                tag("th", example.spec, scope="row"),
                tag("td", *_variants(query, example.variants)),
            )
            for example in found
            if example.query == query
        ]
        shown = table(f"Variants of “{query}”", [head("configuration", "variants")], body)
        opened = {"open": ""} if i == 0 else {}
        summary = tag("summary", "Query: ", tag("q", query))
        blocks.append(tag("details", summary, shown, **opened))
    return blocks


def changed(query: str, variant: str) -> list[tuple[str, bool]]:
    """Return the words of a variant, each with whether it differs from the query's.

    Words are compared by place where both texts have as many, else along their longest common
    sequence; case does not count.

    >>> changed("heart attack signs", "Heart attempt signs")
    [('Heart', False), ('attempt', True), ('signs', False)]
    """
    before, words = query.casefold().split(), variant.split()
    after = [word.casefold() for word in words]
    if len(before) == len(after):
        kept = {i for i, word in enumerate(after) if word == before[i]}
    else:
        blocks = SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
        kept = {block.b + i for block in blocks for i in range(block.size)}
    return [(word, i not in kept) for i, word in enumerate(words)]


def _variants(query: str, variants: Sequence[str]) -> list[Markup]:
    lines = []
    for variant in variants[:SHOWN]:
        found = changed(query, variant)
        words = [join(tag("mark", word) if new else word, " ") for word, new in found]
        if not any(new for _, new in found):
            words.append(tag("small", "(no new word)" if found else "(empty)"))
        lines.append(tag("div", *words))
    if len(variants) > SHOWN:
        lines.append(tag("small", f"and {len(variants) - SHOWN} more"))
    return lines
