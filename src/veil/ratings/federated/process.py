"""One client of a secure sum as a process: terms and input come by the standard input.

``python -m veil.ratings.federated.process`` is started by `veil.ratings.federated.secure`
alone.
"""

import json
import os
import sys

import numpy as np

from veil.core.errors import VeilError
from veil.ratings.federated.client import Client
from veil.ratings.federated.messages import Hello, dial
from veil.ratings.federated.secure import HELLO, LOOPBACK
from veil.ratings.federated.server import join_round


def main() -> int:
    """Take part in one round; return whether it ended well."""
    terms = json.loads(sys.stdin.buffer.readline())
    words = np.frombuffer(sys.stdin.buffer.read(), dtype="<u8").astype(np.uint64)
    number, seconds, label = terms["number"], terms["seconds"], bytes.fromhex(terms["label"])
    signing = bytes.fromhex(terms["signing"]) or None
    known = {int(one): bytes.fromhex(key) for one, key in terms["registered"].items()} or None

    def leave(phase: str) -> None:
        if phase == terms["leave"]:
            os._exit(0)  # as a machine does that is switched off

    try:
        line = dial(LOOPBACK, terms["port"], seconds)
        line.send(Hello(number, bytes.fromhex(terms["token"]), b""), HELLO, seconds)
        client = Client(number, terms["threshold"], len(words), label, signing, known)
        join_round(client, line, words, 4 * seconds, leave)
    except VeilError:
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
