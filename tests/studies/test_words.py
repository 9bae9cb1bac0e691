"""The loop and the drawings know no kind of data: none of their files says a word of one."""

import re
from pathlib import Path

import pytest

import veil.studies

FOLDER = Path(veil.studies.__file__).parent
FOLDERS = (FOLDER, FOLDER.parent / "drawing")
FILES = sorted(
    file
    for folder in FOLDERS
    for file in folder.rglob("*")
    if file.suffix in (".py", ".css", ".js")
)
WORDS = re.compile(
    r"quer(?:y|ies)|\bvariants?\b|ndcg|\bsearch|\bcollection\b|\bengines?\b", re.IGNORECASE
)
TECHNICAL = re.compile(r"querySelector\w*|font-variant-numeric")  # of browsers


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(FOLDER.parent)))
def test_no_word_of_a_domain(file: Path) -> None:
    text = file.read_text()
    if file == FOLDER / "__init__.py":  # the table of domains names them, and where they are
        text = text.partition("DEFAULT = ")[0]
    found = WORDS.findall(TECHNICAL.sub("", text))
    assert not found


def test_the_files_are_looked_at() -> None:
    assert {"sweep.py", "page.css", "page.js"} <= {file.name for file in FILES}
    assert WORDS.search("its nDCG")
