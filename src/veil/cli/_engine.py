"""Who is asked, and how results are put in order: flags that several commands share."""

from collections.abc import Callable
from typing import Any

import click

_OPTIONS = (
    click.option("--engine", default="bm25", show_default=True, help="who is asked: veil engines"),
    click.option(
        "--collection",
        help="documents of a local engine: icd10cm, icd10cm-full, irds:ID, a folder or a file"
        "  [default: icd10cm, unless the engine has an index]",
    ),
    click.option(
        "--encoder",
        default="minilm",
        show_default=True,
        help="re-ranks by the true query, here: minilm, wordllama, a Hugging Face name, or none",
    ),
    click.option(
        "-k",
        type=click.IntRange(1, 10_000),
        default=100,
        show_default=True,
        help="results asked for with each variant",
    ),
)

Command = Callable[..., Any]


def engine_options(command: Command) -> Command:
    """Add --engine, --collection, --encoder and -k."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
