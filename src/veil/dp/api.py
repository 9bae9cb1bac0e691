"""The verbs of dp that release noisy answers, from files and numbers to files and numbers.

The verbs that check releases are in `veil.dp.api_audit`; commands come from both.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field

from veil import dp
from veil.core.errors import InputError, ParameterError
from veil.core.formatting import count_of, number_of, printable
from veil.core.guarantee import Guarantee
from veil.core.verb import File, NewFile, Reply, Sheet, SpecOf, TextOrInput, local
from veil.data.files import require_folder
from veil.data.lines import read_lines, require_file
from veil.data.releases import check_output, open_writer
from veil.data.rows import read_table
from veil.dp.inputs import numbers_of, read_given_numbers
from veil.dp.local.oracles import ORACLES
from veil.dp.mechanism import Array, Mechanism
from veil.dp.mechanisms import MECHANISMS
from veil.dp.release import table_of_law

if TYPE_CHECKING:
    from veil.dp.accounting.budget import Spent

Seed = Annotated[int | None, Field(ge=0)]
SEEDED = "Seeded: the draws can be repeated. NOT PRIVATE."


def release(
    numbers: tuple[str, ...] = (),
    *,
    mechanism: Annotated[str, SpecOf("veil.dp.mechanisms:MECHANISMS")],
    column: str | None = None,
    out: NewFile | None = None,
    seed: Seed = None,
) -> Reply:
    """Release NUMBERS with noise, or the numbers of a FILE with --column.

    All numbers together are ONE query, whose sensitivity is given: for geometric and laplace it is
    the sum (L1) of all changes when one record is added or removed. Noisy values are printed one
    per line, and their cost goes to stderr.

    Parameters
    ----------
    numbers
        Exact numbers, or one file with --column.
    mechanism
        Spec of the mechanism, for example geometric(epsilon=0.5).
    column
        Column of the numbers, if a file is named.
    out
        Table to write, in the format of its name; an existing file is never replaced.
    seed
        Repeats the draws, for experiments: NOT PRIVATE.
    """
    if out is not None:
        check_output(out)
        if out.exists():
            raise InputError(f"{out.name} is there already; name another file.")
    chosen = MECHANISMS.parse(mechanism)
    noisy = dp.release(read_given_numbers(numbers, column), chosen, rng=seed)
    values = np.atleast_1d(noisy.value).tolist()
    if out is not None:
        with open_writer(out, ["value"], "value", private=False) as writer:
            writer.write([(value,) for value in values])
    cautions = cautions_of(noisy.cost, seeded=noisy.seeded)
    if chosen.answers == "count" and len(values) > 1:
        cautions.append(_one_query(chosen, len(values)))
    return Reply(
        [str(value) for value in values] if out is None else [],
        [f"{noisy.mechanism}: {noisy.cost}."],
        cautions,
        {"mechanism": noisy.mechanism, "values": values, "cost": cost_values(noisy.cost),
         "seeded": noisy.seeded},
    )  # fmt: skip


def law(
    numbers: tuple[str, ...] = (),
    *,
    mechanism: Annotated[str, SpecOf("veil.dp.mechanisms:MECHANISMS")],
    output: tuple[str, ...] = (),
) -> Reply:
    """Print the exact probability of each output for NUMBERS.

    Parameters
    ----------
    numbers
        Exact input of the mechanism.
    mechanism
        Spec of the mechanism, for example permute_and_flip(epsilon=1).
    output
        An output, as NUMBER[,NUMBER...]; repeatable.  [default: all outputs, or those around one
        number]
    """
    chosen = MECHANISMS.parse(mechanism)
    rows = table_of_law(chosen, read_given_numbers(numbers), _outputs(output))
    sheet = Sheet(
        ("output", "probability"),
        [(" ".join(map(str, values)), f"{chance:.10g}") for values, chance in rows],
    )
    listed = [{"output": values, "probability": chance} for values, chance in rows]
    return Reply([sheet], data={"mechanism": str(chosen), "law": listed})


def histogram(
    file: File,
    *,
    column: str,
    epsilon: float,
    delta: float = 0.0,
    unit: str | None = None,
    max_groups: int = 1,
    keys: File | None = None,
    select: Literal["threshold", "optimal"] = "threshold",
    out: NewFile | None = None,
    seed: int | None = None,
) -> Reply:
    """Count the rows or units of each key in FILE, and release noisy counts.

    If keys are not public (--keys), only those of enough units are shown; --delta bounds the
    chance of showing a key that a single unit has.

    Parameters
    ----------
    file
        Table with one row for each occurrence of a key.
    column
        Column of the keys to count.
    epsilon
        Budget of the whole histogram.
    delta
        Required if the keys are not public.
    unit
        Column that says whose a row is; without it each row is a unit.
    max_groups
        Largest number of keys for which a unit counts.
    keys
        File of all keys, one per line, if they are public.
    select
        How to select keys that are not public.
    out
        Table to write, in the format of its name.
    seed
        Repeats the draws, for experiments: NOT PRIVATE.
    """
    if out is not None:
        check_output(out)
    public = None
    if keys is not None:
        require_file(keys, "a list of keys")
        public = [line.rstrip("\r\n") for line in read_lines(keys)]
    _, rows = read_table(file, [column] if unit is None else [column, unit])
    table = [row.values for row in rows]
    noisy = dp.histogram(
        [values[0] for values in table],
        epsilon,
        delta,
        keys=public,
        units=None if unit is None else [values[1] for values in table],
        max_groups=max_groups,
        rng=seed,
        select=select,
    )
    if out is not None:
        with open_writer(out, [column, "count"], column, private=False) as writer:
            writer.write(list(noisy.counts.items()))
    sheet = Sheet(
        (column, "noisy count"), [(str(key), f"{count:,}") for key, count in noisy.counts.items()]
    )
    rule = "" if noisy.threshold is None else f", shown from {noisy.threshold:,} on"
    data = {"counts": dict(noisy.counts), "threshold": noisy.threshold,
            "cost": cost_values(noisy.cost), "seeded": noisy.seeded}  # fmt: skip
    return Reply(
        [sheet] if out is None else [],
        [f"{count_of(len(noisy.counts), 'key')}{rule}; {noisy.cost}."],
        cautions_of(noisy.cost, seeded=noisy.seeded),
        data,
    )


def mine(
    file: File,
    *,
    mechanism: Literal["naive_bayes", "logistic"],
    label: str,
    column: tuple[str, ...] = (),
    class_: tuple[str, ...] = (),
    epsilon: float,
    delta: float = 1e-6,
    test: File | None = None,
    holdout: float = 0.3,
    seed: int | None = None,
) -> Reply:
    """Learn a column of FILE from the others with noise, and count how often the model is right.

    Bounds of numbers must be public: choose what anybody could, not the smallest and the largest
    value of FILE. Columns without bounds are texts, which are hashed into 32 cells.

    The model is private. Its accuracy is counted exactly on the rows of the test.

    Parameters
    ----------
    file
        Table to learn from.
    mechanism
        Classifier to train.
    label
        Column to learn.
    column
        Column to learn from, as NAME[:LOW:HIGH[:BINS]], with bounds if it holds numbers;
        repeatable.  [default: all columns]
    class_
        A label; repeat it for all labels, which are then public.
    epsilon
        Budget of the whole model.
    delta
        Chance that the budget is exceeded, for logistic only.
    test
        Table to test with.
    holdout
        Share of the rows that is kept for the test, if there is no --test.
    seed
        Repeats the draws, for experiments: NOT PRIVATE.
    """
    from veil.dp.mining import classifier
    from veil.dp.mining.columns import Column

    mined = classifier.mine(
        file,
        mechanism,
        label,
        epsilon,
        delta,
        columns=[Column.parse(text) for text in column],
        classes=list(class_) or None,
        test=test,
        holdout=holdout,
        rng=seed,
    )
    row = (mechanism, f"{mined.trained:,} rows", f"{mined.tested:,} rows",
           f"{mined.accuracy:.3f}", f"{mined.majority:.3f}")  # fmt: skip
    data = {"mechanism": mechanism, "trained": mined.trained, "tested": mined.tested,
            "accuracy": mined.accuracy, "majority": mined.majority,
            "cost": cost_values(mined.cost), "seeded": mined.model.seeded}  # fmt: skip
    return Reply(
        [Sheet(("model", "learnt from", "tested with", "accuracy", "majority"), [row])],
        [f"The model: {mined.cost}. The accuracy is exact, and not private."],
        cautions_of(mined.cost, seeded=mined.model.seeded),
        data,
    )


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
    from veil.dp.local.files import read_values, report_to
    from veil.dp.local.memoise import read_key
    from veil.dp.local.reports import Desk

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
    from veil.dp.local.files import oracle_of, read_blocks, read_values

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


@local  # it opens addresses
def sql(
    query: TextOrInput,
    *,
    db: str,
    policy: File,
    epsilon: float = 0.5,
    delta: float = 0.0,
    param: tuple[str, ...] = (),
    explain: bool = False,
    seed: Seed = None,
) -> Reply:
    """Ask a database QUERY, one SELECT (- reads it from standard input); answers are noisy.

    COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN and QUANTILE of columns that the policy lists, with
    WHERE, GROUP BY, HAVING, ORDER BY and LIMIT. Each answer is charged to the budget of the policy
    before a row is read. A refused query costs nothing.

    Parameters
    ----------
    query
        One SELECT.
    db
        duckdb:FILE, sqlite:FILE or postgresql://HOST/NAME.
    policy
        TOML file: the budget, and which questions are allowed about which tables.
    epsilon
        Cost of the whole query.
    delta
        Required if some keys of GROUP BY are not public.
    param
        Value of the next ? in QUERY; '"7"' is a text, 7 a number; repeatable.
    explain
        Show what would be computed, and spend nothing.
    seed
        Repeats the draws, for experiments: NOT PRIVATE.
    """
    from veil.dp.sql.database import FORGOTTEN

    values = [_parameter(text) for text in param]
    with dp.connect(db, policy, rng=seed) as database:
        forgotten = [] if database.budget.durable else [FORGOTTEN]
        if explain:
            plan = database.explain(query, epsilon, delta, values)
            left = database.budget.remaining
            lines = [*map(printable, str(plan).split("\n")), "The database would be asked:"]
            lines += [f"  {printable(statement)}" for statement in plan.statements]
            quantities = [
                {"label": part.label, "sensitivity": part.sensitivity, "epsilon": part.epsilon,
                 "std": finite(part.std)} for part in plan.quantities
            ]  # fmt: skip
            data: dict[str, object] = {
                "columns": list(plan.columns), "quantities": quantities, "max_rows": plan.max_rows,
                "max_groups": plan.max_groups, "groups": plan.groups, "threshold": plan.threshold,
                **_charge(plan.cost, left), "statements": list(plan.statements),
            }  # fmt: skip
            spent = f"Nothing was spent; epsilon {number_of(left.epsilon)} is left."
            return Reply(lines, [spent], forgotten, data)
        answer = database.sql(query, epsilon, delta, values)
        left, total = database.budget.remaining, database.budget
        notes = [
            f"Cost: {answer.cost}. Left of the budget: epsilon {number_of(left.epsilon)} of"
            f" {number_of(total.epsilon)}, delta {left.delta:g} of {total.delta:g}."
        ]
    if answer.threshold is not None:
        notes.insert(
            0,
            f"Groups with fewer than {answer.threshold:,} units, in noisy numbers, are left out.",
        )
    rows = [[_cell(value, error) for value, error in zip(row, errors, strict=True)]
            for row, errors in zip(answer.rows, answer.errors, strict=True)]  # fmt: skip
    data = {
        "columns": list(answer.columns), "rows": [list(row) for row in answer.rows],
        "std": [finite(value) for value in answer.std],
        "errors": [[finite(value) for value in row] for row in answer.errors],
        "threshold": answer.threshold, **_charge(answer.cost, left),
        "caveat": answer.cost.caveat, "seeded": answer.seeded,
    }  # fmt: skip
    cautions = forgotten + ([SEEDED] if answer.seeded else [])
    return Reply([Sheet(answer.columns, rows)], notes, cautions, data)


def cautions_of(cost: Guarantee, *, seeded: bool = False) -> list[str]:
    """Return what a cost does not cover, and that a seeded release is not private."""
    return [caution for caution in (cost.caveat, SEEDED if seeded else "") if caution]


def cost_values(cost: Guarantee) -> dict[str, object]:
    """Return a cost as JSON values; numbers that its kind does not use are left out."""
    numbers = {key: getattr(cost, key) for key in ("epsilon", "delta", "rho")}
    finite = {key: value for key, value in numbers.items() if math.isfinite(value)}
    return {"kind": cost.kind, **finite, "unit": cost.unit, "neighbours": cost.neighbours,
            "caveat": cost.caveat}  # fmt: skip


def _one_query(mechanism: Mechanism, count: int) -> str:
    """Say by how much one record may change the numbers of a query."""
    field = type(mechanism).model_fields.get("sensitivity")
    bound = ""
    if field is not None:
        size = getattr(mechanism, "sensitivity", 1)
        bound = f" The cost holds for the sensitivity {size:g}: {field.description}."
    advice = "For a column of records, sum or count first."
    return f"The {count:,} numbers are one query.{bound} {advice}"


def _outputs(texts: Sequence[str]) -> Array | None:
    """Read outputs, each a number or several with commas."""
    if not texts:
        return None
    rows = [numbers_of(text.split(","), "The outputs").tolist() for text in texts]
    if len({len(row) for row in rows}) > 1:
        raise InputError("All outputs must have as many numbers.")
    outputs = np.array(rows)
    return outputs[:, 0] if outputs.shape[1] == 1 else outputs


def _parameter(text: str) -> int | float | str:
    """Read a value: a number if it looks like one, unless it is in quotes."""
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _cell(value: object, error: float) -> str:
    """Write a value, with the standard deviation of its noise if it has one."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return value
    text = f"{value:,}" if isinstance(value, int) else number_of(float(str(value)))
    if math.isnan(error):
        return f"{text} (drawn)"
    return f"{text} ± {number_of(float(f'{error:.3g}'))}" if error else text


def _charge(cost: Guarantee, left: "Spent") -> Mapping[str, object]:
    remaining = {"epsilon": left.epsilon, "delta": left.delta}
    return {"epsilon": cost.epsilon, "delta": cost.delta, "unit": cost.unit,
            "remaining": remaining}  # fmt: skip


def finite(value: float) -> float | None:
    """Return a number as JSON has it: None if it is not finite."""
    return value if math.isfinite(value) else None
