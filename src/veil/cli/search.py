"""``veil search``: results for a query that no engine elsewhere ever sees."""

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
_OF_VARIANTS = (  # who gives one of these wants variants, also of documents of his own
    "mechanism size unknown policy select record seed log spread bound on_bound"
).split()


@click.command()
@click.argument("query")
@desk_options
@click.option(
    "--mechanism",
    help="what makes the variants: veil mechanisms  [default: cover, with the table of icd10cm for"
    " the embedded catalogue, of wordnet for an engine elsewhere]",
)
@click.option(
    "--size",
    type=click.IntRange(1, MAX_SIZE),
    help="variants to send; each adds to the cost  [default: those of a group of cover, else 20]",
)
@click.option(
    "--show", type=click.IntRange(1, 1000), default=10, show_default=True, help="results to print"
)
@click.option("--json", "as_json", is_flag=True, help="print JSON")
@click.option(
    "--record",
    type=NEW,
    help="also write what was sent and answered, for the replay engine (.jsonl)",
)
@click.option(
    "--no-ledger",
    is_flag=True,
    help="for experiments: draw anew, and neither read the ledger nor write or count there",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    help="repeatable, so NOT private; implies --no-ledger",
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

    A QUERY of - is read from standard input.

    Documents of your own (--collection, or an engine with an index) are on this machine, as is
    the engine: your query does not leave it, and is searched as it is, unless a --mechanism or
    another flag about variants asks for a demonstration. The embedded catalogue, icd10cm, stands
    in for an engine elsewhere, and is searched privately.

    What is sent is in the ledger, as with the search page (veil serve), and spends of the same
    budget; what was asked before, here or there, is sent again at no further cost. Local attackers
    look at the variants before they are sent where --log or --bound asks for that.
    """
    counted = not no_ledger and seed is None
    if not counted:
        _require_no_budget()
    from veil.cli.results import run_search  # slow to load, and help needs none of it

    choices = SearchChoices(
        mechanism, size, cast("Unknown", unknown), tuple(policies_of(policy).items()),
        selection_of(select), counted=counted, plainly=not _wants_variants(), seed=seed,
    )  # fmt: skip
    run_search(query, choices, flags, show=show, as_json=as_json, record=record)


search.params += [VECTORS_OPTION, *SELECT_OPTIONS]


def _wants_variants() -> bool:
    """Tell whether the user gave a flag that is about variants."""
    given = click.get_current_context().get_parameter_source
    return any(given(name) is not ParameterSource.DEFAULT for name in _OF_VARIANTS)


def _require_no_budget() -> None:
    """Refuse a budget where nothing is counted."""
    given = click.get_current_context().get_parameter_source
    for name in ("budget", "bits"):
        if given(name) is ParameterSource.COMMANDLINE:
            raise ParameterError(
                f"Without the ledger nothing is counted; leave out --{name}, or --no-ledger and"
                " --seed."
            )
