"""Why the gate decides as it does: one sentence that names rules, and never what matched."""

from collections.abc import Iterable, Sequence

from veil.proxy.gate._rules import Rule

_SHOWN = 5  # names in one sentence

NO_RULES = "There are no rules, so that every query is obfuscated."
NO_MATCH = "None of your rules matches, so that the query is obfuscated."
HIDDEN = (
    "Obfuscated: the query holds characters that cannot be seen, which no rule on words lets pass."
)
UNCHECKED = "Refused: your rules could not be checked on this query, so that it must not be sent."


def too_long(limit: int) -> str:
    """Say that the rules are checked on shorter queries only."""
    return f"Refused: your rules are checked on queries of at most {limit:,} characters."


def refused(rules: Sequence[Rule]) -> str:
    """Say which rules refuse, and why they should."""
    written = all(not (rule.words or rule.topics or rule.everything) for rule in rules)
    why = (
        "no obfuscation is sure to hide a name, a number or an address that is written out"
        if written
        else "such queries are not sent in any form"
    )
    return f"Refused by {_yours(rules)}: {why}."


def obfuscated(rules: Iterable[Rule]) -> str:
    """Say which rules keep a query from being sent plainly."""
    return f"Obfuscated by {_yours(rules)}: such queries are never sent plainly."


def in_part(rules: Iterable[Rule]) -> str:
    """Say that rules would let pass a part of the query only."""
    return f"Obfuscated: {_yours(rules)} would let pass some words of the query, but not all."


def passed(rules: Iterable[Rule]) -> str:
    """Say what a rule that lets pass means."""
    return f"Obfuscated unless you ask for plain sending, which {_yours(rules)} would let pass."


def _yours(rules: Iterable[Rule]) -> str:
    names = [f"'{rule.name}'" for rule in rules]
    if len(names) == 1:
        return f"your rule {names[0]}"
    shown, left = names[:_SHOWN], len(names) - _SHOWN
    last = f"{left} more" if left > 0 else shown.pop()
    return f"your rules {', '.join(shown)} and {last}"
