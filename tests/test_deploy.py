"""The container, the services beside it, and the unit of systemd say what the program knows."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import click
import pytest

from veil.cli import veil
from veil.cli.serve import serve
from veil.corpus.icd10cm import NAMES
from veil.search.engines import ENGINES
from veil.text.vectors.catalogue import VECTORS
from veil.web.guard import OPEN

yaml = pytest.importorskip("yaml", reason="the group docs is not installed")
ROOT = Path(__file__).resolve().parents[1]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
UNIT = (ROOT / "deploy" / "veil.service").read_text()


def compose() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
    return document


def arguments(words: list[str]) -> dict[str, Any]:
    """Parse what is handed to ``veil serve``, or raise; click keeps the help it makes for it."""
    above = veil.make_context("veil", ["serve"])
    context: click.Context = serve.make_context("serve", list(words), parent=above)
    return context.params


def commands() -> list[list[str]]:
    (image,) = re.findall(r"^CMD (\[.*\])$", DOCKERFILE, re.MULTILINE)
    (unit,) = re.findall(r"^ExecStart=(.*)$", UNIT, re.MULTILINE)
    return [json.loads(image), compose()["services"]["veil"]["command"], shlex.split(unit)[1:]]


@pytest.mark.parametrize("words", commands(), ids=["image", "compose", "systemd"])
def test_the_program_takes_what_it_is_started_with(words: list[str]) -> None:
    assert words[0] == "serve"
    given = arguments(words[1:])
    assert given["no_browser"]
    if given["host"] == "0.0.0.0":  # noqa: S104 - in a container
        assert given["allow_host"] == ("localhost:8765",)
    ENGINES.parse(given["engine"])


def test_nobody_beyond_this_machine_reaches_a_port() -> None:
    services = compose()["services"]
    assert services["veil"]["ports"] == ["127.0.0.1:8765:8765"]
    assert "ports" not in services["searxng"]
    assert services["searxng"]["cap_drop"] == ["ALL"]
    assert services["searxng"]["cap_add"] == ["CHOWN", "SETGID", "SETUID"]


def test_the_container_runs_without_root_and_writes_nowhere_else() -> None:
    service = compose()["services"]["veil"]
    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]
    assert DOCKERFILE.index("USER veil") < DOCKERFILE.index("ENTRYPOINT")
    assert "torch" not in DOCKERFILE.split("\n", 1)[1]
    kept = re.findall(r"VEIL_(?:CACHE|DATA)=(\S+)", DOCKERFILE)
    assert [one.startswith("/data/") for one in kept] == [True, True]
    assert service["volumes"] == ["veil:/data"]


def test_health_is_asked_where_no_token_is_needed() -> None:
    (path,) = re.findall(r"http://127\.0\.0\.1:8765(/[\w.]+)", DOCKERFILE)
    assert path in OPEN


def test_searxng_gives_json() -> None:
    settings = yaml.safe_load((ROOT / "deploy" / "searxng.yml").read_text())
    assert "json" in settings["search"]["formats"]
    mounted = compose()["services"]["searxng"]["volumes"][0].split(":")[0]
    assert (ROOT / mounted).is_file()


def test_what_comments_tell_to_fetch_can_be_fetched() -> None:
    known = {"minilm", "wordllama", "wordnet", *VECTORS, *NAMES}
    told = [
        names.split()
        for text in (DOCKERFILE, (ROOT / "compose.yaml").read_text())
        for names in re.findall(r"veil fetch ((?:[\w-]+ ?)+)", text)
    ]
    assert len(told) == 2
    assert all(known.issuperset(names) for names in told)
