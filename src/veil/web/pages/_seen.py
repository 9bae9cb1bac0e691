"""What the engine saw: the variants, with what became of each word."""

from collections import Counter

from veil.proxy.results import MARKS, Found, Mark, MarkKind, Seen
from veil.proxy.types import brief
from veil.web.pages._words import count
from veil.web.pages.markup import Markup, join, tag

_FIRST = 8  # variants that are shown at once
_OWN: tuple[MarkKind, ...] = ("same", "kept", "layout")
_SAMPLES: dict[MarkKind, str] = {
    "changed": "changed",
    "same": "drawn again",
    "unknown": "unknown",
    "kept": "kept",
}


def seen(found: Found) -> Markup:
    """Show the variants, the ones that are alike once, and say what the marks mean."""
    alike: dict[tuple[str, str], list[Seen]] = {}
    for one in found.seen:
        alike.setdefault((one.text, one.gap), []).append(one)
    lines = [_variant(same[0], len(same)) for same in alike.values()]
    first, more = lines[:_FIRST], lines[_FIRST:]
    rest = (
        tag("details", tag("summary", f"{count(len(more), 'more variant')}"),
            tag("ol", *more, class_="variants", start=_FIRST + 1))
        if more
        else ""
    )  # fmt: skip
    return join(
        tag("p", count(len(found.seen), "variant"), " of your query by ",
            tag("code", brief(found.setting.mechanism)), _kinds(len(lines), len(found.seen))),
        _in_clear(found.seen),
        tag("ol", *first, class_="variants"),
        rest,
        _legend(found.seen),
    )  # fmt: skip


def _in_clear(variants: tuple[Seen, ...]) -> Markup | str:
    """Warn of variants that hold words of the query and no others: they give it away."""
    clear = sum(all(mark.kind in _OWN for mark in one.marks) for one in variants)
    if not clear:
        return ""
    hold = "holds" if clear == 1 else "hold"
    return tag(
        "p",
        f"{clear:,} of them {hold} your words and no others: by chance the mechanism drew them"
        " all again. A more private stop makes that rarer.",
        class_="warning",
    )


def _kinds(different: int, of: int) -> str:
    if of == 1:
        return "."
    if different == of:
        return "; all different."
    alike = f"{different:,} different" if different > 1 else "all alike"
    return f"; {alike}. Equal ones are sent once."


def _variant(one: Seen, times: int) -> Markup:
    pieces = [_piece(mark) for mark in one.marks] or [one.text]
    repeated = tag("span", f" ×{times}", class_="times", title=f"drawn {times} times")
    return tag(
        "li",
        tag("bdi", *pieces),
        repeated if times > 1 else "",
        tag("p", "No answer: ", tag("bdi", one.gap), class_="gap") if one.gap else "",
    )


def _piece(mark: Mark) -> str:
    if mark.kind == "layout":
        return mark.text
    return tag("mark", mark.text, class_=mark.kind, title=MARKS[mark.kind])


def _legend(variants: tuple[Seen, ...]) -> Markup:
    """Say what each kind of mark means, and how many words have it."""
    counts = Counter(mark.kind for one in variants for mark in one.marks)
    known = [
        tag("div", tag("dt", tag("mark", sample, class_=kind)),
            tag("dd", f"{counts[kind]:,} ×", class_="times"), tag("dd", MARKS[kind]))
        for kind, sample in _SAMPLES.items()
        if counts[kind]
    ]  # fmt: skip
    return tag("dl", *known, class_="marks") if known else Markup("")
