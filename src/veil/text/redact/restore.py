"""Put personal data back into a file that was released with pseudonyms."""

from itertools import islice
from pathlib import Path

from veil.core.errors import InputError
from veil.data.files import whole_file
from veil.data.lines import read_lines, require_file, suffix_of
from veil.data.releases import check_output, open_writer
from veil.data.rows import read_table
from veil.text.redact.pseudonyms import Pseudonyms, Restored

_AT_ONCE = 4096  # rows
_TABLES = (".csv", ".tsv", ".jsonl", ".parquet")


def restore_file(source: Path, pseudonyms: Pseudonyms, target: Path) -> list[str]:
    """Write a copy of a file with the originals in it, for this user alone; say what was done."""
    require_file(source, "released texts")
    check_output(target)
    kind = suffix_of(source)
    if target.suffix.lower() != kind:
        raise InputError(f"The output must end in {kind}, as the file that is restored.")
    done = Restored()
    if kind in _TABLES:
        return _table(source, pseudonyms, target, done)
    with whole_file(target, private=True) as part, part.open("w", encoding="utf-8") as file:
        file.writelines(done.text(line, pseudonyms) for line in read_lines(source))
        return list(done.told())


def _table(source: Path, pseudonyms: Pseudonyms, target: Path, done: Restored) -> list[str]:
    header, rows = read_table(source)
    with open_writer(target, header.names, "", private=True) as writer:
        while some := list(islice(rows, _AT_ONCE)):
            writer.write([[done.text(one, pseudonyms) for one in row.values] for row in some])
        return list(done.told())
