"""Functions of dp that check releases: composition, budgets, audits and attacks."""

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from veil import dp
from veil.core.component import example
from veil.core.errors import InputError, ParameterError
from veil.core.formatting import count_of, number_of, printable
from veil.core.guarantee import Guarantee
from veil.core.registry import read_spec
from veil.core.verb import File, NewPath, Reply, Sheet, SpecOf, local
from veil.data.fetch import Report, no_progress
from veil.dp.api import Seed, cautions_of, cost_values, finite
from veil.dp.inputs import read_bits, read_numbers, read_texts
from veil.dp.inputs import source_of as split_source
from veil.dp.mechanisms import MECHANISMS
from veil.dp.release import FAMILIES

Accountant = Literal["advanced", "basic", "pld", "zcdp"]
_BAR = 30  # characters of the bar that shows a budget
_TIMES = re.compile(r"[x×]([0-9]+)")
_SWEPT = {"epsilon", "rho", "sigma"}
_STORIES = ("averaging", "denial", "differencing", "tracker")


def compose(
    releases: tuple[str, ...], *, delta: float = 0.0, accountant: Accountant = "basic"
) -> Reply:
    """Compute the total cost of several RELEASES of the same data.

    Each of RELEASES is the spec of a mechanism (see 'veil dp mechanisms'). The number of times it
    is released may follow, as in 'gaussian(sigma=4)' x100 'laplace(epsilon=0.25)' x5.

    basic adds epsilons and deltas; advanced takes the best of several theorems; zcdp adds rho and
    converts it once; pld uses the privacy loss distributions and needs the extra 'accounting'
    unless all mechanisms are gaussian.

    Parameters
    ----------
    releases
        Specs of mechanisms, each optionally followed by xN.
    delta
        Delta of the total.
    accountant
        How costs are composed.
    """
    from veil.dp.accounting.cost import cost_of

    pairs = count_releases(releases)
    total = dp.compose(pairs, delta, accountant)
    rows = [(spec, f"{times:,}", brief_cost(cost_of(spec)[0].guarantee)) for spec, times in pairs]
    together = f"Total, by {accountant}: {brief_cost(total)}, per {total.unit}."
    return Reply(
        [Sheet(("release", "times", "each"), rows), together],
        cautions=cautions_of(total),
        data={"accountant": accountant, "cost": cost_values(total),
              "releases": [{"mechanism": spec, "times": times} for spec, times in pairs]},
    )  # fmt: skip


@local  # a policy names files
def budget(policy: File, *, count: Annotated[int, Field(ge=0, le=10_000)] = 20) -> Reply:
    """Show the budget of POLICY (TOML): spent, remaining, and the charges.

    This costs nothing and creates no ledger.

    Parameters
    ----------
    policy
        Policy file of a database.
    count
        Number of charges to show; the newest is last.
    """
    from veil.dp.sql.schema import load_policy

    loaded = load_policy(policy)
    rule, ledger = loaded.policy.budget, loaded.ledger
    existing = ledger if ledger is not None and ledger.exists() else None
    account = dp.Budget(rule.epsilon, rule.delta, rule.accountant, existing, make=False)
    spent, remaining = account.spent, account.remaining
    lines: list[str | Sheet] = [
        f"Budget of {printable(str(policy))}, counted by {rule.accountant}",
        _budget_line("epsilon", spent.epsilon, rule.epsilon, remaining.epsilon),
    ]
    if rule.delta:
        lines.append(_budget_line("delta", spent.delta, rule.delta, remaining.delta))
    events = account.events if existing is not None else ()
    shown = events[-count:] if count else ()
    if ledger is None:
        lines.append(
            'The policy has no ledger (ledger = "none"): every program starts with the whole'
            " budget."
        )
    elif existing is None:
        lines.append(
            f"Nothing has been charged: ledger {printable(str(ledger))} does not exist yet."
        )
    elif not events:
        lines.append("Nothing has been charged yet.")
    else:
        rows = [
            (str(event.number), f"{event.at:%Y-%m-%d %H:%M}", f"{event.times:,}", str(event.cost),
             event.note)
            for event in shown
        ]  # fmt: skip
        lines += [Sheet(("no.", "when", "times", "charge", "note"), rows)] if rows else []
        lines.append(f"{count_of(len(events), 'charge')} in total.")
    charges = [{"number": event.number, "at": event.at.isoformat(), "times": event.times,
                "cost": str(event.cost), "note": event.note}
               for event in shown]  # fmt: skip
    data = {"accountant": rule.accountant, "epsilon": rule.epsilon, "delta": rule.delta,
            "spent": {"epsilon": spent.epsilon, "delta": spent.delta},
            "remaining": {"epsilon": remaining.epsilon, "delta": remaining.delta},
            "charges": charges,
            "charged": len(events)}  # fmt: skip
    return Reply(lines, cautions=cautions_of(account.cost), data=data)


def audit(
    *,
    mechanism: Annotated[tuple[str, ...], SpecOf("veil.dp.release:FAMILIES")] = (),
    samples: Annotated[int, Field(ge=1000, le=10_000_000)] = 100_000,
    error: Annotated[float, Field(gt=0, lt=1)] = 1e-6,
    seed: Seed = None,
    report: Report = no_progress,
) -> Reply:
    """Test each mechanism's claimed epsilon against samples of its output.

    The exit code is 1 if a claim is refuted. A claim that is not refuted is not thereby proved.

    Parameters
    ----------
    mechanism
        Spec, or a name to use its example parameters; repeatable.  [default: all mechanisms,
        central and local]
    samples
        Draws for each of two inputs.
    error
        Maximum chance of accusing a correct mechanism.
    seed
        Seed for reproducible draws.
    """
    components = [example(FAMILIES.get(spec)) if spec in FAMILIES.names() else FAMILIES.parse(spec)
              for spec in mechanism or FAMILIES.names()]  # fmt: skip
    audits = []
    for number, component in enumerate(components):
        report(f"auditing {component.name}", number, len(components))
        audits.append(dp.audit(component, samples=samples, error=error, rng=seed))
    rows, figures = [], []
    for component, result in zip(components, audits, strict=True):
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
        f"{audits[0].samples:,} draws can show an epsilon of at most {audits[0].reach:.2f}: a"
        " larger claim is out of reach. A correct mechanism is accused with a chance of at most"
        f" {audits[0].error:g}."
    )
    return Reply(
        [Sheet(("mechanism", "claimed", "measured ≥", "verdict"), rows), reach],
        data={"audits": figures},
        code=int(any(result.exceeded for result in audits)),
    )


@local  # it writes a report, and names files with their columns
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

    SECRET is FILE:COLUMN if the secret is each record's value, or FILE:COLUMN=VALUE if it is
    whether a record has that value. The attack is reconstruction, differencing, tracker, averaging
    or membership, optionally with parameters, as in 'reconstruction(queries=800)'. Counts of the
    secret are answered with noise, and the risk-utility plane of all mechanisms is written as a
    page.

    Some attacks print each step instead of writing a page. With --target, differencing and
    tracker attack exact answers with --min-size, and averaging attacks noisy answers. Denial
    attacks an auditor of maxima. Membership with --unit attacks published counts of people's
    items. What they print is as secret as the data.

    Parameters
    ----------
    secret
        FILE:COLUMN, or FILE:COLUMN=VALUE.
    attack
        Spec of the attack; see 'veil dp attacks'.
    mechanism
        Spec of a mechanism that adds noise to counts; repeatable.  [default: geometric]
    values
        Comma-separated values of the mechanism's epsilon, rho or sigma.  [default: 0.1,0.3,1]
    rows
        Records per group.
    groups
        Number of groups to attack.
    target
        Record to attack step by step; the first record is 0.
    min_size
        With --target: smallest set that gets an exact answer.
    times
        Repetitions of averaging with a target.
    audit
        Auditor of denial: max or max-simulatable.
    unit
        For membership: column of the person who has the item in the secret column.
    members
        For membership with --unit: number of members.
    max_items
        For membership with --unit: maximum number of items counted per person.
    seed
        Seed that makes the draws reproducible, for experiments.
    out
        HTML page to write; a folder of the same name contains the figures.
    workers
        Worker processes; 0 runs in this process.  [default: one per processor]
    """
    name = read_spec(attack)[0]
    if name == "denial" or target is not None:
        if name not in _STORIES:
            raise ParameterError(
                f"--target works only with {', '.join(_STORIES)}. Remove --target."
            )
        noise = mechanism[0] if mechanism else "geometric(epsilon=0.1)"
        return _story(name, secret, target or 0, noise, min_size, times, audit, seed)
    if unit is not None:
        if name != "membership":
            raise ParameterError("--unit works only with the attack membership. Remove --unit.")
        epsilons = _numbers(values or "10,1")
        return _trace(secret, unit, epsilons, members, max_items, seed)
    return _plane(secret, attack, mechanism, values, rows, groups, out, seed, workers, report)


def brief_cost(cost: Guarantee) -> str:
    """Return the numbers of a guarantee.

    >>> brief_cost(Guarantee("dp", 0.5, delta=1e-6))
    'epsilon 0.5, delta 1e-06'
    """
    if cost.kind == "none":
        return "no guarantee"
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
                "A multiplier such as x100 must follow a spec, as in"
                " 'geometric(epsilon=0.5)' x100."
            )
        after_spec = times is None
    return pairs


def _budget_line(name: str, spent: float, total: float, remaining: float) -> str:
    full = round(_BAR * min(1.0, spent / total))
    bar = "#" * full + "." * (_BAR - full)
    amounts = f"{number_of(spent)} of {number_of(total)} spent, {number_of(remaining)} remaining"
    return f"{name:<8}[{bar}] {amounts}"


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
    return Reply(story.lines, data={"steps": list(story.lines), "value": finite(story.value)})


def _trace(
    secret: str, unit: str, epsilons: Sequence[float], members: int, max_items: int,
    seed: int | None,
) -> Reply:  # fmt: skip
    """Trace the people behind published counts of their items."""
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
    from veil.dp.attack import count_questions
    from veil.dp.attacks.plane import sweep_budget
    from veil.studies.domains import make_study
    from veil.studies.export import export
    from veil.studies.report.report import write_report
    from veil.studies.study import group_specs
    from veil.studies.sweep import sweep

    if out.suffix != ".html":
        raise InputError("The output must end in .html, because the plane is a page.")
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
        stop.add_note(f"finished steps are saved in {folder}; run the command again to continue")
        raise
    files = [write_report(results, out.parent, out.name), *export(results, folder)]
    questions = count_questions(attack, min(rows, len(read_texts(path, column))))
    utility = {row.spec: row.score for row in results.rows if row.kind == "utility"}
    cells, points = [], []
    for row in results.rows:
        if row.kind != "risk":
            continue
        noise = MECHANISMS.parse(row.spec)
        cost = noise.guarantee.compose(questions, noise.guarantee.unit)
        cells.append((noise.brief, f"{row.score:.3f}", f"{row.low:.3f} to {row.high:.3f}",
                      f"{utility[row.spec]:.3f}", str(cost)))  # fmt: skip
        points.append({"mechanism": row.spec, "risk": row.score, "low": row.low, "high": row.high,
                       "utility": utility[row.spec], "cost": cost_values(cost)})  # fmt: skip
    lines: list[str | Sheet] = [
        Sheet(
            ("configuration", "risk", "95 % interval", "utility", f"{questions:,} answers"), cells
        )
    ]
    lines += [
        f"QuIPU of {score.curve}: {score.score:+.3f}; 1 is useful and private, 0 no better"
        " than the diagonal."
        for score in results.scores
        if math.isfinite(score.score)
    ]
    cautions = [*results.warnings, *results.notes]
    return Reply(lines, list(map(str, files)), cautions, {"answers": questions, "points": points})


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ParameterError(
            "The values must be comma-separated numbers, as in 0.1,0.5,1."
        ) from None
