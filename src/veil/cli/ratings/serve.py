"""``veil ratings serve``: train a recommender with clients on other machines."""

from pathlib import Path

import click
import numpy as np
from rich.markup import escape

from veil.cli.terminal import NEW, stderr
from veil.core.errors import InputError, ParameterError
from veil.data.arrays import save_arrays
from veil.data.files import require_folder
from veil.data.lines import read_lines
from veil.ratings.accounting import checked_delta
from veil.ratings.federated.client import FOLLOWS, SIGNED, SPOILT, choose_threshold
from veil.ratings.federated.hosting import Offer, new_label, read_register
from veil.ratings.federated.hosting import host as hosted
from veil.ratings.federated.messages import listen
from veil.ratings.ratings import check_scale, in_order
from veil.ratings.recommenders import RECOMMENDERS
from veil.ratings.recommenders.federated import Federated

KIND = "federated factors"
_NOTHING = (
    "All rounds were void, and nothing was learnt: too few took part, or clients refuse the terms"
    " (as a 'delta' that is larger than they accept). No model was written."
)
FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("serve")
@click.argument("spec")
@click.option("--clients", type=click.IntRange(2, 10_000), required=True, help="who is expected")
@click.option(
    "--threshold",
    type=click.IntRange(2, 10_000),
    help="how many must survive a round  [default: more than two thirds of those who"
    " are expected in one]",
)
@click.option("--rounds", type=click.IntRange(1, 100_000), help="instead of those of SPEC")
@click.option("--items", type=FILE, required=True, help="the public catalogue: an id in each line")
@click.option(
    "--scale",
    nargs=2,
    type=float,
    required=True,
    metavar="LOW HIGH",
    help="lowest and highest rating there can be",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="address to listen at; others than this machine reach another one alone",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8766,
    show_default=True,
    help="port to listen at; 0: any that is free",
)
@click.option(
    "--seconds",
    type=click.FloatRange(0.1, 3600),
    default=60.0,
    show_default=True,
    help="time of each phase; who needs more has dropped out",
)
@click.option(
    "--patience",
    type=click.FloatRange(0.1, 86_400),
    default=600.0,
    show_default=True,
    help="seconds to wait for clients",
)
@click.option("--registered", type=FILE, help="public keys of the clients, one in each line")
@click.option("-o", "--out", type=NEW, default=Path("federated-model"),
              show_default=True, help="folder to write the item factors to")  # fmt: skip
def serve(
    spec: str,
    clients: int,
    threshold: int | None,
    rounds: int | None,
    items: Path,
    scale: tuple[float, float],
    host: str,
    port: int,
    seconds: float,
    patience: float,
    registered: Path | None,
    out: Path,
) -> None:
    """Train SPEC, as "federated(noise=4)", with clients that join from other machines.

    Nothing but masked sums reaches this machine. There is no seed: what can be repeated is not
    private. The lines are not encrypted; what must be hidden in them is sealed or masked, and
    registered keys (--registered) keep somebody in between from playing the clients.
    """
    notes = stderr()
    if out.exists():
        raise InputError(f"{out} is there already; name another folder.")
    require_folder(out)
    check_scale(scale)
    known = None if registered is None else read_register(registered)
    trained = trained_of(spec, rounds)
    names = in_order(sorted({line.strip() for line in read_lines(items) if line.strip()}))
    trained.check_size(len(names))
    delta = checked_delta(trained.delta, clients)
    joining = max(2, round(trained.sample * clients))
    least = (
        choose_threshold(joining, None, signed=known is not None)
        if threshold is None
        else threshold
    )
    if least > clients:
        raise ParameterError("The threshold must be at most the number of clients.")
    if known is not None and len(known) < clients:
        raise InputError("The register has fewer keys than clients are expected.")
    readers = trained.for_readers(delta, trained.void_delta(clients, least))
    server = trained.for_server(delta)
    trust = f"{FOLLOWS if known is None else SIGNED} {SPOILT}"
    notes.print(f"For readers of the model: {escape(str(readers))}.")
    notes.print(f"[yellow]{escape(readers.caveat)}[/yellow]")
    notes.print(f"Against this server and other clients: {escape(str(server))}.")
    notes.print(f"[yellow]{escape(server.caveat)} {escape(trust)}[/yellow]")
    offer = Offer(
        str(trained), list(names), list(scale), clients, least, delta, new_label(), seconds
    )
    notes.print(f"Terms: {offer.digest}", markup=False, soft_wrap=True)
    with listen(host, port, clients) as door:
        notes.print(f"Clients join at {host}:{door.getsockname()[1]}.", markup=False)
        factors, void = hosted(
            door, offer, lambda line: notes.print(line, markup=False), known, patience
        )
    if void == trained.rounds:
        raise InputError(_NOTHING)
    facts = {
        "spec": str(trained), "scale": list(scale), "void": void,
        "guarantee": f"{readers}. {readers.caveat}", "trust": trust,
        "against_server": f"{server}. {server.caveat}",
    }  # fmt: skip
    save_arrays(out, KIND, 1, {"factors": factors, "items": np.array(names)}, facts)
    notes.print(
        f"{out}: factors of {len(names):,} items; {void:,} rounds were void.", markup=False
    )


def trained_of(spec: str, rounds: int | None) -> Federated:
    """Return a recommender that hides updates from the server, or raise."""
    found = RECOMMENDERS.parse(spec)
    if not isinstance(found, Federated) or not found.secure:
        raise ParameterError("What is served is federated(...), and with secure=True.")
    return found if rounds is None else Federated(**{**found.model_dump(), "rounds": rounds})
