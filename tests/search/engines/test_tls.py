"""PostgreSQL over a network: TLS or nothing, unless it is asked for otherwise."""

import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from tests.search.engines.misbehaviour import postgres
from tests.search.engines.recording import RecordingServer, Wire

import veil
from veil.core.errors import EngineError, ParameterError
from veil.core.types import Released
from veil.search.engines import ENGINES
from veil.search.engines.network.postgres import mode_of

psycopg = pytest.importorskip("psycopg")

from psycopg import conninfo  # noqa: E402

from veil.search.engines.network.postgres import Postgres  # noqa: E402

PASSWORD = "sesame-open"  # noqa: S105
ROWS = [("7", "0.5", "t", "x")]
HERE, FAR = "127.0.0.1", "0.0.0.0"  # noqa: S104 - both lead here, but only one says so
SSL_REQUEST = struct.pack("!ii", 8, 80877103)


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HOST", "HOSTADDR", "PORT", "SSLMODE", "SERVICE", "SERVICEFILE", "USER"):
        monkeypatch.delenv(f"PG{name}", raising=False)
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    monkeypatch.setenv("HOME", str(tmp_path))


def released(*texts: str) -> list[Released]:
    return [veil.declassify(text) for text in texts]


def wants_password(wire: Wire) -> None:
    """Refuse TLS, ask for the password in clear, and then for nothing more."""
    while True:
        (size,) = struct.unpack("!i", wire.exactly(4))
        if wire.exactly(size - 4)[:4] == struct.pack("!i", 196608):
            break
        wire.send(b"N")
    wire.send(b"R" + struct.pack("!ii", 8, 3))
    wire.until(PASSWORD.encode())


REMOTE = {
    "keywords": ("host={far} port={port} user=u", {}),
    "url": ("postgresql://u@{far}:{port}/d", {}),
    "url that switches it off": ("postgresql://u@{far}:{port}/d?sslmode=disable", {}),
    "keywords that switch it off": ("host={far} port={port} user=u sslmode=disable", {}),
    "prefer": ("host={far} port={port} user=u sslmode=prefer", {}),
    "allow": ("host={far} port={port} user=u sslmode=allow", {}),
    "hostaddr": ("host=localhost hostaddr={far} port={port} user=u", {}),
    "several hosts": ("host={here},{far} port={port} user=u", {}),
    "several addresses": ("hostaddr={here},{far} host=a,b port={port} user=u", {}),
    "environment": ("user=u", {"PGHOST": "{far}", "PGPORT": "{port}"}),
    "environment's address": ("host=localhost port={port} user=u", {"PGHOSTADDR": "{far}"}),
    "environment's mode": ("host={far} port={port} user=u", {"PGSSLMODE": "disable"}),
    "environment's prefer": ("host={far} port={port} user=u", {"PGSSLMODE": "prefer"}),
    "service": ("service=far user=u", {"PGSERVICEFILE": "{file}"}),
    "environment's service": ("user=u", {"PGSERVICE": "far", "PGSERVICEFILE": "{file}"}),
    "half a service": ("service=far host=localhost", {"PGSERVICEFILE": "{file}"}),
}


@pytest.mark.parametrize("name", REMOTE)
def test_no_password_goes_in_clear_to_another_machine(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dsn, variables = REMOTE[name]
    with RecordingServer(wants_password) as server:
        places = {"here": HERE, "far": FAR, "port": server.port, "file": tmp_path / "services"}
        (tmp_path / "services").write_text(
            f"[far]\nhost={FAR}\nhostaddr={FAR}\nport={server.port}\nsslmode=disable\nuser=u\n"
        )
        for variable, value in variables.items():
            monkeypatch.setenv(variable, value.format(**places))
        engine = Postgres(dsn=dsn.format(**places), table="docs", attempts=1, timeout=20)
        with pytest.raises(
            EngineError, match="does not support TLS as 'sslmode' requires"
        ) as told:
            engine.search(released("marmalade"), 3)
    assert told.value.sent == 0
    assert {server.blob[at : at + 8] for at in range(0, len(server.blob), 8)} == {SSL_REQUEST}
    assert PASSWORD.encode() not in server.blob
    assert PASSWORD not in str(told.value)


@pytest.mark.parametrize("mode", ["require", "verify-ca", "verify-full"])
@pytest.mark.parametrize("host", [HERE, FAR])
def test_what_is_declared_counts(host: str, mode: str) -> None:
    with RecordingServer(wants_password) as server:
        dsn = f"host={host} port={server.port} user=u"
        engine = Postgres.load({"dsn": dsn, "table": "docs", "attempts": 1, "sslmode": mode})
        with pytest.raises(EngineError, match="does not support TLS as 'sslmode' requires"):
            engine.search(released("marmalade"), 3)
    assert server.blob == b"" or set(server.blob) == set(SSL_REQUEST)


@pytest.mark.parametrize(
    ("host", "sslmode"), [(HERE, "auto"), (FAR, "disable"), (FAR, "prefer"), (HERE, "disable")]
)
def test_without_tls_here_or_on_request(host: str, sslmode: str) -> None:
    with RecordingServer(postgres(ROWS)) as server:
        dsn = f"host={host} port={server.port} user=u dbname=d"
        engine = Postgres.load({"dsn": dsn, "table": "docs", "sslmode": sslmode})
        assert engine.search(released("marmalade"), 3).list(0) == ("7",)
    assert (SSL_REQUEST in server.blob) == (sslmode != "disable")


@pytest.mark.parametrize(
    ("dsn", "variables", "declared", "mode"),
    [
        ("", {}, "auto", "prefer"),
        ("host=/run/postgresql", {}, "auto", "prefer"),
        ("host=@abstract", {}, "auto", "prefer"),
        ("host=localhost", {}, "auto", "prefer"),
        ("host=127.9.8.7", {}, "auto", "prefer"),
        ("host=::1", {}, "auto", "prefer"),
        ("host=localhost,127.0.0.1,/run", {}, "auto", "prefer"),
        ("host=localhost sslmode=disable", {}, "auto", "disable"),
        ("host=localhost sslmode=verify-full", {}, "auto", "verify-full"),
        ("host=localhost", {"PGSSLMODE": "require"}, "auto", "require"),
        ("host=db.example", {}, "auto", "require"),
        ("host=localhost.example", {}, "auto", "require"),
        ("host=db.localhost", {}, "auto", "require"),
        ("host=10.0.0.1", {}, "auto", "require"),
        ("host=127.0.0.1.example", {}, "auto", "require"),
        ("host=2130706433", {}, "auto", "require"),
        ("host=localhost,db.example", {}, "auto", "require"),
        ("host=db.example,localhost", {}, "auto", "require"),
        ("host=db.example hostaddr=127.0.0.1", {}, "auto", "prefer"),
        ("host=db.example,x hostaddr=127.0.0.1,", {}, "auto", "require"),
        ("host=db.example sslmode=verify-full", {}, "auto", "verify-full"),
        ("host=db.example sslmode=verify-ca", {}, "auto", "verify-ca"),
        ("host=db.example", {"PGSSLMODE": "verify-full"}, "auto", "verify-full"),
        ("host=db.example", {"PGSSLMODE": "nonsense"}, "auto", "require"),
        ("service=x", {}, "auto", "require"),
        ("host=localhost", {"PGSERVICE": "x"}, "auto", "require"),
        ("host=db.example", {}, "disable", "disable"),
        ("host=db.example", {"PGSSLMODE": "disable"}, "verify-full", "verify-full"),
        ("host=localhost", {"PGSSLMODE": "disable"}, "require", "require"),
        ("service=x", {}, "prefer", "prefer"),
    ],
)
def test_which_mode_it_is(
    dsn: str,
    variables: dict[str, str],
    declared: str,
    mode: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    assert mode_of(conninfo.conninfo_to_dict(dsn), declared) == mode


def test_two_modes_are_refused() -> None:
    with pytest.raises(ParameterError, match="'sslmode' parameter of postgres must not differ"):
        Postgres(dsn="host=h sslmode=verify-full", table="docs", sslmode="disable")
    with pytest.raises(ParameterError, match="^The 'sslmode' parameter of postgres must be"):
        Postgres.load({"dsn": "host=h", "table": "docs", "sslmode": "allow"})
    engine = Postgres(dsn="host=h sslmode=disable", table="docs", sslmode="disable")
    assert ENGINES.parse(str(engine)) == engine


def test_a_server_with_tls_is_asked_over_it(tmp_path: Path) -> None:
    from tests.search.engines.database import running

    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    subject = ["-subj", "/CN=localhost", "-days", "2"]
    pair = ["-keyout", str(tmp_path / "key"), "-out", str(tmp_path / "cert")]
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *subject, *pair]
    subprocess.run(made, check=True, capture_output=True)
    with running((tmp_path / "cert").read_text(), (tmp_path / "key").read_text()) as dsn:
        far = dsn.replace(HERE, FAR).replace("sslmode=disable", "")
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("CREATE TABLE docs (id text, text text)")
            connection.execute("INSERT INTO docs VALUES ('d1', 'green tea')")
            connection.execute(
                "CREATE VIEW mine AS SELECT id, text || (SELECT ssl::text FROM pg_stat_ssl"
                " WHERE pid = pg_backend_pid()) AS text FROM docs"
            )
        answers = Postgres(dsn=far, table="mine").search(released("green"), 3)
        assert answers.texts == ("green teatrue",)
        engine = Postgres(dsn=far, table="docs", sslmode="verify-full", attempts=1)
        with pytest.raises(EngineError, match="does not support TLS as 'sslmode' requires"):
            engine.search(released("tea"), 3)
