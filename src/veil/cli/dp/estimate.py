"""``veil dp estimate``: what reports say of all values together."""

from pathlib import Path

import click
import numpy as np
from rich.markup import escape
from rich.table import Table

from veil.cli.terminal import NEW_FILE, stderr, stdout
from veil.core.errors import InputError, ParameterError
from veil.core.formatting import count_of, printable
from veil.data.releases import check_output, open_writer
from veil.dp.local.aggregate import Counts
from veil.dp.local.estimate import discover as discovered
from veil.dp.local.estimate import estimate as estimated
from veil.dp.local.estimate import estimate_mean
from veil.dp.local.files import oracle_of, read_blocks, read_values

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("estimate")
@click.argument("reports", type=_FILE)
@click.option("--candidates", type=_FILE, help="file of the values to count: one a line, or a"
              " table")  # fmt: skip
@click.option("--column", help="column of the candidates, where a table has several")
@click.option("--discover", is_flag=True, help="find texts that nobody listed (sfp)")
@click.option("--mean", is_flag=True, help="estimate the mean of numbers (one_bit)")
@click.option("-o", "--out", type=NEW_FILE, help="write a table there; its name tells the format")
def estimate(
    reports: Path,
    candidates: Path | None,
    column: str | None,
    discover: bool,
    mean: bool,
    out: Path | None,
) -> None:
    """Estimate counts of candidates, or a mean, from REPORTS that 'veil dp report' wrote.

    Reports of codes (grr, oue, dbitflip) need no candidates: every code is counted.

    Counts come with their standard errors. A star says that a candidate is there: at 5 %, for all
    candidates together. What is estimated costs nothing more.
    """
    codes = not discover and not mean and candidates is None and oracle_of(reports).domain
    if (candidates is not None) + discover + mean + bool(codes) != 1:
        raise ParameterError("Say what to estimate: --candidates FILE, --discover or --mean.")
    if out is not None:
        check_output(out)
        if out.resolve() in {path.resolve() for path in (reports, candidates) if path}:
            raise InputError("The output would replace the input; name another file.")
    if mean:
        found = estimate_mean(read_blocks(reports))
        click.echo(f"mean {found.value:.6g}, standard error {found.stderr:.3g}")
        return
    if discover:
        counts = discovered(read_blocks(reports))
    elif candidates is None:
        counts = estimated(read_blocks(reports))
    else:
        takes = oracle_of(reports).takes
        given = read_values(candidates, "texts" if takes == "reals" else takes, column)[0]
        counts = estimated(read_blocks(reports), given)  # type: ignore[arg-type] # no reals
    _show(counts.take(np.argsort(-counts.counts, kind="stable")), out)


def _show(found: Counts, out: Path | None) -> None:
    there = found.significant
    rows = zip(found.candidates, found.counts, found.stderr, there, strict=True)
    if out is None:
        table = Table("candidate", "count", "std. error", "there")
        for candidate, count, error, sure in rows:
            name = escape(printable(str(candidate)))
            table.add_row(name, f"{count:,.0f}", f"{error:,.0f}", "*" if sure else "")
        stdout().print(table)
    else:
        header = ["candidate", "count", "stderr", "significant"]
        with open_writer(out, header, "candidate", private=False) as writer:
            writer.write([(str(name), float(count), float(error), bool(sure))
                          for name, count, error, sure in rows])  # fmt: skip
    told = count_of(int(np.count_nonzero(there)), "candidate")
    stderr().print(f"{told} of {len(found):,} significantly above 0.")
