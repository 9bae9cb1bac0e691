"""Examples of releases, with the changed words marked."""

from collections.abc import Sequence
from difflib import SequenceMatcher

from veil.studies.experiment import Vocabulary
from veil.studies.report.markup import Markup, join, tag
from veil.studies.report.tables import head, table
from veil.studies.table import Example

SHOWN = 3  # releases of each example


def examples(found: Sequence[Example], words: Vocabulary) -> list[Markup]:
    """Return a block for each subject: its configurations and some releases of each."""
    blocks = []
    for i, subject in enumerate(dict.fromkeys(example.subject for example in found)):
        body = [
            tag(
                "tr",
                tag("th", example.spec, scope="row"),
                tag("td", *_releases(subject, example.releases)),
            )
            for example in found
            if example.subject == subject
        ]
        caption = f"{words.size.capitalize()} of “{subject}”"
        shown = table(caption, [head("configuration", words.size)], body)
        opened = {"open": ""} if i == 0 else {}
        summary = tag("summary", f"{words.subject.capitalize()}: ", tag("q", subject))
        blocks.append(tag("details", summary, shown, **opened))
    return blocks


def changed(subject: str, release: str) -> list[tuple[str, bool]]:
    """Return the words of a release, each with whether it differs from the original's.

    Words are compared by place where both texts have as many, else along their longest common
    sequence; case does not count.

    >>> changed("heart attack signs", "Heart attempt signs")
    [('Heart', False), ('attempt', True), ('signs', False)]
    """
    before, words = subject.casefold().split(), release.split()
    after = [word.casefold() for word in words]
    if len(before) == len(after):
        kept = {i for i, word in enumerate(after) if word == before[i]}
    else:
        blocks = SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
        kept = {block.b + i for block in blocks for i in range(block.size)}
    return [(word, i not in kept) for i, word in enumerate(words)]


def _releases(subject: str, releases: Sequence[str]) -> list[Markup]:
    lines = []
    for release in releases[:SHOWN]:
        found = changed(subject, release)
        words = [join(tag("mark", word) if new else word, " ") for word, new in found]
        if not any(new for _, new in found):
            words.append(tag("small", "(no new word)" if found else "(empty)"))
        lines.append(tag("div", *words))
    if len(releases) > SHOWN:
        lines.append(tag("small", f"and {len(releases) - SHOWN} more"))
    return lines
