"""``veil search``: results for a query that the engine never sees."""

import sys
from contextlib import closing
from pathlib import Path
from typing import Unpack

import click
from click.core import ParameterSource

from veil import api
from veil.cli._choices import SELECT_OPTIONS, policies_of, selection_of
from veil.cli._desk import DeskFlags, desk_options
from veil.cli._ending import sending
from veil.cli._results import show_results
from veil.cli._screen import VECTORS_OPTION, progress_bar, tell_scale
from veil.core.errors import InputError, LedgerError, ParameterError
from veil.core.printable import escaped_json
from veil.core.types import Released
from veil.data.files import require_folder
from veil.proxy.types import MAX_SIZE, Found, Setting
from veil.search.engines.local.replay import record as write_recording
from veil.search.pipeline import MAX_QUERY, check_query
from veil.text.policy import Unknown

_DEFAULT = "cmp(epsilon=6)"
_WITHOUT = "Nothing was sent; --no-ledger searches without the ledger, for experiments."


@click.command()
@click.argument("query")
@desk_options
@click.option(
    "--mechanism",
    default=_DEFAULT,
    show_default=True,
    help="what makes the variants: veil mechanisms",
)
@click.option(
    "--size",
    type=click.IntRange(1, MAX_SIZE),
    default=20,
    show_default=True,
    help="variants to send; each adds to the cost",
)
@click.option(
    "--show", type=click.IntRange(1, 1000), default=10, show_default=True, help="results to print"
)
@click.option("--json", "as_json", is_flag=True, help="print JSON")
@click.option(
    "--record",
    type=click.Path(path_type=Path),
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
    mechanism: str,
    size: int,
    show: int,
    unknown: Unknown,
    policy: tuple[str, ...],
    select: str | None,
    as_json: bool,
    record: Path | None,
    no_ledger: bool,
    seed: int | None,
    **flags: Unpack[DeskFlags],
) -> None:
    """Search for QUERY (- reads it from standard input); only variants of it are sent.

    What is sent is in the ledger, as with the search page (veil serve), and spends of the same
    budget; what was asked before, here or there, is sent again at no further cost. Local attackers
    look at the variants before they are sent where --log or --bound asks for that.
    """
    text = check_query(_read() if query == "-" else query)
    _require_new(record)
    counted = not no_ledger and seed is None
    if not counted:
        _require_no_budget()
    chosen, policies, selected = (
        api.mechanism(mechanism),
        policies_of(policy),
        selection_of(select),
    )
    setting = Setting(mechanism, size, unknown, tuple(policies.items()), selected)
    found, network = _found(text, setting, flags, counted=counted, seed=seed)
    with sending():
        try:  # first: standard output may be closed
            _record(record, found)
        finally:
            if as_json:
                _print_json(found, flags["engine"], network=network)
            else:
                reranked = flags["encoder"] != "none"
                show_results(text, found, chosen, show, network=network, reranked=reranked)
            sys.stdout.flush()


search.params += [VECTORS_OPTION, *SELECT_OPTIONS]


def _found(
    text: str, setting: Setting, flags: DeskFlags, *, counted: bool, seed: int | None
) -> tuple[Found, bool]:
    """Search through a desk; also tell whether variants left the machine."""
    from veil.proxy.opening import open_desk  # long to load

    try:
        with (
            progress_bar() as report,
            closing(
                open_desk(**flags, once=True, ledger=counted, seed=seed, report=report)
            ) as desk,
        ):
            report("preparing the mechanism", 0, 0)
            space = desk.ready(setting, report)
            report("searching", 0, 0)
            with sending():
                found = desk.search(text, setting)
    except LedgerError as error:
        raise LedgerError(f"{error} {_WITHOUT}") from None
    if space is not None:
        tell_scale(flags["vectors"], space)
    return found, desk.network


def _print_json(found: Found, engine: str, *, network: bool) -> None:
    """Print the whole result; the true query is not in it."""
    from veil.proxy.documents import SearchDocument
    from veil.proxy.opening import hosts_alone

    variants, named = [seen.text for seen in found.seen], hosts_alone(engine)
    document = SearchDocument.of(found, network=network, engine=named, variants=variants)
    click.echo(escaped_json(document.model_dump_json(indent=1), sys.stdout.encoding or "utf-8"))


def _record(path: Path | None, found: Found) -> None:
    """Write what was sent and answered, where that is asked for."""
    if path is not None and found.answers is not None:
        write_recording(path, [Released(seen.text) for seen in found.seen], found.answers)


def _read() -> str:
    """Read one query from standard input, where neither `ps` nor the history sees it."""
    text = sys.stdin.read(MAX_QUERY + 2)
    if "\n" in text.strip():
        raise InputError("Standard input must hold one query, on one line.")
    return text.strip()


def _require_new(record: Path | None) -> None:
    """Say that a recording cannot be written before anything is sent."""
    if record is not None:
        require_folder(record)
        if record.exists():
            raise InputError(f"There is a file {record} already; delete it, or name another.")


def _require_no_budget() -> None:
    """Refuse a budget where nothing is counted."""
    if click.get_current_context().get_parameter_source("budget") is ParameterSource.COMMANDLINE:
        raise ParameterError(
            "Without the ledger nothing is counted; leave out --budget, or --no-ledger and --seed."
        )
