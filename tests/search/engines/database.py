"""Start a PostgreSQL server of one's own, where the programs are installed."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def programs() -> Path | None:
    """Find the folder of initdb and pg_ctl."""
    folders = [Path(found).parent for found in [shutil.which("pg_ctl")] if found]
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if config := shutil.which("pg_config"):
        told = subprocess.run([config, "--bindir"], capture_output=True, text=True, check=False)
        folders.append(Path(told.stdout.strip() or "/nowhere"))
    wanted = ("initdb", "pg_ctl")
    return next((at for at in folders if all((at / name).exists() for name in wanted)), None)


def owner() -> pwd.struct_passwd:
    """Return whom to run the server as: it refuses to run as root."""
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid())
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = names.get("postgres") or names.get("nobody")
    if entry is None:
        pytest.skip("the tests run as root, and there is no other user to run PostgreSQL as")
    return entry


def _write(path: Path, text: str, user: pwd.struct_passwd) -> None:
    path.touch(0o600)
    path.write_text(text)
    os.chown(path, user.pw_uid, user.pw_gid)


@contextmanager
def running(certificate: str = "", key: str = "") -> Iterator[str]:
    """Run a server in a folder of its own, on a socket and a port, and give its address.

    With a certificate and its key, both in PEM, it offers TLS.
    """
    found = programs()
    if found is None:
        pytest.skip("PostgreSQL is not installed")
    user = owner()
    root = os.geteuid() == 0
    folder = Path(tempfile.mkdtemp(prefix="veil-pg-", dir="/tmp"))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = f"-p {port} -k {folder} -h 127.0.0.1 -F"

    def run(program: str, *arguments: str) -> None:
        subprocess.run(
            [str(found / program), "-D", str(folder / "data"), *arguments],
            check=True,
            timeout=120,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,  # the server inherits it: a pipe would never end
            stderr=subprocess.DEVNULL,
            user=user.pw_uid if root else None,
            group=user.pw_gid if root else None,
            extra_groups=[] if root else None,
        )

    try:
        os.chown(folder, user.pw_uid, user.pw_gid)
        run("initdb", "-U", "tester", "-A", "trust", "-E", "UTF8", "-N", "--locale=C")
        if certificate:
            _write(folder / "data" / "server.crt", certificate, user)
            _write(folder / "data" / "server.key", key, user)
            options += " -c ssl=on"
        run("pg_ctl", "-w", "-l", f"{folder}/log", "-o", options, "start")
        try:
            yield f"host=127.0.0.1 port={port} user=tester dbname=postgres sslmode=disable"
        finally:
            run("pg_ctl", "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
