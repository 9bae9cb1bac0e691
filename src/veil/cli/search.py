"""``veil search``: results for a query that no remote engine sees."""

from pathlib import Path
from typing import TYPE_CHECKING, Unpack, cast

import click
from click.core import ParameterSource

from veil.cli.options import (
    SELECT_OPTIONS,
    VECTORS_OPTION,
    DeskFlags,
    SearchChoices,
    desk_options,
    policies_of,
    selection_of,
)
from veil.cli.terminal import NEW
from veil.core.errors import ParameterError

if TYPE_CHECKING:
    from veil.text.policy import Unknown

MAX_SIZE = 1_000  # variants of one search, as in veil.proxy.settings
_OF_VARIANTS = (  # any of these requests variants, also for the user's own documents
    "mechanism size unknown policy select record seed log spread bound on_bound"
).split()


@click.command()
@click.argument("query")
@desk_options
@click.option(
    "--mechanism",
    help="Mechanism that makes the variants (see 'veil mechanisms').  [default: cover, with the"
    " table icd10cm for the embedded catalogue and wordnet for a remote engine]",
)
@click.option(
    "--size",
    type=click.IntRange(1, MAX_SIZE),
    help="Variants to send. Each adds to the cost.  [default: a whole group for cover, else 20]",
)
@click.option(
    "--show", type=click.IntRange(1, 1000), default=10, show_default=True, help="Results to print."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--record",
    type=NEW,
    help="Also record the variants sent and the answers (.jsonl), for the replay engine.",
)
@click.option(
    "--no-ledger",
    is_flag=True,
    help="Draw new variants without reading or writing the ledger, for experiments.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    help="Seed that makes the draws reproducible, for experiments: NOT PRIVATE. Implies"
    " --no-ledger.",
)
def search(
    query: str,
    mechanism: str | None,
    size: int | None,
    show: int,
    unknown: str,
    policy: tuple[str, ...],
    select: str | None,
    as_json: bool,
    record: Path | None,
    no_ledger: bool,
    seed: int | None,
    **flags: Unpack[DeskFlags],
) -> None:
    """Search by sending only variants of a query.

    If QUERY is -, it is read from standard input.

    Your own documents (--collection, or an engine with an index) and their engine are on this
    machine: your query does not leave it and is searched unprotected, unless --mechanism or
    another option about variants requests a simulation. The embedded catalogue, icd10cm,
    simulates a remote engine and is searched privately.

    The ledger records what is sent. Searches and the search page (veil serve) share the ledger
    and its budget: a repeated query sends the same variants at no further cost. With --log or
    --bound, local attacks check the variants before they are sent.
    """
    counted = not no_ledger and seed is None
    if not counted:
        _require_no_budget()
    from veil.cli.results import run_search  # slow to load; help does not need it

    choices = SearchChoices(
        mechanism, size, cast("Unknown", unknown), tuple(policies_of(policy).items()),
        selection_of(select), counted=counted, plainly=not _wants_variants(), seed=seed,
    )  # fmt: skip
    run_search(query, choices, flags, show=show, as_json=as_json, record=record)


search.params += [VECTORS_OPTION, *SELECT_OPTIONS]


def _wants_variants() -> bool:
    """Return whether the user gave an option about variants."""
    source_of = click.get_current_context().get_parameter_source
    return any(source_of(name) is not ParameterSource.DEFAULT for name in _OF_VARIANTS)


def _require_no_budget() -> None:
    """Reject a budget if the ledger is not used."""
    source_of = click.get_current_context().get_parameter_source
    for name in ("budget", "bits"):
        if source_of(name) is ParameterSource.COMMANDLINE:
            raise ParameterError(
                f"--{name} needs the ledger. Remove --{name}, or remove --no-ledger and --seed."
            )
