"""A file of answers to fill in."""

from importlib.resources import files
from pathlib import Path

from veil.core.errors import InputError
from veil.data.files import whole_file

TEMPLATE = (files("veil.dpia") / "template.toml").read_text(encoding="utf-8")


def write_template(path: str | Path) -> Path:
    """Write the template, with a comment for every key; a file that is there stays."""
    target = Path(path)
    if target.exists():
        raise InputError(f"{target} is there already; name a new file.")
    with whole_file(target, private=True) as part:
        part.write_text(TEMPLATE, encoding="utf-8")
    return target
