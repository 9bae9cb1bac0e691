"""The verbs of dp: noisy answers, their costs, audits and attacks; commands come from them.

Verbs for local reports are in `veil.dp.api_local`.
"""

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field

from veil import dp
from veil.core.component import example
from veil.core.errors import InputError, ParameterError
from veil.core.formatting import count_of, number_of, printable
from veil.core.guarantee import Guarantee
from veil.core.registry import read_spec
from veil.core.verb import File, NewFile, NewPath, Reply, Sheet, SpecOf, TextOrInput
from veil.data.fetch import Report, no_progress
from veil.data.lines import read_lines, require_file
from veil.data.releases import check_output, open_writer
from veil.data.rows import read_table
from veil.dp.inputs import numbers_of, read_bits, read_given_numbers, read_numbers, read_texts
from veil.dp.inputs import source_of as split_source
from veil.dp.mechanism import Array, Mechanism
from veil.dp.mechanisms import MECHANISMS
from veil.dp.release import FAMILIES, table_of_law

if TYPE_CHECKING:
    from veil.dp.accounting.budget import Spent

Seed = Annotated[int | None, Field(ge=0)]
Accountant = Literal["advanced", "basic", "pld", "zcdp"]
SEEDED = "Seeded: the draws can be repeated. NOT PRIVATE."
_BAR = 30  # characters of the bar that shows a budget
_TIMES = re.compile(r"[x×]([0-9]+)")
_SWEPT = {"epsilon", "rho", "sigma"}
_STORIES = ("averaging", "denial", "differencing", "tracker")


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


def compose(
    releases: tuple[str, ...], *, delta: float = 0.0, accountant: Accountant = "basic"
) -> Reply:
    """Compute what several RELEASES of the same data cost together.

    Each of RELEASES is the spec of a mechanism (see 'veil dp mechanisms'), and may be followed by
    the number of times it is released, as in 'gaussian(sigma=4)' x100 'laplace(epsilon=0.25)' x5.

    basic adds up; advanced is the best of several theorems; zcdp adds up rho and converts it once;
    pld follows the law of the losses, and needs the extra 'accounting' unless all are gaussian.

    Parameters
    ----------
    releases
        Specs of mechanisms, each with an optional xN after it.
    delta
        Delta of everything together.
    accountant
        How the costs are added up.
    """
    from veil.dp.accounting.cost import cost_of

    pairs = count_releases(releases)
    total = dp.compose(pairs, delta, accountant)
    rows = [(spec, f"{times:,}", brief_cost(cost_of(spec)[0].guarantee)) for spec, times in pairs]
    together = f"Together, by {accountant}: {brief_cost(total)}, per {total.unit}."
    return Reply(
        [Sheet(("release", "times", "each"), rows), together],
        cautions=cautions_of(total),
        data={"accountant": accountant, "cost": cost_values(total),
              "releases": [{"mechanism": spec, "times": times} for spec, times in pairs]},
    )  # fmt: skip


def budget(policy: File, *, count: Annotated[int, Field(ge=0, le=10_000)] = 20) -> Reply:
    """Show the budget of POLICY (TOML): what was spent, what is left, and the charges.

    Looking costs nothing, and creates no ledger.

    Parameters
    ----------
    policy
        Policy of a database, with its budget.
    count
        Number of charges to show, the newest last.
    """
    from veil.dp.sql.schema import load_policy

    loaded = load_policy(policy)
    rule, ledger = loaded.policy.budget, loaded.ledger
    existing = ledger if ledger is not None and ledger.exists() else None
    account = dp.Budget(rule.epsilon, rule.delta, rule.accountant, existing, make=False)
    spent, left = account.spent, account.remaining
    lines: list[str | Sheet] = [
        f"Budget of {printable(str(policy))}, counted by {rule.accountant}",
        _budget_line("epsilon", spent.epsilon, rule.epsilon, left.epsilon),
    ]
    if rule.delta:
        lines.append(_budget_line("delta", spent.delta, rule.delta, left.delta))
    events = account.events if existing is not None else ()
    shown = events[-count:] if count else ()
    if ledger is None:
        lines.append(
            'The policy names no ledger (ledger = "none"): every program starts with the whole'
            " budget."
        )
    elif existing is None:
        lines.append(f"Nothing was charged yet: there is no ledger {printable(str(ledger))}.")
    elif not events:
        lines.append("Nothing was charged yet.")
    else:
        rows = [
            (str(event.number), f"{event.at:%Y-%m-%d %H:%M}", f"{event.times:,}", str(event.cost),
             event.note)
            for event in shown
        ]  # fmt: skip
        lines += [Sheet(("no.", "when", "times", "charge", "note"), rows)] if rows else []
        lines.append(f"{count_of(len(events), 'charge')} in all.")
    charges = [{"number": event.number, "at": event.at.isoformat(), "times": event.times,
                "cost": str(event.cost), "note": event.note}
               for event in shown]  # fmt: skip
    data = {"accountant": rule.accountant, "epsilon": rule.epsilon, "delta": rule.delta,
            "spent": {"epsilon": spent.epsilon, "delta": spent.delta},
            "remaining": {"epsilon": left.epsilon, "delta": left.delta}, "charges": charges,
            "charged": len(events)}  # fmt: skip
    return Reply(lines, cautions=cautions_of(account.cost), data=data)


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


def audit(
    *,
    mechanism: Annotated[tuple[str, ...], SpecOf("veil.dp.release:FAMILIES")] = (),
    samples: Annotated[int, Field(ge=1000, le=10_000_000)] = 100_000,
    error: Annotated[float, Field(gt=0, lt=1)] = 1e-6,
    seed: Seed = None,
    report: Report = no_progress,
) -> Reply:
    """Draw samples from each mechanism, and test the epsilon that it claims against them.

    If a claim is refuted, the exit code is 1. A claim that is not refuted is not proved.

    Parameters
    ----------
    mechanism
        Spec, or name for the parameters of its example; repeatable.  [default: all mechanisms
        and oracles]
    samples
        Draws for each of two inputs.
    error
        Largest chance that a correct mechanism is accused.
    seed
        Repeats the draws.
    """
    chosen = [example(FAMILIES.get(spec)) if spec in FAMILIES.names() else FAMILIES.parse(spec)
              for spec in mechanism or FAMILIES.names()]  # fmt: skip
    audits = []
    for number, component in enumerate(chosen):
        report(f"auditing {component.name}", number, len(chosen))
        audits.append(dp.audit(component, samples=samples, error=error, rng=seed))
    rows, figures = [], []
    for component, result in zip(chosen, audits, strict=True):
        claims = math.isfinite(result.claimed)
        at = f" at delta {result.delta:g}" if result.delta else ""
        claim = f"{result.claimed:.3f}{at}" if claims else ""
        rows.append((component.brief, claim, f"{result.lower:.3f}", result.verdict))
        figures.append({
            "mechanism": result.mechanism, "verdict": result.verdict, "refuted": result.exceeded,
            "claimed": result.claimed if claims else None, "delta": result.delta,
            "measured": result.lower, "reach": result.reach, "samples": result.samples,
            "error": result.error,
        })  # fmt: skip
    reach = (
        f"{audits[0].samples:,} draws show an epsilon of at most {audits[0].reach:.2f}: a larger"
        " claim is out of reach. A correct mechanism is accused with a chance of at most"
        f" {audits[0].error:g}."
    )
    return Reply(
        [Sheet(("mechanism", "claimed", "measured ≥", "verdict"), rows), reach],
        data={"audits": figures},
        code=int(any(result.exceeded for result in audits)),
    )


def attack(
    secret: str,
    *,
    attack: str,
    mechanism: tuple[str, ...] = (),
    values: str | None = None,
    rows: int = 100,
    groups: int = 10,
    target: Annotated[int | None, Field(ge=0)] = None,
    min_size: int = 1,
    times: int = 1000,
    audit: str = "max",
    unit: str | None = None,
    members: int = 400,
    max_items: int = 20,
    seed: int | None = None,
    out: NewPath = Path("dp-attack.html"),
    workers: Annotated[int | None, Field(ge=0, le=256)] = None,
    report: Report = no_progress,
) -> Reply:
    """Attack answers about SECRET, and show what they reveal on the risk-utility plane.

    SECRET is FILE:COLUMN, the secret of each record, or FILE:COLUMN=VALUE for the records with
    that value. The attack is reconstruction, differencing, tracker, averaging or membership, with
    or without parameters, as in 'reconstruction(queries=800)'. Counts of the secret are answered
    with noise, and the plane of all mechanisms is written as a page.

    Step by step: differencing, tracker and averaging with a --target, against exact answers and
    --min-size (averaging: against noise); denial, against an auditor of maxima; membership with
    --unit, against published counts of what people have. These print their findings, which are as
    secret as the data.

    Parameters
    ----------
    secret
        FILE:COLUMN, or FILE:COLUMN=VALUE.
    attack
        Spec of the attack; see 'veil dp attacks'.
    mechanism
        Spec of a mechanism that adds noise to counts; repeatable.  [default: geometric]
    values
        Values of its epsilon, rho or sigma, separated by commas.  [default: 0.1,0.3,1]
    rows
        Records of a group.
    groups
        Number of groups to attack.
    target
        Shows step by step how this record is found; records count from 0.
    min_size
        Smallest set that is answered, if there is no noise.
    times
        Repetitions of averaging with a target.
    audit
        Auditor of denial: max or max-simulatable.
    unit
        For membership: column of the persons who have what the secret column says.
    members
        For membership with --unit: number of members.
    max_items
        For membership with --unit: largest number of items of a person that count.
    seed
        Repeats the draws, for experiments.
    out
        Page of the plane; a folder of the same name keeps its figures.
    workers
        Processes that share the work; 0 for none.  [default: one per processor]
    """
    name = read_spec(attack)[0]
    if name == "denial" or target is not None:
        if name not in _STORIES:
            raise ParameterError(
                f"Only {', '.join(_STORIES)} are shown step by step; leave --target out."
            )
        noise = mechanism[0] if mechanism else "geometric(epsilon=0.1)"
        return _story(name, secret, target or 0, noise, min_size, times, audit, seed)
    if unit is not None:
        if name != "membership":
            raise ParameterError("The option --unit is of the attack membership; leave it out.")
        epsilons = _numbers(values or "10,1")
        return _trace(secret, unit, epsilons, members, max_items, seed)
    return _plane(secret, attack, mechanism, values, rows, groups, out, seed, workers, report)


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
                 "std": _finite(part.std)} for part in plan.quantities
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
        "std": [_finite(value) for value in answer.std],
        "errors": [[_finite(value) for value in row] for row in answer.errors],
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


def brief_cost(cost: Guarantee) -> str:
    """Return the numbers of a guarantee.

    >>> brief_cost(Guarantee("dp", 0.5, delta=1e-6))
    'epsilon 0.5, delta 1e-06'
    """
    if cost.kind == "none":
        return "nothing is proved"
    if cost.kind == "zcdp":
        return f"rho {number_of(cost.rho)}"
    delta = f", delta {cost.delta:g}" if cost.delta else ""
    return f"epsilon {number_of(cost.epsilon)}{delta}"


def count_releases(words: Sequence[str]) -> list[tuple[str, int]]:
    """Return each spec with its number of releases.

    >>> count_releases(("gaussian(sigma=4)", "x100", "laplace(epsilon=0.25)"))
    [('gaussian(sigma=4)', 100), ('laplace(epsilon=0.25)', 1)]
    """
    from veil.dp.accounting.cost import whole_times

    pairs: list[tuple[str, int]] = []
    after_spec = False
    for word in words:
        times = _TIMES.fullmatch(word)
        if times is None:
            pairs.append((word, 1))
        elif after_spec:
            pairs[-1] = (pairs[-1][0], whole_times(int(times[1][:12])))
        else:
            raise InputError(
                "A number of times such as x100 must follow a spec, as in"
                " 'geometric(epsilon=0.5)' x100."
            )
        after_spec = times is None
    return pairs


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


def _budget_line(name: str, spent: float, total: float, left: float) -> str:
    full = round(_BAR * min(1.0, spent / total))
    bar = "#" * full + "." * (_BAR - full)
    return (
        f"{name:<8}[{bar}] {number_of(spent)} of {number_of(total)} spent, {number_of(left)} left"
    )


def _story(
    name: str, secret: str, target: int, noise: str, min_size: int, times: int, audit: str,
    seed: int | None,
) -> Reply:  # fmt: skip
    """Show one attack step by step."""
    from veil.dp.attacks import demonstrations

    path, column, value = split_source(secret)
    if name == "averaging":
        bits = read_bits(path, column, value)
        story = demonstrations.averaging(bits, target, noise, times, seed)
    else:
        records = read_numbers(path, column) if value is None else read_bits(path, column, value)
        if name == "denial":
            story = demonstrations.denial(records, audit)
        elif name == "tracker":
            story = demonstrations.tracker(records, target, min_size, seed)
        else:
            story = demonstrations.differencing(records, target, min_size)
    return Reply(story.lines, data={"steps": list(story.lines), "value": _finite(story.found)})


def _trace(
    secret: str, unit: str, epsilons: Sequence[float], members: int, max_items: int,
    seed: int | None,
) -> Reply:  # fmt: skip
    """Show who can be identified behind counts of what people have."""
    from veil.dp.attacks.membership import tracing

    path, column, _ = split_source(secret)
    persons, items = read_texts(path, unit), read_texts(path, column)
    traces = tracing(persons, items, epsilons, members, max_items=max_items, rng=seed)
    rows = [(trace.published, f"{float(trace.risk):.3f}",
             f"{trace.risk.low:.3f} to {trace.risk.high:.3f}") for trace in traces]  # fmt: skip
    figures = [{"published": trace.published, "advantage": float(trace.risk),
                "low": trace.risk.low, "high": trace.risk.high} for trace in traces]  # fmt: skip
    return Reply(
        [Sheet(("published", "advantage", "95 % interval"), rows)], data={"traces": figures}
    )


def _plane(
    secret: str, attack: str, mechanism: Sequence[str], values: str | None, rows: int,
    groups: int, out: Path, seed: int | None, workers: int | None, report: Report,
) -> Reply:  # fmt: skip
    """Run the study of these mechanisms as 'veil dp plane' does, and list its points."""
    from veil.dp.attacks.attack import count_questions
    from veil.dp.attacks.plane import sweep_budget
    from veil.studies.domains import make_study
    from veil.studies.export import export
    from veil.studies.report.report import write_report
    from veil.studies.study import group_specs
    from veil.studies.sweep import sweep

    if out.suffix != ".html":
        raise InputError("The plane is a page; name a file that ends in .html.")
    path, column, value = split_source(secret)
    numbers = _numbers(values or "0.1,0.3,1")
    specs: list[str] = []
    for spec in mechanism or ("geometric",):
        whole = values is None and bool(_SWEPT & set(read_spec(spec)[1]))
        specs += [spec] if whole else [noise.brief for _, noise in sweep_budget(spec, numbers)]
    keys: dict[str, object] = {
        "domain": "dp", "name": out.stem, "mechanism": group_specs(specs), "attackers": [attack],
        "secret": str(path), "column": column, "equals": value or "", "rows": rows,
        "groups": groups, **({} if seed is None else {"seed": seed}),
    }  # fmt: skip
    study, folder = make_study(keys, "the command", Path.cwd()), out.with_suffix("")
    try:
        results = sweep(study, folder, workers=workers, report=report)
    except KeyboardInterrupt as stop:
        stop.add_note(f"what is done is kept in {folder}: start again to go on")
        raise
    files = [write_report(results, out.parent, out.name), *export(results, folder)]
    asked = count_questions(attack, min(rows, len(read_texts(path, column))))
    utility = {row.spec: row.score for row in results.rows if row.kind == "utility"}
    cells, points = [], []
    for row in results.rows:
        if row.kind != "risk":
            continue
        noise = MECHANISMS.parse(row.spec)
        cost = noise.guarantee.compose(asked, noise.guarantee.unit)
        cells.append((noise.brief, f"{row.score:.3f}", f"{row.low:.3f} to {row.high:.3f}",
                      f"{utility[row.spec]:.3f}", str(cost)))  # fmt: skip
        points.append({"mechanism": row.spec, "risk": row.score, "low": row.low, "high": row.high,
                       "utility": utility[row.spec], "cost": cost_values(cost)})  # fmt: skip
    lines: list[str | Sheet] = [
        Sheet(("configuration", "risk", "95 % interval", "utility", f"{asked:,} answers"), cells)
    ]
    lines += [
        f"QuIPU of {score.curve}: {score.score:+.3f}; 1 is useful and private, 0 no better than"
        " the diagonal."
        for score in results.scores
        if math.isfinite(score.score)
    ]
    cautions = [*results.warnings, *results.notes]
    return Reply(lines, list(map(str, files)), cautions, {"answers": asked, "points": points})


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ParameterError("The values must be numbers with commas, as in 0.1,0.5,1.") from None


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


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
