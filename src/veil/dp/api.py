"""Functions of dp that release noisy answers: commands ``veil dp release``, ``sql`` and so on.

The functions that check releases are in `veil.dp.api_audit`.
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

    All numbers together are ONE query with the sensitivity of the mechanism: for geometric and
    laplace, the sum (L1) of all changes when one record is added or removed. Noisy values are
    printed one per line; their cost goes to stderr.

    Parameters
    ----------
    numbers
        Exact numbers, or one file with --column.
    mechanism
        Spec of the mechanism, for example geometric(epsilon=0.5).
    column
        Column of the file that contains the numbers.
    out
        Table to write; its extension sets the format. An existing file is never overwritten.
    seed
        Seed for reproducible draws, for experiments: NOT PRIVATE.
    """
    if out is not None:
        check_output(out)
        if out.exists():
            raise InputError(f"File {out.name} already exists. Choose another.")
    component = MECHANISMS.parse(mechanism)
    noisy = dp.release(read_given_numbers(numbers, column), component, rng=seed)
    values = np.atleast_1d(noisy.value).tolist()
    if out is not None:
        with open_writer(out, ["value"], "value", private=False) as writer:
            writer.write([(value,) for value in values])
    cautions = cautions_of(noisy.cost, seeded=noisy.seeded)
    if component.answers == "count" and len(values) > 1:
        cautions.append(_one_query(component, len(values)))
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
    component = MECHANISMS.parse(mechanism)
    rows = table_of_law(component, read_given_numbers(numbers), _outputs(output))
    sheet = Sheet(
        ("output", "probability"),
        [(" ".join(map(str, values)), f"{chance:.10g}") for values, chance in rows],
    )
    listed = [{"output": values, "probability": chance} for values, chance in rows]
    return Reply([sheet], data={"mechanism": str(component), "law": listed})


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

    Without public keys (--keys), only keys with enough units are shown; --delta bounds the chance
    of showing a key that only one unit has.

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
        Column that identifies the unit of each row. Without it, each row is a unit.
    max_groups
        Maximum number of keys that a unit counts for.
    keys
        File of all keys, one per line, if they are public.
    select
        How to select keys that are not public.
    out
        Table to write; its extension sets the format.
    seed
        Seed for reproducible draws, for experiments: NOT PRIVATE.
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
    """Train a private classifier for a column of FILE, and measure its accuracy.

    Bounds of numbers must be public: choose them without looking at FILE, never as its smallest
    and largest value. Columns without bounds are treated as text and hashed into 32 cells.

    The model is private. Its accuracy is not: it is computed exactly on the test rows.

    Parameters
    ----------
    file
        Table to learn from.
    mechanism
        Classifier to train.
    label
        Column to predict.
    column
        Feature column, as NAME[:LOW:HIGH[:BINS]], with bounds if it contains numbers;
        repeatable.  [default: all columns]
    class_
        A label; repeat it for every label. All of them are public.
    epsilon
        Budget of the whole model.
    delta
        Chance that the budget is exceeded, for logistic only.
    test
        Table to test with.
    holdout
        Share of the rows that is held out for testing, without --test.
    seed
        Seed for reproducible draws, for experiments: NOT PRIVATE.
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
        [Sheet(("model", "trained on", "tested on", "accuracy", "majority"), [row])],
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
        Values to randomise: one per line, or a column of a table.
    mechanism
        Spec of the local mechanism, for example hcms(epsilon=4); see 'veil dp mechanisms'.
    out
        Output file, .npz.
    column
        Column of the values, if a table has several.
    user
        Column that identifies the user of each value.
    key_file
        Secret key of 32 bytes: with it, whatever bits the mechanism can memoise stay the same for
        a user.
    question
        Name of the question, if one key is used for several columns.
    seed
        Seed for reproducible draws, for experiments: NOT PRIVATE.
    """
    from veil.dp.local.files import read_values, report_to
    from veil.dp.local.memoise import read_key
    from veil.dp.local.reports import Desk

    require_folder(out)
    if out.suffix.lower() != ".npz":
        raise InputError(f"The output must end in .npz. Got {out.name} instead.")
    if key_file is not None and user is None:
        raise ParameterError("A key needs users. Add --user COLUMN.")
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

    Counts come with their standard errors. A star marks candidates that are significantly above 0
    (5 % error for all candidates together). Estimates cost no further budget.

    Parameters
    ----------
    reports
        File of reports, .npz.
    candidates
        File of the values to count: one per line, or a table.
    column
        Column of the candidates, if a table has several.
    discover
        Discover frequent texts without a candidate list (sfp).
    mean
        Estimate the mean of numbers (one_bit).
    out
        Table to write; its extension sets the format.
    """
    from veil.dp.local.files import oracle_of, read_blocks, read_values

    codes = not discover and not mean and candidates is None and oracle_of(reports).domain
    if (candidates is not None) + discover + mean + bool(codes) != 1:
        raise ParameterError("Choose exactly one of --candidates FILE, --discover and --mean.")
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
        ("candidate", "count", "std. error", "present"),
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
    """Answer QUERY, one SELECT, with noise (- reads it from standard input).

    Supported are COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN and QUANTILE of columns that the policy
    lists, with WHERE, GROUP BY, HAVING, ORDER BY and LIMIT. Each answer is charged to the budget
    of the policy before a row is read. A refused query costs nothing.

    Parameters
    ----------
    query
        One SELECT.
    db
        duckdb:FILE, sqlite:FILE or postgresql://HOST/NAME.
    policy
        TOML file with the budget and the tables and columns that may be queried.
    epsilon
        Cost of the whole query.
    delta
        Required if some keys of GROUP BY are not public.
    param
        Value of the next ? in QUERY: '"7"' is text, 7 a number; repeatable.
    explain
        Show what would be computed. Spends nothing.
    seed
        Seed for reproducible draws, for experiments: NOT PRIVATE.
    """
    from veil.dp.sql.database import FORGOTTEN

    values = [_parameter(text) for text in param]
    with dp.connect(db, policy, rng=seed) as database:
        forgotten = [] if database.budget.durable else [FORGOTTEN]
        if explain:
            plan = database.explain(query, epsilon, delta, values)
            balance = database.budget.remaining
            lines = [*map(printable, str(plan).split("\n")), "Statements for the database:"]
            lines += [f"  {printable(statement)}" for statement in plan.statements]
            quantities = [
                {"label": part.label, "sensitivity": part.sensitivity, "epsilon": part.epsilon,
                 "std": finite(part.std)} for part in plan.quantities
            ]  # fmt: skip
            data: dict[str, object] = {
                "columns": list(plan.columns), "quantities": quantities, "max_rows": plan.max_rows,
                "max_groups": plan.max_groups, "groups": plan.groups, "threshold": plan.threshold,
                **_charge(plan.cost, balance), "statements": list(plan.statements),
            }  # fmt: skip
            spent = f"Nothing was spent; epsilon {number_of(balance.epsilon)} remains."
            return Reply(lines, [spent], forgotten, data)
        answer = database.sql(query, epsilon, delta, values)
        balance, total = database.budget.remaining, database.budget
        notes = [
            f"Cost: {answer.cost}. Remaining budget: epsilon {number_of(balance.epsilon)} of"
            f" {number_of(total.epsilon)}, delta {balance.delta:g} of {total.delta:g}."
        ]
    if answer.threshold is not None:
        notes.insert(
            0,
            f"Groups with a noisy count below {answer.threshold:,} units are omitted.",
        )
    rows = [[_cell(value, error) for value, error in zip(row, errors, strict=True)]
            for row, errors in zip(answer.rows, answer.errors, strict=True)]  # fmt: skip
    data = {
        "columns": list(answer.columns), "rows": [list(row) for row in answer.rows],
        "std": [finite(value) for value in answer.std],
        "errors": [[finite(value) for value in row] for row in answer.errors],
        "threshold": answer.threshold, **_charge(answer.cost, balance),
        "caveat": answer.cost.caveat, "seeded": answer.seeded,
    }  # fmt: skip
    cautions = forgotten + ([SEEDED] if answer.seeded else [])
    return Reply([Sheet(answer.columns, rows)], notes, cautions, data)


def cautions_of(cost: Guarantee, *, seeded: bool = False) -> list[str]:
    """Return the caveat of a cost, and a warning if the release is seeded."""
    return [caution for caution in (cost.caveat, SEEDED if seeded else "") if caution]


def cost_values(cost: Guarantee) -> dict[str, object]:
    """Return a cost as JSON values, without the numbers that its kind does not use."""
    numbers = {key: getattr(cost, key) for key in ("epsilon", "delta", "rho")}
    finite = {key: value for key, value in numbers.items() if math.isfinite(value)}
    return {"kind": cost.kind, **finite, "unit": cost.unit, "neighbours": cost.neighbours,
            "caveat": cost.caveat}  # fmt: skip


def _one_query(mechanism: Mechanism, count: int) -> str:
    """Warn that several numbers are one query, and name the sensitivity that the cost assumes."""
    field = type(mechanism).model_fields.get("sensitivity")
    bound = ""
    if field is not None:
        size = getattr(mechanism, "sensitivity", 1)
        bound = f" The cost assumes sensitivity {size:g}: {field.description}."
    advice = "For a column of records, release its sum or count instead."
    return f"The {count:,} numbers count as one query.{bound} {advice}"


def _outputs(texts: Sequence[str]) -> Array | None:
    """Parse outputs: numbers, or rows of comma-separated numbers."""
    if not texts:
        return None
    rows = [numbers_of(text.split(","), "The outputs").tolist() for text in texts]
    if len({len(row) for row in rows}) > 1:
        raise InputError("All outputs must have the same number of values.")
    outputs = np.array(rows)
    return outputs[:, 0] if outputs.shape[1] == 1 else outputs


def _parameter(text: str) -> int | float | str:
    """Parse a value: a number if it looks like one and is not quoted, else text."""
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _cell(value: object, error: float) -> str:
    """Format a value, with the standard deviation of its noise, if any."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return value
    text = f"{value:,}" if isinstance(value, int) else number_of(float(str(value)))
    if math.isnan(error):
        return f"{text} (drawn)"
    return f"{text} ± {number_of(float(f'{error:.3g}'))}" if error else text


def _charge(cost: Guarantee, balance: "Spent") -> Mapping[str, object]:
    remaining = {"epsilon": balance.epsilon, "delta": balance.delta}
    return {"epsilon": cost.epsilon, "delta": cost.delta, "unit": cost.unit,
            "remaining": remaining}  # fmt: skip


def finite(value: float) -> float | None:
    """Return the number, or None if JSON cannot represent it (not finite)."""
    return value if math.isfinite(value) else None
