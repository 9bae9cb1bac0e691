"""The verbs of local reports: randomise each value, and estimate from all reports together."""

from typing import Annotated

import numpy as np

from veil import dp
from veil.core.errors import InputError, ParameterError
from veil.core.formatting import count_of
from veil.core.verb import File, NewFile, Reply, Sheet, SpecOf
from veil.data.files import require_folder
from veil.data.releases import check_output, open_writer
from veil.dp.api import cautions_of, cost_values
from veil.dp.local.files import oracle_of, read_blocks, read_values, report_to
from veil.dp.local.memoise import read_key
from veil.dp.local.oracles import ORACLES
from veil.dp.local.reports import Desk


def report(
    values: File,
    *,
    mechanism: Annotated[str, SpecOf("veil.dp.local.oracles:ORACLES")],
    out: NewFile,
    column: str | None = None,
    user: str | None = None,
    key_file: File | None = None,
    question: str = "",
    seed: int | None = None,
) -> Reply:
    """Randomise each value of a file separately, and write the reports.

    Parameters
    ----------
    values
        Values: one per line, or a column of a table.
    mechanism
        Spec of the oracle, for example hcms(epsilon=4); see 'veil dp mechanisms'.
    out
        File of reports, .npz.
    column
        Column of the values, if a table has several.
    user
        Column that says whose a value is.
    key_file
        Secret key of 32 bytes: reports that an oracle can memoise stay the same for a user.
    question
        Name of the question, if a key serves several columns.
    seed
        Repeats the draws, for experiments: NOT PRIVATE.
    """
    require_folder(out)
    if out.suffix.lower() != ".npz":
        raise InputError(f"{out.name} must end in .npz; name another file.")
    if key_file is not None and user is None:
        raise ParameterError("A key needs users: name their column with --user.")
    oracle = ORACLES.parse(mechanism)
    key = None if key_file is None else read_key(key_file)
    desk = Desk(oracle, user is not None, key, seed, question)
    answers, users = read_values(values, oracle.takes, column, user)
    reports = report_to(desk, answers, users, out)
    data = {"mechanism": reports.mechanism, "cost": cost_values(reports.cost),
            "seeded": reports.seeded}  # fmt: skip
    return Reply(
        notes=[f"{out}: {reports.mechanism}, {reports.cost}."],
        cautions=cautions_of(reports.cost, seeded=reports.seeded),
        data=data,
    )


def estimate(
    reports: File,
    *,
    candidates: File | None = None,
    column: str | None = None,
    discover: bool = False,
    mean: bool = False,
    out: NewFile | None = None,
) -> Reply:
    """Estimate counts of candidates, or a mean, from REPORTS written by 'veil dp report'.

    Reports of codes (grr, oue, dbitflip) need no candidates: every code is counted.

    Counts come with their standard errors. A star marks candidates that are certainly present: at
    5 %, for all candidates together. An estimate costs nothing more.

    Parameters
    ----------
    reports
        File of reports, .npz.
    candidates
        File of the values to count: one per line, or a table.
    column
        Column of the candidates, if a table has several.
    discover
        Find texts that nobody listed (sfp).
    mean
        Estimate the mean of numbers (one_bit).
    out
        Table to write, in the format of its name.
    """
    codes = not discover and not mean and candidates is None and oracle_of(reports).domain
    if (candidates is not None) + discover + mean + bool(codes) != 1:
        raise ParameterError("Say what to estimate: --candidates FILE, --discover or --mean.")
    if out is not None:
        check_output(out)
    if mean:
        average = dp.estimate_mean(read_blocks(reports))
        return Reply(
            [f"mean {average.value:.6g}, standard error {average.stderr:.3g}"],
            data={"mean": average.value, "stderr": average.stderr},
        )
    if discover:
        counts = dp.discover(read_blocks(reports))
    elif candidates is None:
        counts = dp.estimate(read_blocks(reports))
    else:
        takes = oracle_of(reports).takes
        listed = read_values(candidates, "texts" if takes == "reals" else takes, column)[0]
        counts = dp.estimate(read_blocks(reports), listed)  # type: ignore[arg-type] # no reals
    counts = counts.take(np.argsort(-counts.counts, kind="stable"))
    rows = [
        (str(name), float(count), float(error), bool(present))
        for name, count, error, present in zip(
            counts.candidates, counts.counts, counts.stderr, counts.significant, strict=True
        )
    ]
    header = ["candidate", "count", "stderr", "significant"]
    if out is not None:
        with open_writer(out, header, "candidate", private=False) as writer:
            writer.write(rows)
    sheet = Sheet(
        ("candidate", "count", "std. error", "there"),
        [(name, f"{count:,.0f}", f"{error:,.0f}", "*" if present else "")
         for name, count, error, present in rows],
    )  # fmt: skip
    present = count_of(int(np.count_nonzero(counts.significant)), "candidate")
    return Reply(
        [sheet] if out is None else [],
        [f"{present} of {len(counts):,} significantly above 0."],
        data={"counts": [dict(zip(header, row, strict=True)) for row in rows]},
    )
