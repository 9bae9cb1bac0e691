"""What a query may consist of: nodes by their type, and each node by its arguments."""

from typing import Any

from veil.core.errors import RefusedError

_ASK = "ask for counts, sums, averages and quantiles of listed columns"


def only(node: Any, *allowed: str) -> None:  # noqa: ANN401 - sqlglot's
    """Refuse a node that says more than what is allowed: nothing is dropped in silence."""
    for name, value in node.args.items():
        empty = value is None or value is False or value == []
        if not empty and name.rstrip("_") not in allowed:
            told = f"{kind_of(node)} with {name.rstrip('_').replace('_', ' ')}"
            raise RefusedError(f"A query with {told.upper()} is not answered; {_ASK}.")


def kind_of(node: Any) -> str:  # noqa: ANN401 - sqlglot's
    """Return the type of a node: its own, and not one that it inherits."""
    return type(node).__name__


def argument(node: Any, name: str) -> Any:  # noqa: ANN401 - sqlglot's
    """Return an argument of a node, however this sqlglot spells it."""
    found = node.args.get(name)
    return node.args.get(f"{name}_") if found is None else found


def bare(node: Any) -> Any:  # noqa: ANN401 - sqlglot's
    """Take brackets off."""
    while kind_of(node) == "Paren":
        only(node, "this")
        node = node.this
    return node


def refused(node: Any) -> RefusedError:  # noqa: ANN401 - sqlglot's
    """Return that a node is not one of those that are answered."""
    what = "".join(f" {one}" if one.isupper() else one for one in kind_of(node)).strip().upper()
    return RefusedError(f"A query with {what} is not answered; {_ASK}.")


def name_of(node: Any) -> tuple[str, bool]:  # noqa: ANN401 - sqlglot's
    """Return an identifier, and whether it was quoted."""
    if kind_of(node) != "Identifier":
        raise refused(node)
    only(node, "this", "quoted")
    return str(node.this), bool(node.args.get("quoted"))


def matched(name: str, quoted: bool, known: Any) -> str | None:  # noqa: ANN401 - an iterable
    """Find a name among those that are listed: as it is, or else whatever its letters' case."""
    names = list(known)
    if name in names:
        return name
    near = [one for one in names if one.casefold() == name.casefold()]
    return near[0] if not quoted and len(near) == 1 else None
