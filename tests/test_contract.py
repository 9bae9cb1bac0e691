"""The public contract holds: names, parameters, commands, entry points and golden tables."""

import hashlib
import importlib
import json

import pytest
from click.testing import CliRunner
from tests import contract

from veil.cli import veil as program

pytestmark = pytest.mark.filterwarnings("ignore:.* is now:DeprecationWarning")
FROZEN: contract.Contract = json.loads(contract.FILE.read_text())
GOLDEN = {  # SHA-256
    "study-results.csv": "04a4b51bcf9105b8952cc434c26e70d5f765b879fde2a8450cb189c1d17f6d4e",
    "study-scores.csv": "15affa5394cea8aac2cf081ce73f70fb6d776ba3ab1bcf9faccfa656072c397c",
}


@pytest.fixture(scope="module")
def now() -> contract.Contract:
    return contract.current()


@pytest.mark.parametrize("name", FROZEN["names"])
def test_public_name_keeps_its_parameters_and_attributes(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    expected = FROZEN["names"][name]
    found = contract.description(getattr(importlib.import_module(module), attribute))
    assert found["kind"] == expected["kind"]
    assert in_order(expected.get("parameters", []), found.get("parameters", []))
    assert set(expected.get("attributes", [])) <= set(found.get("attributes", []))


def in_order(frozen: list[str], found: list[str]) -> bool:
    """Whether all frozen parameters remain, in the same order."""
    return [name for name in found if name in frozen] == frozen


@pytest.mark.parametrize("name", FROZEN["registries"])
def test_registry_keeps_its_entries(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    registry = getattr(importlib.import_module(module), attribute)
    for entry, fields in FROZEN["registries"][name].items():
        assert set(fields) <= set(registry.get(entry).model_fields), entry


@pytest.mark.parametrize("target", FROZEN["imports"])
def test_documented_import_works(target: str) -> None:
    module, _, name = target.partition(":")
    assert getattr(importlib.import_module(module), name) is not None


@pytest.mark.parametrize("path", FROZEN["commands"])
def test_command_keeps_its_flags(path: str, now: contract.Contract) -> None:
    flags = {flag for flag in FROZEN["commands"][path] if flag.startswith("-")}
    assert flags <= set(now["commands"][path])


@pytest.mark.parametrize("form", sorted({*FROZEN["forms"], *contract.forms()}))
def test_documented_command_has_help(form: str) -> None:
    result = CliRunner().invoke(program, [*form.split(), "--help"])
    assert result.exit_code == 0, result.output
    assert f"Usage: veil {form}" in result.output


def test_entry_point_groups_remain(now: contract.Contract) -> None:
    assert set(FROZEN["groups"]) <= set(now["groups"])


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_table_is_byte_equal(name: str) -> None:
    content = (contract.FILE.parent / name).read_bytes()
    assert hashlib.sha256(content).hexdigest() == GOLDEN[name]
