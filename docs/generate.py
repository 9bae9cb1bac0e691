"""Write the generated pages of the documentation, or check that they are current.

``python docs/generate.py`` writes them; ``python docs/generate.py --check`` writes nothing, names
the pages that differ and exits with 1.
"""

import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from copy import copy
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Literal, get_args, get_origin

import api_pages
import click
from pydantic.fields import FieldInfo

from veil.cli import veil
from veil.cli.audit import CommandWithSubcommands
from veil.cli.flags import kind_of
from veil.core.component import Component, example
from veil.core.guarantee import KINDS, Guarantee
from veil.encoders import ENCODERS
from veil.search.engines import ENGINES
from veil.text.mechanisms.mechanism import TextMechanism
from veil.text.mechanisms.queries import QUERY_MECHANISMS
from veil.text.mechanisms.queries.cover import NOT_COVERED, Cover
from veil.text.mechanisms.words import MECHANISMS
from veil.web.guard import HEAD_BYTES
from veil.web.operation import reference
from veil.web.routes import all_operations

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
WIDTH = 99
CLICK = version("click")  # its help differs a little from version to version
NOTE = "<!-- Written by docs/generate.py: do not edit. -->\n\n"


def pages() -> dict[str, str]:
    """Return the text of every generated page by its name."""
    return {
        "mechanisms.md": NOTE + mechanisms_page(),
        "engines.md": NOTE + engines_page(),
        "cli.md": NOTE + cli_page(),
        "http-api.md": NOTE + http_page(),
        **{name: NOTE + text for name, text in api_pages.pages().items()},
        "threat-model.md": NOTE + _part(ROOT / "SECURITY.md", "## Threat model"),
    }


def http_page() -> str:
    """Describe the interface of the search page."""
    return (
        "# HTTP interface\n\n`veil serve` has the verbs of the command line for programs on the"
        " same machine, under its own address\n(default `http://127.0.0.1:8765`)."
        " `GET /openapi.json` describes it for machines.\n\nBodies are JSON, with"
        " `Content-Type: application/json`, of at most 1 MB; a head (address and headers) has at"
        f" most {HEAD_BYTES:,} bytes, and\n10 seconds to arrive. Errors are JSON, too:"
        " `error` is one\nsentence that quotes no text, `kind` its class. A number that JSON"
        " cannot represent is null.\n\n"
        "| status | reason |\n|---|---|\n"
        "| 400 | an ambiguous head (a length and chunks) |\n"
        "| 401 | no token |\n"
        "| 403 | another site or user behind the request; the budget, the gate or the risk forbids"
        " a search |\n"
        "| 404, 405 | a wrong address or method |\n"
        "| 413, 415, 431 | a body that is too long or not JSON; a head that is too long |\n"
        "| 421 | another host |\n"
        "| 422 | an input that cannot be used |\n"
        "| 429, 503 | too many requests; `Retry-After` gives the time to wait |\n"
        "| 502 | the engine failed |\n\n"
        "Every request needs the token of the page, as `Authorization: Bearer TOKEN`. `veil token"
        " --header` prints that line. Pass it\nthrough a pipe, so that the token is not in an"
        " argument, which other users of the machine could see.\n\n"
        "```sh\nveil token --header | curl -s -H @- http://127.0.0.1:8765/api/search \\\n"
        "  -H 'Content-Type: application/json' \\\n"
        '  -d \'{"query": "treatment for skin cancer"}\'\n'
        "veil token --header | curl -s -H @- http://127.0.0.1:8765/api/protect \\\n"
        "  -H 'Content-Type: application/json' \\\n"
        '  -d \'{"texts": ["skin cancer"], "mechanism": "cmp(epsilon=6)", "size": 3}\'\n'
        "```\n\n"
        "A request can set only numbers and choices of a mechanism. A parameter that names a file,"
        " an address or anything else to open\n(such as `index` of `fea`) keeps its default, in"
        " plugins, too; a request that sets it is refused before anything is opened. `GET\n"
        "/api/mechanisms` lists the parameters. Nothing is fetched for a request: `aea` and `fea`"
        " need `veil fetch wordnet`.\n\n"
        "Searches go through the gate, the ledger and the budget, like those of the page and of"
        " `veil search`.\n`veil search --json` prints the keys listed below under `answers`, with"
        " the variants as texts, and the spec of the engine.\n`protect` returns variants to the"
        " caller and sends nothing: they are not in the ledger.\n\n"
    ) + reference(all_operations())


def stale() -> list[str]:
    """Return the names of the pages that are missing or differ."""
    return [
        name
        for name, text in pages().items()
        if not (DOCS / name).is_file() or (DOCS / name).read_text(encoding="utf-8") != text
    ]


def _part(path: Path, heading: str) -> str:
    """Return one section of a file at the root, one level up, its links seen from here."""
    text = path.read_text(encoding="utf-8").replace("](docs/", "](")
    found = re.search(rf"^{re.escape(heading)}.*?(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if found is None:
        raise SystemExit(f"{path.name} has no section '{heading}'.")
    return re.sub(r"^##", "#", found.group().rstrip() + "\n", flags=re.MULTILINE)


def mechanisms_page() -> str:
    """Describe every built-in mechanism from what it declares."""
    parts = [
        "# Mechanisms\n",
        "A mechanism replaces one word by another at random. Each proof is for one word and one"
        " variant; [Guarantees](guarantees.md) explains the kinds and how they add up. `veil"
        " mechanisms` prints the same facts.\n",
    ]
    for name in sorted(MECHANISMS.builtin):
        parts += _mechanism(MECHANISMS.get(name))
    parts.append(
        "## Mechanisms for whole queries\n\nThese rewrite a query into others. They draw nothing"
        " at random, nothing is proved of them, and they need no word vectors.\n"
    )
    for name in sorted(QUERY_MECHANISMS.builtin):
        parts += _mechanism(QUERY_MECHANISMS.get(name), level=3)
    return "\n".join(parts)


def engines_page() -> str:
    """Describe every built-in engine and encoder from what it declares."""
    parts = [
        "# Engines and encoders\n",
        "An engine receives the variants; an encoder re-ranks the results on your machine."
        " [Private search](private-search.md) explains their use. `veil engines` prints the same"
        " facts.\n",
    ]
    parts += [part for name in sorted(ENGINES.builtin) for part in _component(ENGINES.get(name))]
    parts.append("## Encoders\n")
    parts += [
        part
        for name in sorted(ENCODERS.builtin)
        for part in _component(ENCODERS.get(name), level=3)
    ]
    return "\n".join(parts)


def _component(cls: type[Component], level: int = 2) -> list[str]:
    body, paper, notes = _sections(inspect.getdoc(cls) or "")
    return [
        f"{'#' * level} {cls.name}\n",
        body + "\n",
        _parameters(cls),
        *([f"**Paper**: {paper}\n"] if paper else []),
        *([f"**Notes**: {notes}\n"] if notes else []),
    ]


def _parameters(cls: type[Component]) -> str:
    rows = [
        f"| `{key}` | {kind_of(field).replace('|', ' or ')} | {_default(field)}"
        f" | {field.description} |"
        for key, field in cls.model_fields.items()
    ]
    head = "| parameter | value | default | meaning |\n|---|---|---|---|\n"
    return head + "\n".join(rows) + "\n"


def _mechanism(cls: type[TextMechanism], level: int = 2) -> list[str]:
    body, paper, notes = _sections(inspect.getdoc(cls) or "")
    shown = example(cls)
    flags = "".join(
        f" --{key} {value:g}" for key, value in shown if cls.model_fields[key].is_required()
    )
    chosen = getattr(cls, "select", None)
    return [
        f"{'#' * level} {cls.name}\n",
        body + "\n",
        _parameters(cls),
        *_guarantees(shown),
        *([f"**Words protected by default**: `{chosen}`.\n"] if chosen else []),
        f"**Paper**: {paper}\n",
        *([f"**Notes**: {notes}\n"] if notes else []),
        "**Example**:\n\n"
        f'```sh\nveil protect {cls.name}{flags} "Treatment for skin cancer?"\n```\n\n'
        f"```python\n{_call(shown)}\n```\n",
    ]


def _call(shown: TextMechanism) -> str:
    """Return the call that builds a mechanism, laid out as the formatter wants it."""
    line = f'veil.mechanism("{shown}")'
    return line if len(line) <= WIDTH else f'veil.mechanism(\n    "{shown}"\n)'


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    return "empty" if field.default == "" else f"`{field.default}`"


def _guarantees(shown: TextMechanism) -> Iterator[str]:
    """Say what is proved of the example, and of what differs from it in the kind of guarantee."""
    given = shown.guarantee
    if isinstance(shown, Cover):  # whether its table is there or not, the page is the same
        told = "The bits are the logarithm of the number of groups of the table."
        given = Guarantee("leakage", unit="query", caveat=f"{told} {NOT_COVERED}")
    yield _guarantee(given, f"**Guarantee** of `{shown}`")
    found: list[set[tuple[str, object]]] = []
    for changes in sorted(_variations(shown), key=len):
        if any(smaller <= set(changes.items()) for smaller in found):
            continue
        other = type(shown).load(dict(shown) | changes)
        if other.guarantee.kind != shown.guarantee.kind:
            found.append(set(changes.items()))
            given = ", ".join(f"{key}={value!r}" for key, value in changes.items())
            yield _guarantee(other.guarantee, f"**Guarantee** with `{given}`")


def _guarantee(guarantee: Guarantee, heading: str) -> str:
    if guarantee.kind == "none":
        return f"{heading}: none. {guarantee.caveat}\n"
    additive = f" and additive {guarantee.additive:.4f}" if guarantee.additive else ""
    told = guarantee.kind not in ("group-dp", "leakage")
    metric = f"Here d is `{guarantee.metric}`{additive}. " if told else ""
    return (
        f"{heading}: {guarantee.kind}, that is\n\n```text\n{KINDS[guarantee.kind]}\n```\n\n"
        f"{metric}{guarantee.caveat}\n"
    )


def _variations(shown: TextMechanism) -> Iterator[dict[str, object]]:
    """Give each choice its other values, and each number half its default, in every mixture."""
    options = []
    for key, field in type(shown).model_fields.items():
        if get_origin(field.annotation) is Literal:
            others = [value for value in get_args(field.annotation) if value != field.default]
        elif field.annotation is bool:
            others = [not field.default]
        elif field.annotation is float and not field.is_required():
            others = [field.default / 2]
        else:
            others = []
        options.append([{}, *({key: value} for value in others)])
    for choice in product(*options):
        changes: dict[str, object] = {}
        for each in choice:
            changes |= each
        yield changes


def _sections(doc: str) -> tuple[str, str, str]:
    """Split a docstring into description, reference and notes, as Markdown."""
    body, _, rest = doc.partition("\nReferences\n----------\n")
    paper, _, notes = rest.partition("\nNotes\n-----\n")
    body = re.sub(r"\.\. math:: (.*?)(?:\n\n|\n*\Z)", _display, body, flags=re.DOTALL)
    doi = re.sub(r"doi:(\S+)", r"[doi:\1](https://doi.org/\1)", _inline(paper))
    return _inline(body), doi, _inline(notes)


def _display(match: re.Match[str]) -> str:
    return f"$$\n{' '.join(match.group(1).split())}\n$$\n\n"


def _inline(text: str) -> str:
    text = re.sub(r":math:`([^`]*)`", r"$\1$", text)
    return re.sub(r"``([^`\n]+)``", r"`\1`", text).strip()


def cli_page() -> str:
    """Show the help of every command, at a fixed width."""
    root = click.Context(
        veil,
        info_name="veil",
        terminal_width=WIDTH,
        max_content_width=WIDTH,
        **veil.context_settings,
    )
    parts = ["# Command line\n", f"The help of every command (click {CLICK}).\n", _help(root, 2)]
    for name in veil.list_commands(root):
        command = veil.get_command(root, name)
        if command is None:
            continue
        context = _below(root, command, name)
        parts.append(_help(context, 2))
        for own, leaf in _leaves(command, context).items():
            parts.append(_help(_below(context, leaf, own), 3))
    return "\n".join(parts)


def _leaves(command: click.Command, context: click.Context) -> Mapping[str, click.Command]:
    """Return the commands below another one, or beside it."""
    if isinstance(command, CommandWithSubcommands):
        return command.commands
    names = command.list_commands(context) if isinstance(command, click.Group) else []
    found = {name: command.get_command(context, name) for name in names}
    return {name: leaf for name, leaf in found.items() if leaf is not None}


def _below(parent: click.Context, command: click.Command, name: str) -> click.Context:
    """Return the context of a command that nobody has run: click keeps what a first run made."""
    fresh = copy(command)
    fresh._help_option = None  # "--help" alone, where the command was run without its group
    return click.Context(fresh, parent, name, terminal_width=WIDTH, max_content_width=WIDTH)


def _help(context: click.Context, level: int) -> str:
    context.command._help_option = None  # click keeps that of the first context that it was in
    return f"{'#' * level} {context.command_path}\n\n```text\n{context.get_help()}\n```\n"


def main(arguments: list[str]) -> int:
    """Write the pages, or check them."""
    if arguments == ["--check"]:
        for name in (names := stale()):
            print(f"docs/{name} is not current: run python docs/generate.py.", file=sys.stderr)
        return 1 if names else 0
    if arguments:
        print("usage: python docs/generate.py [--check]", file=sys.stderr)
        return 2
    for name, text in pages().items():
        (DOCS / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
