"""Read variants from a file, written by Veil or any other tool, and find their mechanism."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from veil.core.errors import InputError, VeilError
from veil.core.formatting import brief
from veil.data.lines import require_file, suffix_of
from veil.data.rows import DelimitedLayout, Header, read_rows
from veil.text.mechanisms.catalogue import mechanism
from veil.text.mechanisms.mechanism import TextMechanism

READABLE = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")
_WANTED = {
    "id": ("id", "qid", "query_id"),
    "text": ("text", "query"),
    "variant": ("obfuscatedText", "obfuscated_text", "obfuscated"),
}
_PARAMETERS = ("epsilon", "level")


@brief("ids", "rows")
@dataclass(frozen=True, slots=True)
class VariantTable:
    """Variants of one mechanism with one parameter value.

    Attributes
    ----------
    ids, originals, rows
        One entry per text, in order of first appearance; ``rows[i]`` are the variants of text i,
        in the order of the file. The row is empty if nothing was released of the text.
    mechanism
        The mechanism column: a spec if `veil protect` wrote the file, else any name; "" if absent.
    parameter, value
        ``epsilon`` or ``level`` and its value; "" if the file has no such column.
    """

    ids: tuple[str, ...]
    originals: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    mechanism: str = ""
    parameter: str = ""
    value: str = ""


@dataclass(slots=True)
class _Text:
    original: str
    variants: list[str] = field(default_factory=list)


def read_variants(path: Path) -> tuple[VariantTable, ...]:
    """Read columns id, text and obfuscatedText of CSV, TSV, JSONL (also .gz) or Parquet.

    A file with a column ``mechanism``, ``epsilon`` or ``level`` gives one table per mechanism and
    value.
    """
    suffix = suffix_of(path)
    if not path.is_dir() and suffix not in READABLE:
        raise InputError(
            f"{path.name} must end in one of {', '.join(READABLE)}, optionally followed by .gz."
        )
    require_file(path, "variants")
    tables: dict[tuple[str, str, str], dict[str, _Text]] = {}
    for row in read_rows(path, _pick, DelimitedLayout()):
        texts = tables.setdefault(_key(row.values[3:]), {})
        _add(texts, row.values, row.where(path.name))
    if not tables:
        raise InputError(f"{path.name} has no variants.")
    return tuple(
        VariantTable(
            tuple(texts),
            tuple(text.original for text in texts.values()),
            tuple(tuple(text.variants) for text in texts.values()),
            *key,
        )
        for key, texts in tables.items()
    )


def _pick(header: Header) -> tuple[int, ...]:
    """Return the positions of id, text, variant, mechanism and parameters, -1 if absent."""
    places = [header.find(names) for names in _WANTED.values()]
    for place, names in zip(places, _WANTED.values(), strict=True):
        if place < 0:
            raise InputError(
                f"{header.where} has no column '{names[0]}'. A file of variants needs id, text"
                " (the original) and obfuscatedText; veil protect --with-originals writes them."
            )
    return (*places, *(header.find((name,)) for name in ("mechanism", *_PARAMETERS)))


def _key(values: Sequence[object]) -> tuple[str, str, str]:
    """Return the mechanism, its parameter's name, and its value."""
    mechanism, *parameters = values
    for name, value in zip(_PARAMETERS, parameters, strict=True):
        if value is not None:
            return _shown(mechanism), name, _shown(value)
    return _shown(mechanism), "", ""


def _shown(value: object) -> str:
    return "" if value is None else str(value).strip()


def _add(texts: dict[str, _Text], values: Sequence[object], where: str) -> None:
    label, original, variant = _shown(values[0]), values[1], values[2]
    if not label or not isinstance(original, str) or not isinstance(variant, str | None):
        raise InputError(f"{where} must have an id, a text and a variant. Repair it.")
    text = texts.setdefault(label, _Text(original))
    if text.original != original:
        raise InputError(f"{where} repeats the id of another text. Give each text a unique id.")
    if variant:
        text.variants.append(variant)


def made_by(table: VariantTable, spec: str = "") -> TextMechanism:
    """Return the mechanism of a spec, by default the mechanism of the file.

    Raises
    ------
    InputError
        If there is no spec, and the file has no known mechanism.
    """
    if spec:
        return mechanism(spec)
    name = table.mechanism.strip()
    candidates = [name]
    if table.parameter:
        candidates.append(f"{name.lower()}({table.parameter}={table.value})")
    for candidate in candidates:
        with suppress(VeilError):
            return mechanism(candidate)
    raise InputError(
        "The file does not name the mechanism of its variants and its parameters. Add"
        " --mechanism, for example --mechanism 'cmp(epsilon=10)'."
    )
