"""``veil restore``: put back what pseudonyms stand for."""

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
    help="the map that 'veil protect --pseudonyms' wrote",
)
@click.option(
    "-o",
    "--out",
    "--output",
    "output",
    type=NEW,
    required=True,
    help="file to write, for you alone; its ending is that of RELEASED",
)
def restore(released: Path, names: Path, output: Path) -> None:
    """Put personal data back in place of its pseudonyms.

    RELEASED is the file with pseudonyms, and the map is that of the same run.

    What a mechanism replaced stays replaced: no map knows it.
    """
    if any(output.resolve() == one.resolve() for one in (released, names)):
        raise InputError("The output would replace the input; name another file with -o.")
    for sentence in restore_file(released, Pseudonyms.load(names), output):
        stderr().print(sentence, markup=False)
