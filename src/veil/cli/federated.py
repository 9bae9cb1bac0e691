"""``veil ratings serve`` and ``join``: train a recommender with clients on other machines.

Both report while they run, so they are commands, not verbs.
"""

from pathlib import Path

import click
import numpy as np
from rich.markup import escape

from veil.cli.former import FormerCommand
from veil.cli.terminal import NEW, NEW_FILE, stderr
from veil.core.errors import InputError, ParameterError
from veil.data.arrays import save_arrays
from veil.data.files import require_folder
from veil.data.lines import read_lines
from veil.ratings.accounting import checked_delta
from veil.ratings.federated import session
from veil.ratings.federated.client import FOLLOWS, SIGNED, SPOILT, choose_threshold
from veil.ratings.federated.messages import dial, listen
from veil.ratings.federated.primitives import signing_public
from veil.ratings.ratings import check_scale, in_order
from veil.ratings.recommenders import RECOMMENDERS
from veil.ratings.recommenders.federated import Federated

KIND = "federated factors"
_NOTHING = (
    "All rounds were void, so nothing was learnt and no model was written: too few clients took"
    " part, or they refused the terms (for example a larger 'delta' than they accept)."
)
FILE = click.Path(path_type=Path, dir_okay=False)
REGISTERED = click.option(
    "--registered", type=FILE, help="File of public keys of the clients, one per line."
)


@click.command("serve", cls=FormerCommand)
@click.option("-m", "--mechanism", metavar="SPEC", required=True,
              help="Recommender to train, for example federated(noise=4).")  # fmt: skip
@click.option("--clients", type=click.IntRange(2, 10_000), required=True,
              help="Number of expected clients.")  # fmt: skip
@click.option("--threshold", type=click.IntRange(2, 10_000),
              help="Number of clients that must finish a round.  [default: more than two thirds"
              " of those expected in a round]")  # fmt: skip
@click.option(
    "--rounds", type=click.IntRange(1, 100_000), help="Number of rounds, replacing that of SPEC."
)
@click.option(
    "--items", type=FILE, required=True, help="Public catalogue of items, one id per line."
)
@click.option("--scale", nargs=2, type=float, required=True, metavar="LOW HIGH",
              help="Lowest and highest possible rating.")  # fmt: skip
@click.option("--host", default="127.0.0.1", show_default=True,
              help="Address to listen at. The default accepts this machine only.")  # fmt: skip
@click.option("--port", type=click.IntRange(0, 65_535), default=8766, show_default=True,
              help="Port to listen at; 0: any free port.")  # fmt: skip
@click.option("--seconds", type=click.FloatRange(0.1, 3600), default=60.0, show_default=True,
              help="Time limit of each phase. Slower clients are dropped.")  # fmt: skip
@click.option("--patience", type=click.FloatRange(0.1, 86_400), default=600.0, show_default=True,
              help="Seconds to wait for clients.")  # fmt: skip
@REGISTERED
@click.option("-o", "--out", type=NEW, default=Path("federated-model"), show_default=True,
              help="Folder to write the item factors to.")  # fmt: skip
def serve(
    mechanism: str,
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
    """Train a federated recommender with clients that join from other machines.

    Only masked sums reach this machine. There is no seed, because reproducible draws are not
    private. Connections are not encrypted, but secrets are sealed or masked, and registered keys
    (--registered) keep a man in the middle from impersonating the clients.
    """
    notes = stderr()
    if out.exists():
        raise InputError(f"Folder {out} already exists. Choose another.")
    require_folder(out)
    check_scale(scale)
    keys = None if registered is None else session.read_register(registered)
    recommender = secure_recommender(mechanism, rounds)
    names = in_order(sorted({line.strip() for line in read_lines(items) if line.strip()}))
    recommender.check_size(len(names))
    delta = checked_delta(recommender.delta, clients)
    if threshold is None:
        joining = max(2, round(recommender.sample * clients))
        threshold = choose_threshold(joining, None, signed=keys is not None)
    if threshold > clients:
        raise ParameterError("--threshold must be at most --clients.")
    if keys is not None and len(keys) < clients:
        raise InputError("--registered must contain a key for each expected client.")
    readers = recommender.for_readers(delta, recommender.void_delta(clients, threshold))
    server = recommender.for_server(delta)
    trust = f"{FOLLOWS if keys is None else SIGNED} {SPOILT}"
    notes.print(f"For readers of the model: {escape(str(readers))}.")
    notes.print(f"[yellow]{escape(readers.caveat)}[/yellow]")
    notes.print(f"Against this server and other clients: {escape(str(server))}.")
    notes.print(f"[yellow]{escape(server.caveat)} {escape(trust)}[/yellow]")
    offer = session.Offer(
        str(recommender), list(names), list(scale), clients, threshold, delta,
        session.new_label(), seconds,
    )  # fmt: skip
    notes.print(f"Terms: {offer.digest}", markup=False, soft_wrap=True)
    with listen(host, port, clients) as socket:
        notes.print(f"Clients join at {host}:{socket.getsockname()[1]}.", markup=False)
        factors, void = session.host(
            socket, offer, lambda line: notes.print(line, markup=False), keys, patience
        )
    if void == recommender.rounds:
        raise InputError(_NOTHING)
    facts = {
        "spec": str(recommender), "scale": list(scale), "void": void,
        "guarantee": f"{readers}. {readers.caveat}", "trust": trust,
        "against_server": f"{server}. {server.caveat}",
    }  # fmt: skip
    save_arrays(out, KIND, 1, {"factors": factors, "items": np.array(names)}, facts)
    notes.print(
        f"{out}: factors of {len(names):,} items; {void:,} rounds were void.", markup=False
    )


@click.command("join")
@click.argument("address", metavar="HOST:PORT")
@click.argument("mine", type=FILE)
@click.option("--epsilon", type=click.FloatRange(0, min_open=True), default=10.0,
              show_default=True,
              help="Largest total epsilon that you accept against the server.")  # fmt: skip
@click.option("--delta", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.01,
              show_default=True, help="Largest delta that you accept.")  # fmt: skip
@click.option("--key", type=NEW_FILE, help="File of your key. Created if missing.")
@REGISTERED
@click.option("-o", "--out", type=NEW, help="Folder to write the item factors to.")
def join(
    address: str,
    mine: Path,
    epsilon: float,
    delta: float,
    key: Path | None,
    registered: Path | None,
    out: Path | None,
) -> None:
    """Train with the server at HOST:PORT on the ratings in MINE, which stay on this machine.

    MINE has columns item and rating. Only a bounded, noisy update leaves this machine, masked so
    that the server sees sums only. There is no seed, because reproducible draws are not private.
    """
    notes = stderr()
    if out is not None and out.exists():
        raise InputError(f"Folder {out} already exists. Choose another.")
    if not mine.is_file():
        raise InputError(f"File {mine} does not exist. Check the path.")
    keys = None if registered is None else session.read_register(registered)
    signing = None if key is None else session.own_key(key)
    if signing is not None:
        notes.print(f"Your public key: {signing_public(signing).hex()}", markup=False)
    line = dial(*_address(address), 30.0)
    try:
        client = session.Joined(line, session.Limits(epsilon, signing, keys, delta))
        offer = client.offer
        profile, unlisted = session.read_mine(mine, offer.items, (offer.scale[0], offer.scale[1]))
        notes.print(offer.spec, markup=False)
        notes.print(f"Terms: {offer.digest}", markup=False, soft_wrap=True)
        cost = client.recommender.for_server(offer.delta)
        notes.print(f"Against the server: {cost}. {cost.caveat}", markup=False)
        notes.print(FOLLOWS if keys is None else SIGNED)
        if unlisted:
            notes.print(
                f"{unlisted:,} of your ratings are for items that the server does not list."
            )
        factors = client.train(profile, lambda text: notes.print(text, markup=False))
    finally:
        line.close()
    notes.print(
        f"Done: you took part in {client.taken:,} of {client.recommender.rounds:,} rounds."
    )
    if out is not None:
        facts = {"spec": offer.spec, "scale": offer.scale}
        save_arrays(out, KIND, 1, {"factors": factors, "items": np.array(offer.items)}, facts)


def secure_recommender(spec: str, rounds: int | None) -> Federated:
    """Return the recommender, which must hide updates from the server."""
    recommender = RECOMMENDERS.parse(spec)
    if not isinstance(recommender, Federated) or not recommender.secure:
        raise ParameterError("Only federated(...) with secure=True can be served.")
    if rounds is None:
        return recommender
    return Federated(**{**recommender.model_dump(), "rounds": rounds})


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not (colon and host and port.isdecimal() and int(port) < 65_536):
        raise ParameterError("The address must be HOST:PORT, such as 127.0.0.1:8766.")
    return host.strip("[]"), int(port)
