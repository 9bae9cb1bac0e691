"""One SELECT as a tree of sqlglot, of bounded size; nothing else is ever parsed."""

from typing import Any

from veil.core.errors import MissingExtraError, RefusedError

_CHARACTERS = 10_000
_TOKENS = 3_000
_DEPTH = 60  # of brackets
_OPENING, _CLOSING = ("L_PAREN", "L_BRACKET", "L_BRACE"), ("R_PAREN", "R_BRACKET", "R_BRACE")
_NAMED = ("COLON", "PARAMETER", "HINT", "BLOCK_START", "BLOCK_END")  # no values by name, no hints
_NOT_UNDERSTOOD = "The query is not understood; it must be one SELECT."


def parsed(query: str) -> tuple[Any, int]:
    """Return the tree of a query, and how many values it asks for by ``?``.

    A ``?`` becomes a value with a number: where it stands in the tree says nothing of where it
    stood in the text.
    """
    try:
        import sqlglot
        from sqlglot.errors import ParseError, SqlglotError
    except ImportError as error:
        raise MissingExtraError("Private SQL needs sqlglot: pip install 'veil[sql]'.") from error

    if not isinstance(query, str) or not query.strip():
        raise RefusedError("A query must be a text with one SELECT.")
    if len(query) > _CHARACTERS:
        raise RefusedError(f"A query must have at most {_CHARACTERS:,} characters; shorten it.")
    try:
        text, count = _numbered(query, sqlglot.tokenize(query))
        trees = sqlglot.parse(text)
    except RecursionError:
        raise RefusedError("The query is nested too deeply; write it in a simpler way.") from None
    except ParseError as error:
        raise RefusedError(_NOT_UNDERSTOOD + _place(error)) from None
    except (SqlglotError, ValueError, TypeError, LookupError, AttributeError):
        raise RefusedError(_NOT_UNDERSTOOD) from None
    if len(trees) != 1 or type(trees[0]).__name__ != "Select":
        raise RefusedError(_NOT_UNDERSTOOD)
    return trees[0], count


def _numbered(query: str, tokens: list[Any]) -> tuple[str, int]:
    """Check the words of a query, and number its ``?``."""
    kinds = [token.token_type.name for token in tokens]
    while kinds and kinds[-1] == "SEMICOLON":
        kinds.pop()
    if not kinds or kinds[0] != "SELECT" or "SEMICOLON" in kinds:
        raise RefusedError(_NOT_UNDERSTOOD)
    if len(kinds) > _TOKENS or _nesting(kinds) > _DEPTH:
        raise RefusedError(
            f"A query must have at most {_TOKENS:,} words and {_DEPTH} brackets within each other."
        )
    if any(kind in _NAMED for kind in kinds):
        raise RefusedError("The query must leave values open by ? alone, and have no hints.")
    pieces, after = [], 0
    marks = [token for token in tokens if token.token_type.name == "PLACEHOLDER"]
    for number, token in enumerate(marks):
        pieces += [query[after : token.start], f" :v{number} "]
        after = token.end + 1
    return "".join([*pieces, query[after:]]), len(marks)


def _nesting(kinds: list[str]) -> int:
    depth = deepest = 0
    for kind in kinds:
        depth += (kind in _OPENING) - (kind in _CLOSING)
        deepest = max(deepest, depth)
    return deepest


def _place(error: Any) -> str:  # noqa: ANN401 - sqlglot's
    """Say where a query stops making sense, in lines and columns."""
    first = error.errors[0] if error.errors else {}
    line, column = first.get("line"), first.get("col")
    return f" Look at line {line}, near column {column}." if line and column else ""
