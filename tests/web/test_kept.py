"""Answers that a browser can go back to."""

import re

from tests.web.conftest import CANARY, Client, FakeDesk

from veil.core.errors import BudgetError
from veil.web.messages import Response
from veil.web.service import AnswerCache


def test_a_browser_is_led_to_an_address_that_it_can_go_back_to(
    client: Client, desk: FakeDesk
) -> None:
    reply = client.form("/search", {"q": CANARY}, sec_fetch_mode="navigate")
    assert reply.status == 303
    address = reply.headers["location"]
    assert re.fullmatch(r"/results\?page=[\w-]{20,}", address)
    pages = [client.get(address) for _ in range(2)]
    assert [item.status for item in pages] == [200, 200]
    assert all(CANARY in item.text for item in pages)
    assert len(desk.searched) == 1


def test_so_is_one_that_asks_from_its_address_bar(client: Client, desk: FakeDesk) -> None:
    reply = client.get(f"/search?q={CANARY}", sec_fetch_site="none", sec_fetch_mode="navigate")
    assert reply.status == 303
    assert CANARY not in str(reply.pairs)
    assert CANARY in client.get(reply.headers["location"]).text


def test_a_refusal_keeps_its_status(client: Client, desk: FakeDesk) -> None:
    desk.fails = BudgetError("Spent.")
    reply = client.form("/search", {"q": "cat"}, sec_fetch_mode="navigate")
    assert client.get(reply.headers["location"]).status == 403


def test_answers_are_forgotten_with_an_entry(client: Client, desk: FakeDesk) -> None:
    address = client.form("/search", {"q": "cat"}, sec_fetch_mode="navigate").headers["location"]
    assert client.form("/ledger/forget", {"number": 7}).status == 303
    for gone in (address, "/results?page=", "/results", "/results?page=x"):
        reply = client.get(gone)
        assert reply.status == 410
        assert "no longer stored" in reply.text


def test_few_answers_are_kept_and_not_for_long() -> None:
    now = [0.0]
    survivor = AnswerCache(lambda: now[0])
    names = [survivor.put(Response(str(i))) for i in range(40)]
    assert [survivor.find(name) is not None for name in names] == [False] * 8 + [True] * 32
    now[0] = 3_600.0
    assert survivor.find(names[-1]) is None
