"""A server that does not follow the protocol is refused, and learns no second secret."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from veil.ratings.federated import primitives
from veil.ratings.federated.client import Client
from veil.ratings.federated.messages import Keys, Parcels, Request, Roster, Signed, Survivors
from veil.ratings.federated.primitives import (
    ProtocolError,
    public_of,
    random_key,
    signature,
    signing_public,
)
from veil.ratings.federated.server import Server
from veil.ratings.federated.session import proved_keys

N, T, LABEL = 5, 4, b"round-7"
WORDS = np.arange(6, dtype=np.uint64)


class Scene:
    """Five clients, brought to any phase by an honest server, and what it has to hand."""

    def __init__(self, *, signed: bool = False, label: bytes = LABEL) -> None:
        self.signing = {entry: random_key() for entry in range(1, N + 1)} if signed else {}
        registered = {entry: signing_public(key) for entry, key in self.signing.items()} or None
        self.clients = {
            entry: Client(entry, T, len(WORDS), label, self.signing.get(entry), registered)
            for entry in range(1, N + 1)
        }
        self.server = Server(T, len(WORDS), label, signed=signed)
        self.keys = {entry: client.keys() for entry, client in self.clients.items()}
        self.roster = self.server.roster(self.keys)
        self.parcels: dict[int, Parcels] = {}
        self.survivors = Survivors(())
        self.request = Request((), (), {})

    def shared(self, **lie: bytes) -> "Scene":
        shares = {entry: client.shares(self.roster) for entry, client in self.clients.items()}
        shares[2] = replace(shares[2], **lie)  # type: ignore[arg-type]
        self.parcels = self.server.parcels(shares)
        return self

    def masked(self, **lie: bytes) -> "Scene":
        self.shared(**lie)
        masked = {
            entry: client.masked(self.parcels[entry], WORDS)
            for entry, client in self.clients.items()
            if entry != 5
        }
        self.survivors = self.server.survivors(masked)
        return self

    def signed(self, **lie: bytes) -> "Scene":
        self.masked(**lie)
        text = {
            entry: self.clients[entry].sign(self.survivors) for entry in self.survivors.numbers
        }
        self.request = self.server.request(text)
        return self


def refused(work: Callable[[], object], words: str) -> None:
    with pytest.raises(ProtocolError, match=words) as caught:
        work()
    text = str(caught.value)
    assert text.endswith(".")
    assert "\n" not in text
    assert "b'" not in text


def changed(given: dict[int, bytes], number: int, value: bytes) -> dict[int, bytes]:
    return given | {number: value}


@pytest.mark.parametrize("signed", [False, True])
def test_honest_server_opens_the_sum(signed: bool) -> None:
    scene = Scene(signed=signed).signed()
    answers = {entry: scene.clients[entry].unmask(scene.request) for entry in range(1, 5)}
    assert (scene.server.total(answers) == 4 * WORDS).all()


def test_second_unmasking_is_refused_also_for_the_same_request() -> None:
    scene = Scene().signed()
    scene.clients[1].unmask(scene.request)
    refused(lambda: scene.clients[1].unmask(scene.request), "again")


def test_refused_request_cannot_be_repaired() -> None:
    scene = Scene().signed()
    client = scene.clients[1]
    refused(lambda: client.unmask(replace(scene.request, dropped=(5, 1))), "both a survivor")
    refused(lambda: client.unmask(scene.request), "again")


@pytest.mark.parametrize(
    ("survivors", "dropped", "words"),
    [
        ((1, 2, 3, 4), (4, 5), "both a survivor and dropped"),
        ((1, 2, 3), (4, 5), "needs 4 clients, and 3 survived"),
        ((1, 2, 3, 4), (), "must name exactly"),
        ((1, 2, 3, 4), (5, 6), "must name exactly"),
        ((2, 3, 4, 5), (1,), "lack this client"),
        ((1, 1, 2, 3), (4, 5), "must be distinct clients that sent shares"),
        ((1, 2, 3, 5), (4,), "must name the signed survivors"),
    ],
)
def test_request_for_more_than_the_sum_is_refused(
    survivors: tuple[int, ...], dropped: tuple[int, ...], words: str
) -> None:
    scene = Scene().signed()
    request = Request(survivors, dropped, {})
    refused(lambda: scene.clients[1].unmask(request), words)


def test_survivors_need_signatures_of_the_threshold() -> None:
    for count in (0, 3):
        scene = Scene(signed=True).signed()
        few = dict(list(scene.request.signatures.items())[:count])
        request = replace(scene.request, signatures=few)
        refused(lambda s=scene, r=request: s.clients[1].unmask(r), f"{count} signed")  # type: ignore[misc]


@pytest.mark.parametrize("wrong", ["survivors", "keys", "round", "stranger", "peer", "none"])
def test_signatures_of_something_else_do_not_count(wrong: str) -> None:
    scene = Scene(signed=True).signed()
    survivors, before = scene.survivors.numbers, Scene(signed=True).roster
    digest = primitives.roster_digest(LABEL, scene.roster.sealing, scene.roster.masking)
    replayed = primitives.roster_digest(LABEL, before.sealing, before.masking)
    text = primitives.of_survivors(LABEL, digest, survivors)
    earlier = primitives.of_survivors(b"round-6", digest, survivors)
    others = primitives.of_survivors(LABEL, digest, (1, 2, 3, 5))
    signed = {
        "survivors": signature(scene.signing[4], others),
        "keys": signature(scene.signing[4], primitives.of_survivors(LABEL, replayed, survivors)),
        "round": signature(scene.signing[4], earlier),
        "stranger": signature(random_key(), text),
        "peer": scene.request.signatures[3],
        "none": b"",
    }[wrong]
    mixed = changed(scene.request.signatures, 4, signed)
    request = replace(scene.request, signatures=mixed)
    refused(lambda: scene.clients[1].unmask(request), "3 signed")


def test_client_that_dropped_cannot_sign_for_survivors() -> None:
    scene = Scene(signed=True).signed()
    digest = primitives.roster_digest(LABEL, scene.roster.sealing, scene.roster.masking)
    text = primitives.of_survivors(LABEL, digest, scene.survivors.numbers)
    swapped = dict(scene.request.signatures)
    del swapped[4]
    swapped[5] = signature(scene.signing[5], text)
    request = replace(scene.request, signatures=swapped)
    refused(lambda: scene.clients[1].unmask(request), "3 signed")


def _roster(scene: Scene, **changes: dict[int, bytes] | int) -> Roster:
    return replace(scene.roster, **changes)  # type: ignore[arg-type]


def test_rosters_that_would_open_an_input_are_refused() -> None:
    stranger = public_of(random_key())
    cases: list[tuple[Callable[[Scene], Roster], str]] = [
        (lambda s: _roster(s, masking=changed(s.roster.masking, 1, stranger)), "wrong keys"),
        (lambda s: _roster(s, sealing=changed(s.roster.sealing, 1, stranger)), "wrong keys"),
        (
            lambda s: _roster(s, masking=changed(s.roster.masking, 2, s.roster.masking[3])),
            "a repeated or invalid key",
        ),
        (
            lambda s: _roster(s, masking=changed(s.roster.masking, 2, b"x")),
            "a repeated or invalid key",
        ),
        (lambda s: _roster(s, threshold=3), "needs at least 4"),
        (lambda s: _roster(s, threshold=6), "needs at least 4"),
        (lambda s: _roster(s, masking=changed(s.roster.masking, 9, stranger)), "invalid"),
        (
            lambda s: Roster(1, {1: s.roster.sealing[1]}, {1: s.roster.masking[1]}, {}),
            "needs at least",
        ),
    ]
    for make, words in cases:
        scene = Scene()
        refused(lambda s=scene, m=make: s.clients[1].shares(m(s)), words)  # type: ignore[misc]


def test_swapped_keys_are_refused_where_keys_are_registered() -> None:
    mine = public_of(random_key())
    swapped = Scene(signed=True)
    roster = _roster(swapped, masking=changed(swapped.roster.masking, 2, mine))
    refused(lambda: swapped.clients[1].shares(roster), "not signed by its registered owner")
    replayed, before = Scene(signed=True), Scene(signed=True, label=b"round-6")
    roster = _roster(
        replayed,
        sealing=changed(replayed.roster.sealing, 2, before.roster.sealing[2]),
        masking=changed(replayed.roster.masking, 2, before.roster.masking[2]),
        signatures=changed(replayed.roster.signatures, 2, before.roster.signatures[2]),
    )
    refused(lambda: replayed.clients[1].shares(roster), "not signed by its registered owner")


@pytest.mark.parametrize("wrong", ["flipped", "swapped", "cut", "empty", "of another receiver"])
def test_shares_that_were_changed_or_misdirected_are_refused(wrong: str) -> None:
    scene = Scene().shared()
    text = scene.parcels[1].parcels
    value = {
        "flipped": bytes([text[2][0] ^ 1]) + text[2][1:],
        "swapped": text[3],
        "cut": text[2][:-1],
        "empty": b"",
        "of another receiver": scene.parcels[3].parcels[2],
    }[wrong]
    parcels = Parcels(changed(text, 2, value))
    refused(lambda: scene.clients[1].masked(parcels, WORDS), "changed in transit")


def test_shares_of_too_few_or_of_strangers_are_refused() -> None:
    scene = Scene().shared()
    text = scene.parcels[1].parcels
    few = Parcels({entry: text[entry] for entry in (2, 3)})
    refused(lambda: scene.clients[1].masked(few, WORDS), "3 sent shares")
    more = Parcels(changed(scene.parcels[2].parcels, 9, text[2]))
    refused(lambda: scene.clients[2].masked(more, WORDS), "not in this round")


def test_steps_out_of_order_are_refused() -> None:
    scene = Scene()
    refused(lambda: scene.clients[1].unmask(scene.request), "out of order")
    other = Scene().shared()
    refused(lambda: other.clients[1].sign(Survivors((1, 2, 3, 4))), "out of order")
    twice = Scene().shared()
    twice.clients[1].masked(twice.parcels[1], WORDS)
    refused(lambda: twice.clients[1].masked(twice.parcels[1], WORDS), "again")


def test_second_survivor_set_is_not_signed() -> None:
    scene = Scene(signed=True).masked()
    scene.clients[1].sign(scene.survivors)
    refused(lambda: scene.clients[1].sign(Survivors((1, 2, 3, 5))), "again")


def test_clients_that_lie_about_shares_are_noticed() -> None:
    scene = Scene().signed()
    answers = {entry: scene.clients[entry].unmask(scene.request) for entry in range(1, 5)}
    wrong = replace(answers[2], seeds=changed(answers[2].seeds, 1, answers[2].seeds[3]))
    refused(lambda: scene.server.total(answers | {2: wrong}), "do not fit")
    other = Scene().signed(digest=b"x" * 32)
    text = {entry: other.clients[entry].unmask(other.request) for entry in range(1, 5)}
    refused(lambda: other.server.total(text), "another seed")


@pytest.mark.parametrize("what", ["again", "zeros", "both alike", "short"])
def test_a_client_with_bad_keys_is_left_out_and_the_others_go_on(what: str) -> None:
    clients = {entry: Client(entry, T, len(WORDS), LABEL) for entry in range(1, N + 1)}
    keys = {entry: client.keys() for entry, client in clients.items()}
    keys[5] = {
        "again": Keys(keys[5].sealing, keys[1].masking, b""),
        "zeros": Keys(keys[5].sealing, bytes(32), b""),  # makes a secret that is known to all
        "both alike": Keys(keys[5].sealing, keys[5].sealing, b""),
        "short": Keys(b"a", b"b", b""),
    }[what]
    server = Server(T, len(WORDS), LABEL)
    roster = server.roster(keys)
    assert sorted(roster.masking) == [1, 2, 3, 4]
    parcels = server.parcels({entry: clients[entry].shares(roster) for entry in roster.masking})
    survivors = server.survivors(
        {entry: clients[entry].masked(parcels[entry], WORDS) for entry in parcels}
    )
    request = server.request({entry: clients[entry].sign(survivors) for entry in parcels})
    total = server.total({entry: clients[entry].unmask(request) for entry in parcels})
    assert np.array_equal(total, 4 * WORDS)


def test_who_only_says_a_registered_key_is_left_out() -> None:
    scene = Scene(signed=True)
    registered = {entry: signing_public(key) for entry, key in scene.signing.items()}
    scene.keys[3] = replace(scene.keys[3], signature=scene.keys[2].signature)
    assert sorted(proved_keys(scene.keys, registered, LABEL)) == [1, 2, 4, 5]
    assert sorted(proved_keys(scene.keys, registered, b"another round")) == []
    assert sorted(proved_keys(scene.keys, None, LABEL)) == [1, 2, 3, 4, 5]


def test_no_secret_is_shown_by_a_party() -> None:
    scene = Scene(signed=True).signed()
    answer = scene.clients[1].unmask(scene.request)
    for entry in (scene.clients[1], scene.server, answer, scene.keys[1], Signed(b"secret")):
        assert "b'" not in repr(entry)
        assert "secret" not in repr(entry)
