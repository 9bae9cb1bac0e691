"""``veil restore``: put personal data back in place of its pseudonyms."""

from pathlib import Path

import click

from veil.cli.terminal import NEW, stderr
from veil.core.errors import InputError
from veil.text.redact.pseudonyms import Pseudonyms, restore_file


@click.command()
@click.argument("released", type=click.Path(path_type=Path))
@click.option(
    "--map",
    "names",
    type=click.Path(path_type=Path),
    required=True,
    help="Map that 'veil protect --pseudonyms' wrote.",
)
@click.option(
    "-o",
    "--out",
    "--output",
    "output",
    type=NEW,
    required=True,
    help="File to write, which only you can read. It must have the suffix of RELEASED.",
)
def restore(released: Path, names: Path, output: Path) -> None:
    """Put personal data back in place of its pseudonyms.

    RELEASED is the file with pseudonyms, and the map is that of the same run. Words that a
    mechanism replaced cannot be restored.
    """
    if any(output.resolve() == path.resolve() for path in (released, names)):
        raise InputError("The output would overwrite an input. Choose another file with -o.")
    for sentence in restore_file(released, Pseudonyms.load(names), output):
        stderr().print(sentence, markup=False)
