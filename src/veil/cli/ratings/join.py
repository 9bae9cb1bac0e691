"""``veil ratings join``: help to train a recommender with ratings that stay here."""

from pathlib import Path

import click
import numpy as np

from veil.cli.ratings.serve import KIND
from veil.cli.terminal import NEW, NEW_FILE, stderr
from veil.core.errors import InputError, ParameterError
from veil.data.arrays import save_arrays
from veil.ratings.federated.client import FOLLOWS, SIGNED
from veil.ratings.federated.hosting import own_key, read_register
from veil.ratings.federated.joining import Joined, Limits, read_mine
from veil.ratings.federated.messages import dial
from veil.ratings.federated.primitives import signing_public

FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("join")
@click.argument("address", metavar="HOST:PORT")
@click.argument("mine", type=FILE)
@click.option(
    "--epsilon",
    type=click.FloatRange(0, min_open=True),
    default=10.0,
    show_default=True,
    help="the most that all rounds may cost you against the server",
)
@click.option(
    "--delta",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.01,
    show_default=True,
    help="the largest chance of more that you accept",
)
@click.option("--key", type=NEW_FILE, help="your own key; it is made where there is none")
@click.option("--registered", type=FILE, help="public keys of the clients, one in each line")
@click.option("-o", "--out", type=NEW,
              help="folder to write the factors of the items to")  # fmt: skip
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

    MINE has columns item and rating. What leaves is a bounded update with noise, masked so that
    the server sees sums alone. There is no seed: what can be repeated is not private.
    """
    notes = stderr()
    if out is not None and out.exists():
        raise InputError(f"{out} is there already; name another folder.")
    if not mine.is_file():
        raise InputError(f"There is no file {mine}.")
    known = None if registered is None else read_register(registered)
    signing = None if key is None else own_key(key)
    if signing is not None:
        notes.print(f"Your public key: {signing_public(signing).hex()}", markup=False)
    line = dial(*_address(address), 30.0)
    try:
        joined = Joined(line, Limits(epsilon, signing, known, delta))
        offer = joined.offer
        profile, left = read_mine(mine, offer.items, (offer.scale[0], offer.scale[1]))
        notes.print(offer.spec, markup=False)
        notes.print(f"Terms: {offer.digest}", markup=False, soft_wrap=True)
        spent = joined.recommender.for_server(offer.delta)
        notes.print(f"Against the server: {spent}. {spent.caveat}", markup=False)
        notes.print(FOLLOWS if known is None else SIGNED)
        if left:
            notes.print(f"{left:,} of your ratings are of items that the server does not name.")
        factors = joined.train(profile, lambda told: notes.print(told, markup=False))
    finally:
        line.close()
    notes.print(
        f"Done: you took part in {joined.taken:,} of {joined.recommender.rounds:,} rounds."
    )
    if out is not None:
        facts = {"spec": offer.spec, "scale": offer.scale}
        save_arrays(out, KIND, 1, {"factors": factors, "items": np.array(offer.items)}, facts)


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not (colon and host and port.isdecimal() and int(port) < 65_536):
        raise ParameterError("The address of the server is HOST:PORT, as 127.0.0.1:8766.")
    return host.strip("[]"), int(port)
