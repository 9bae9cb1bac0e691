"""Write an assessment as HTML, Markdown or JSON: whole or not at all, for its owner alone."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from veil.core.errors import InputError
from veil.data.files import require_folder, whole_file
from veil.dpia.assessment import Assessment, assessed
from veil.dpia.cnil import cnil
from veil.dpia.html import html
from veil.dpia.load import Asked, claims, load
from veil.dpia.markdown import markdown
from veil.dpia.steps import document

_WRITERS: dict[str, Callable[[Assessment], str]] = {
    ".html": lambda found: html(document(found)),
    ".md": lambda found: markdown(document(found)),
    ".json": cnil,
}


def dpia(study: str | Path | Mapping[str, Any], path: str | Path) -> Assessment:
    """Write the impact assessment of a study, and return what it says.

    Parameters
    ----------
    study
        TOML file of a person's answers and of what was measured, or its keys.
    path
        Where it is written, by its ending: a page (``.html``), Markdown (``.md``), or the JSON
        of the PIA software of the CNIL (``.json``).
    """
    asked, target = load(study), Path(path)
    _check(target, asked)
    found = assessed(asked)
    written = _WRITERS[target.suffix.lower()](found)
    if claims(written):
        raise InputError(
            "A name in the results says that something complies with the law, which no figure"
            " shows; rename it."
        )
    with whole_file(target, private=True) as part:
        part.write_text(written, encoding="utf-8", errors="replace")
    return found


def _check(target: Path, asked: Asked) -> None:
    """Refuse, before any work, what cannot be written or would replace an input."""
    if target.suffix.lower() not in _WRITERS:
        raise InputError(
            f"{target.name} must end in one of {', '.join(_WRITERS)}, which tells the format."
        )
    require_folder(target)
    if target.exists() and any(one.exists() and target.samefile(one) for one in asked.inputs):
        raise InputError(f"{target} is read for the assessment; name another file to write to.")
