"""Without the token nobody comes in, and the token is told nowhere."""

import itertools
import os
import re
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.cli.conftest import Veil, surroundings, veil  # noqa: F401 - fixtures
from tests.web.conftest import (
    CANARY,
    HOST,
    LET_IN,
    ORIGIN,
    TOKEN,
    Client,
    FakeDesk,
    MakeClient,
    Reply,
    Server,
)
from tests.web.test_serve import FORM, head, status

import veil.web.guard as entrance
from veil.core.errors import LedgerError, ParameterError
from veil.web.guard import KEPT, is_stranger
from veil.web.messages import HEADERS
from veil.web.peers import is_other_user
from veil.web.routes import OPERATIONS
from veil.web.token import FILE, leading, new_token, own_token

COOKIE = f"veil-8765={TOKEN}"
OPEN = ("/favicon.ico", "/opensearch.xml", "/robots.txt", "/static/icon.svg", "/static/page.css")
PAGES = (
    "/",
    "/search?q=cat",
    "/results?page=x",
    "/plane",
    "/places",
    "/tables",
    "/sensitive",
    "/ledger",
    "/nowhere",
    "/static/page.js",
)
PROGRAMS = ("/openapi.json", "/api/nothing", *(one.path for one in OPERATIONS))


def outside(client: Client, method: str, target: str, **headers: str) -> Reply:
    messages = {name.replace("_", "-"): value for name, value in headers.items()}
    return client.ask(method, target, messages, token=False)


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "OPTIONS"])
@pytest.mark.parametrize("target", PAGES + PROGRAMS)
def test_nothing_is_served_without_the_token(
    client: Client, desk: FakeDesk, method: str, target: str
) -> None:
    reply = outside(client, method, target)
    assert reply.status == 401
    assert reply.headers["www-authenticate"] == "Bearer"
    assert HEADERS.items() <= reply.headers.items()
    assert reply.headers["cache-control"] == "no-store"
    assert desk.searched == []
    assert len(desk.entries) == 120
    assert "fake" not in reply.text  # the engine
    if target in PROGRAMS:
        assert "veil token" in reply.refused(401)
    else:
        assert "Token required" in reply.text
        assert reply.text == outside(client, "GET", "/").text  # whatever was asked for


@pytest.mark.parametrize("target", OPEN)
def test_what_browsers_fetch_by_themselves_tells_nothing(client: Client, target: str) -> None:
    reply = outside(client, "GET", target)
    assert reply.status == 200
    assert "fake" not in reply.text
    assert outside(client, "POST", target).status == 401


def test_the_token_is_a_bearer_or_a_cookie(client: Client) -> None:
    for good in (
        {"authorization": LET_IN},
        {"authorization": f"bearer  {TOKEN}"},
        {"cookie": COOKIE},
        {"cookie": f"a=b; {COOKIE}; c=d"},
        {"cookie": f"veil-8765=x; {COOKIE}"},  # another server of the machine put one there
    ):
        assert outside(client, "GET", "/api/budget", **good).status == 200


@pytest.mark.parametrize(
    "bad",
    [
        {"authorization": TOKEN},
        {"authorization": "Bearer"},
        {"authorization": "Bearer "},
        {"authorization": f"Basic {TOKEN}"},
        {"authorization": f"Bearer {TOKEN[:-1]}"},
        {"authorization": f"Bearer {TOKEN}x"},
        {"authorization": f"Bearer {TOKEN.upper()}"},
        {"authorization": f"Bearer {TOKEN[:-1]}é"},
        {"cookie": f"veil={TOKEN}"},
        {"cookie": f"veil-80={TOKEN}"},
        {"cookie": "veil-8765="},
        {"cookie": "veil-8765"},
        {"cookie": f"veil-8765={TOKEN[1:]}"},
        {"cookie": f'veil-8765="{TOKEN}x"'},
        {"x-token": TOKEN},
    ],
)
def test_nothing_else_will_do(client: Client, bad: dict[str, str]) -> None:
    for target in (
        "/",
        "/ledger",
        "/api/budget",
        f"/?token={TOKEN}",
        f"/api/budget?token={TOKEN}",
    ):
        assert client.ask("GET", target, bad, token=False).status == 401


def test_it_is_compared_in_constant_time(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return False

    monkeypatch.setattr("hmac.compare_digest", compare)
    assert outside(client, "GET", "/", authorization=LET_IN).status == 401
    assert outside(client, "GET", "/", cookie=COOKIE).status == 401
    assert outside(client, "GET", f"/enter?token={TOKEN}").status == 401
    assert compared == [(TOKEN.encode(), TOKEN.encode())] * 3


def test_the_printed_address_lets_in_and_leads_on(client: Client) -> None:
    reply = outside(client, "GET", f"/enter?token={TOKEN}", sec_fetch_site="none")
    assert (reply.status, reply.headers["location"], reply.body) == (303, "/", b"")
    assert reply.headers["referrer-policy"] == "no-referrer"
    assert reply.headers["cache-control"] == "no-store"
    cookie_parts = reply.headers["set-cookie"].split("; ")
    assert cookie_parts[0] == COOKIE
    assert set(cookie_parts[1:]) == {"Path=/", "Max-Age=7776000", "HttpOnly", "SameSite=Strict"}
    assert outside(client, "GET", "/", cookie=cookie_parts[0]).status == 200


def test_where_another_site_leads_the_page_itself_leads_on(client: Client) -> None:
    """A file of ours that the browser is started with counts as another site."""
    cross = {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate"}
    reply = outside(client, "GET", f"/enter?token={TOKEN}", **cross)
    assert reply.status == 200
    assert '<meta http-equiv="refresh" content="0; url=/">' in reply.text
    assert reply.headers["referrer-policy"] == "no-referrer"
    assert TOKEN not in reply.text
    assert reply.headers["set-cookie"].startswith(COOKIE)


def test_a_form_takes_the_token_or_the_whole_address(client: Client) -> None:
    form = {"content-type": "application/x-www-form-urlencoded", "origin": ORIGIN}
    for messages in (TOKEN, f"%20{TOKEN}%0A", f"http%3A%2F%2F{HOST}%2Fenter%3Ftoken%3D{TOKEN}"):
        reply = client.ask("POST", "/enter", form, f"token={messages}".encode(), token=False)
        assert (reply.status, reply.headers["location"]) == (303, "/")
    bad = form | {"origin": "http://evil.example"}
    assert client.ask("POST", "/enter", bad, f"token={TOKEN}".encode(), token=False).status == 403
    wrong = client.ask("POST", "/enter", form, b"token=" + TOKEN[1:].encode(), token=False)
    assert wrong.status == 401
    assert "not the token of this installation" in wrong.text
    assert "set-cookie" not in wrong.headers
    assert TOKEN[1:] not in wrong.text
    for method, expected in (("PUT", 405), ("DELETE", 405)):
        assert client.ask(method, "/enter", token=False).status == expected


def test_behind_tls_the_cookie_is_for_tls(make_client: MakeClient) -> None:
    client = make_client(hosts=["https://veil.example"])
    reply = client.ask("GET", f"/enter?token={TOKEN}", host="veil.example", token=False)
    assert reply.headers["set-cookie"].startswith(f"veil-443={TOKEN}; ")
    assert reply.headers["set-cookie"].endswith("; Secure")


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_site_leads_to_the_plain_page(client: Client, site: str) -> None:
    """Browsers keep the cookie to themselves then; from our own page it is sent again."""
    cross = {"sec_fetch_site": site, "sec_fetch_mode": "navigate"}
    content = outside(client, "GET", f"/search?q={CANARY}", **cross)
    assert (content.status, CANARY in content.text) == (401, False)
    assert '<a href="">continue</a>' in content.text
    assert '<a href="/">continue</a>' in outside(client, "GET", "/?stop=2", **cross).text
    assert "go on" not in outside(client, "GET", "/", sec_fetch_site="none").text
    outside(client, "GET", "/api/budget", **cross).refused(403)


@pytest.mark.parametrize("token", ["", "x", TOKEN[1:], TOKEN + "x", " " * 43, None])
def test_an_application_without_a_token_is_not_made(
    make_client: MakeClient, token: str | None
) -> None:
    with pytest.raises(ParameterError):
        make_client(token=token)


def test_an_application_must_be_given_a_token() -> None:
    from veil.web.app import make_app

    with pytest.raises(TypeError, match="token"):
        make_app(None, None, hosts=[HOST])  # type: ignore[arg-type, call-arg]


@pytest.fixture
def closed(server: Server) -> Iterator[Server]:
    server.lets_in = False
    yield server
    server.lets_in = True


def test_a_real_server_lets_nobody_in(
    closed: Server, desk: FakeDesk, capfd: pytest.CaptureFixture[str]
) -> None:
    assert status(closed.get("/ledger")) == 401
    body = b"number=7"
    own = (f"Host: {closed.host}", f"Content-Length: {len(body)}", "Connection: close", FORM)
    assert status(closed.raw(head("POST", "/ledger/forget", *own) + body)) == 401
    assert 7 in desk.entries
    reply = closed.get(f"/enter?token={TOKEN}")
    assert status(reply) == 303
    match = re.search(rb"set-cookie: (veil-\d+=\S+);", reply)
    assert match is not None
    assert status(closed.get("/ledger", f"Cookie: {match[1].decode()}")) == 200
    assert status(closed.get("/ledger", f"Authorization: {LET_IN}")) == 200
    assert capfd.readouterr() == ("", "")


# The file


def test_the_token_is_made_once_and_owner_only(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with ThreadPoolExecutor(8) as pool:
        tokens = set(pool.map(lambda _: own_token(folder), range(32)))
    (token,) = tokens
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", token)
    assert [path.name for path in folder.iterdir()] == [FILE]
    assert stat.S_IMODE((folder / FILE).stat().st_mode) == 0o600
    assert own_token(tmp_path / "other") != token
    assert new_token(folder) not in (token, own_token(tmp_path / "other"))


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_token_that_others_can_read_or_make_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    token = own_token(folder)
    path = folder / FILE
    for mode in (0o640, 0o604, 0o620, 0o644):
        path.chmod(mode)
        with pytest.raises(LedgerError, match="chmod go-rwx") as caught:
            own_token(folder)
        assert token not in str(caught.value)
    path.chmod(0o600)
    folder.chmod(0o755)
    with pytest.raises(LedgerError, match="chmod go-rwx"):
        own_token(folder)
    folder.chmod(0o700)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(LedgerError, match="cannot be read"):
        own_token(folder)
    path.unlink()
    path.mkdir(0o700)
    with pytest.raises(LedgerError):
        own_token(folder)


@pytest.mark.parametrize("content", [b"", b"short", b"\xff" * 43, b"x" * 44, b"x" * 42 + b"\n"])
def test_a_torn_token_is_refused(tmp_path: Path, content: bytes) -> None:
    folder = tmp_path / "data"
    own_token(folder)
    (folder / FILE).write_bytes(content)
    with pytest.raises(LedgerError):
        own_token(folder)
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", new_token(folder))


def test_a_file_leads_the_browser_so_that_no_argument_holds_the_token(tmp_path: Path) -> None:
    address = f"http://{HOST}/enter?token={TOKEN}"
    with leading(address, tmp_path / "data") as file:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert TOKEN not in file.as_uri()
        assert f"url={address}" in file.read_text()
    assert not file.exists()


# The commands


def test_the_command_prints_the_token(veil: Veil) -> None:  # noqa: F811
    first = veil("token")
    assert (first.code, first.err, first.out) == (0, "", f"{own_token()}\n")
    assert veil("token", "--header").out == f"Authorization: Bearer {own_token()}\n"
    other = veil("token", "--new").out
    assert other != first.out
    assert veil("token").out == other


# Other users


def test_the_owner_of_a_connection_is_known(tmp_path: Path) -> None:
    near, far = "0100007F:9C40", "0100007F:223D"
    if sys.byteorder != "little" or sys.platform != "linux":
        pytest.skip("tables of Linux")
    table = tmp_path / "tcp"
    own, other = os.getuid(), os.getuid() + 1
    mapped = "0000000000000000FFFF0000"
    baseline, pair = f"{near} {far}", f"{mapped}{near} {mapped}{far}"  # the kinds of sockets
    for client, server in itertools.product(
        [("127.0.0.1", 40000), ("::ffff:127.0.0.1", 40000)],
        [("127.0.0.1", 8765), ("::ffff:127.0.0.1", 8765)],
    ):
        for line, stranger in (
            *((f"0: {ends} 01 0:0 0:0 0 {own} 0 77 1", False) for ends in (baseline, pair)),
            *((f"0: {ends} 01 0:0 0:0 0 0 0 77 1", False) for ends in (baseline, pair)),  # root
            *((f"0: {ends} 01 0:0 0:0 0 {other} 0 77 1", True) for ends in (baseline, pair)),
            *((f"0: {ends} 06 0:0 0:0 0 0 0 0 1", True) for ends in (baseline, pair)),  # given up
            (f"0: {far} {near} 01 0:0 0:0 0 {own} 0 77 1", True),  # our own end alone
            ("", True),  # gone
        ):
            table.write_text(f"head\n{line}\n")
            assert is_other_user(client, server, (table,)) is stranger
            assert is_other_user(client, server, (tmp_path / "none", table)) is stranger
        assert not is_other_user(client, server, (tmp_path / "none",))  # the system does not tell


def test_who_comes_from_elsewhere_is_no_user_of_this_machine(tmp_path: Path) -> None:
    if sys.byteorder != "little" or sys.platform != "linux":
        pytest.skip("tables of Linux")
    table = tmp_path / "tcp"
    table.write_text("head\n")
    far = ("192.0.2.9", 8765)
    assert not is_other_user(("192.0.2.1", 40000), far, (table,))
    assert not is_other_user(("fe80::1%eth0", 40000), ("fe80::2%eth0", 8765), (table,))
    assert not is_other_user(None, far, (table,))
    assert not is_other_user(("a pipe", 0), None, (table,))
    assert is_other_user(("127.0.0.1", 40000), far, (table,))
    assert is_other_user(("::1", 40000), ("::1", 8765), (table,))
    line = f"0: 090200C0:9C40 090200C0:223D 01 0:0 0:0 0 {os.getuid() + 1} 0 77 1"
    table.write_text(f"head\n{line}\n")
    assert is_other_user(("192.0.2.9", 40000), far, (table,))  # by an address of the network


def test_who_it_is_was_found_when_the_connection_was_made() -> None:
    for survivor in (True, False):
        assert is_stranger({"state": {KEPT: survivor}}) is survivor
    gone = {"client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2)}
    assert is_stranger(gone) is (sys.platform == "linux")
    assert is_stranger(gone | {"state": {}}) is (sys.platform == "linux")


def test_strangers_are_refused_whatever_they_have(
    client: Client, monkeypatch: pytest.MonkeyPatch, make_client: MakeClient
) -> None:
    monkeypatch.setattr(entrance, "is_stranger", lambda scope: True)
    assert client.get("/").status == 403
    client.get("/api/budget").refused(403)
    assert outside(client, "GET", f"/enter?token={TOKEN}").status == 403
    proxied = make_client(hosts=["https://veil.example"])  # who encrypts is another user
    assert proxied.ask("GET", "/", host="veil.example").status == 200


@pytest.mark.skipif(
    sys.platform != "linux" or os.getuid() != 0, reason="needs to become another user"
)
@pytest.mark.parametrize("address", ["127.0.0.1", "::ffff:127.0.0.1"])
def test_another_user_of_the_machine_is_refused(closed: Server, address: str) -> None:
    program = (
        "import sys, socket\n"
        "sock = socket.socket(socket.AF_INET6 if ':' in sys.argv[2] else socket.AF_INET)\n"
        "sock.connect((sys.argv[2], int(sys.argv[1])))\n"
        "sock.sendall(sys.stdin.buffer.read())\n"
        "sys.stdout.buffer.write(sock.recv(65536))\n"
    )
    request = head("GET", "/ledger", f"Host: {closed.host}", f"Authorization: {LET_IN}",
                   "Connection: close")  # fmt: skip
    command = ["/usr/bin/env", "-i", _python(), "-S", "-c", program, str(closed.port), address]
    for user, expected in ((65534, 403), (0, 200)):
        result = subprocess.run(
            command, input=request, capture_output=True, user=user, timeout=60, check=False,
            cwd="/",
        )  # fmt: skip
        if result.returncode and user:
            pytest.skip("no Python that others may run")
        assert status(result.stdout) == expected


def _python() -> str:
    for name in ("/usr/bin/python3", "/usr/local/bin/python3"):
        if Path(name).exists():
            return name
    return sys.executable


def test_the_address_is_ours() -> None:
    assert entrance.cookie_name("https://veil.example") == "veil-443"
    assert entrance.cookie_name("http://[::1]:99") == "veil-99"
    assert urlsplit(f"{ORIGIN}{entrance.ENTER}").path == "/enter"
