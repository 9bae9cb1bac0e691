"""Options for tables that need not fit into memory, the same for all commands."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import wraps
from pathlib import Path
from typing import Any

import click

from veil.core.errors import ParameterError
from veil.data.fetch import Report, no_progress
from veil.studies.pool import dask_executor
from veil.tables.blocks import Blocks
from veil.tables.schema import BLOCK, Source

TABLE = click.Path(path_type=Path)  # with --blocks also a folder, whose files are the table
_OPTIONS = (
    click.option("--blocks", type=click.IntRange(1), metavar="ROWS",
                 help="read so many rows at a time; the file may be a folder of files"),
    click.option("--dask", metavar="ADDRESS",
                 help="a Dask scheduler, whose workers have the files; each file is a task"),
)  # fmt: skip


def with_blocks(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of blocks; it gets what they say as `large`, or None."""

    @wraps(command)
    def run(**values: Any) -> None:  # noqa: ANN401 - checked by click
        rows, dask = values.pop("blocks"), values.pop("dask")
        large = None if rows is None and dask is None else BlockOptions(rows or BLOCK, dask)
        command(large=large, **values)

    made: Callable[..., None] = run
    for option in reversed(_OPTIONS):
        made = option(made)
    return made


class BlockOptions:
    """How a table that need not fit into memory is read."""

    def __init__(self, rows: int, dask: str | None) -> None:
        self._rows, self._dask = rows, dask

    @contextmanager
    def opened(
        self,
        path: Path,
        source: Source,
        *,
        verbatim: bool = False,
        report: Report = no_progress,
    ) -> Iterator[Blocks]:
        """Open the files, here or on the cluster; released ones are `verbatim`."""
        with dask_executor(self._dask) if self._dask else nullcontext() as executor:
            yield Blocks.of(path, source, self._rows, executor, verbatim=verbatim, report=report)


def refuse(large: BlockOptions | None, **given: object) -> None:
    """Raise if something is asked that needs all rows at once."""
    asked = [f"--{name}" for name, value in given.items() if value]
    if large is not None and asked:
        raise ParameterError(f"{' and '.join(asked)} needs all rows at once; leave --blocks out.")
