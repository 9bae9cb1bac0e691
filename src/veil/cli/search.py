"""``veil search``: results for a query that no engine elsewhere ever sees."""

import sys
from collections.abc import Callable
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Unpack

import click
from click.core import ParameterSource

from veil import api
from veil.cli.commands import count_as_sent
from veil.cli.options import SELECT_OPTIONS, DeskFlags, desk_options, policies_of, selection_of
from veil.cli.results import show_here, show_results
from veil.cli.screen import VECTORS_OPTION, warn_scale
from veil.cli.terminal import NEW, progress_bar
from veil.core.errors import InputError, LedgerError, ParameterError
from veil.core.formatting import escaped_json
from veil.core.types import Released
from veil.data.fetch import Report
from veil.data.files import require_folder
from veil.proxy.desk import Desk
from veil.proxy.results import SearchOutcome
from veil.proxy.settings import MAX_SIZE, Configuration, usual_mechanism, usual_size
from veil.search.engines.local.replay import record as write_recording
from veil.search.pipeline import MAX_QUERY, check_query
from veil.text.policy import Unknown

_OF_VARIANTS = (  # who gives one of these wants variants, also of documents of his own
    "mechanism size unknown policy select record seed log spread bound on_bound"
).split()
_WITHOUT = "Nothing was sent; --no-ledger searches without the ledger, for experiments."


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
    unknown: Unknown,
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
    text = check_query(_read() if query == "-" else query)
    _require_new(record)
    counted = not no_ledger and seed is None
    if not counted:
        _require_no_budget()
    if mechanism is not None:
        api.mechanism(mechanism)  # what is wrong with it is told before anything is opened
    policies, selected = tuple(policies_of(policy).items()), selection_of(select)

    def setting_for(desk: Desk, report: Report) -> Configuration:
        spec = mechanism or usual_mechanism(desk.standing)
        variants = usual_size(api.mechanism(spec), size, report)
        return Configuration(spec, variants, unknown, policies, selected)

    found, desk = _found(text, setting_for, flags, counted=counted, seed=seed)
    reranked = flags["encoder"] != "none"
    if found.here and not as_json:
        show_here(found, show, reranked=reranked)
        return
    with count_as_sent() if not found.here else nullcontext():
        try:  # first: standard output may be closed
            _record(record, found)
        finally:
            if as_json:
                _print_json(found, flags["engine"], desk)
            else:
                chosen = api.mechanism(found.setting.mechanism)
                show_results(text, found, chosen, show, desk, reranked=reranked)
            sys.stdout.flush()


search.params += [VECTORS_OPTION, *SELECT_OPTIONS]


def _found(
    text: str,
    setting_for: Callable[[Desk, Report], Configuration],
    flags: DeskFlags,
    *,
    counted: bool,
    seed: int | None,
) -> tuple[SearchOutcome, Desk]:
    """Search through a desk, privately unless nothing leaves the machine; return it, too."""
    from veil.proxy.opening import open_desk  # long to load

    plainly = not _wants_variants()
    try:
        with (
            progress_bar() as report,
            closing(
                open_desk(
                    **flags, once=True, plainly=plainly, ledger=counted, seed=seed, report=report
                )
            ) as desk,
        ):
            if plainly and desk.standing == "own":
                report("searching", 0, 0)
                return desk.search_here(text), desk
            report("preparing the mechanism", 0, 0)
            setting = setting_for(desk, report)
            space = desk.ready(setting, report)
            report("searching", 0, 0)
            with count_as_sent():
                found = desk.search(text, setting)
    except LedgerError as error:
        raise LedgerError(f"{error} {_WITHOUT}") from None
    if space is not None:
        warn_scale(flags["vectors"], space)
    return found, desk


def _wants_variants() -> bool:
    """Tell whether the user gave a flag that is about variants."""
    given = click.get_current_context().get_parameter_source
    return any(given(name) is not ParameterSource.DEFAULT for name in _OF_VARIANTS)


def _print_json(found: SearchOutcome, engine: str, desk: Desk) -> None:
    """Print the whole result; the true query is not in it."""
    from veil.proxy.answers import SearchDocument
    from veil.proxy.opening import strip_address

    variants, named = [seen.text for seen in found.seen], strip_address(engine)
    document = SearchDocument.of(
        found, network=desk.network, standing=desk.standing, engine=named, variants=variants
    )
    click.echo(escaped_json(document.model_dump_json(indent=1), sys.stdout.encoding or "utf-8"))


def _record(path: Path | None, found: SearchOutcome) -> None:
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
    given = click.get_current_context().get_parameter_source
    for name in ("budget", "bits"):
        if given(name) is ParameterSource.COMMANDLINE:
            raise ParameterError(
                f"Without the ledger nothing is counted; leave out --{name}, or --no-ledger and"
                " --seed."
            )
