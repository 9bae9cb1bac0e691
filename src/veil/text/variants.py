"""Read variants that anybody made, and tell by which mechanism."""

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
    """Variants of one mechanism with one parameter.

    Attributes
    ----------
    ids, originals, rows
        One entry per text, in order of first appearance; ``rows[i]`` are the variants of text i,
        in the order of the file. A text of which nothing was released has an empty row.
    mechanism
        As the file says: a spec if `veil protect` wrote it, else any name; "" if it says nothing.
    parameter, value
        ``epsilon`` or ``level`` and what the file gives for it; "" if it has no such column.
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

    Columns ``mechanism`` and ``epsilon`` or ``level``, where the file has them, tell apart the
    results of several mechanisms: each gives a table of its own.
    """
    suffix = suffix_of(path)
    if not path.is_dir() and suffix not in READABLE:
        raise InputError(
            f"{path.name} must end in one of {', '.join(READABLE)}, also with .gz, which tells"
            " the format."
        )
    require_file(path, "variants")
    found: dict[tuple[str, str, str], dict[str, _Text]] = {}
    for row in read_rows(path, _pick, DelimitedLayout()):
        texts = found.setdefault(_key(row.values[3:]), {})
        _add(texts, row.values, row.where(path.name))
    if not found:
        raise InputError(f"{path.name} holds no variants.")
    return tuple(
        VariantTable(
            tuple(texts),
            tuple(text.original for text in texts.values()),
            tuple(tuple(text.variants) for text in texts.values()),
            *key,
        )
        for key, texts in found.items()
    )


def _pick(header: Header) -> tuple[int, ...]:
    """Return the positions of id, text and variant, and of what tells the mechanism."""
    places = [header.find(names) for names in _WANTED.values()]
    for place, names in zip(places, _WANTED.values(), strict=True):
        if place < 0:
            raise InputError(
                f"{header.where} has no column '{names[0]}'; variants come as id, text (the"
                " original) and obfuscatedText, as veil protect --with-originals writes them."
            )
    return (*places, *(header.find((name,)) for name in ("mechanism", *_PARAMETERS)))


def _key(values: Sequence[object]) -> tuple[str, str, str]:
    """Return mechanism, name of its parameter, and value."""
    mechanism, *given = values
    for name, value in zip(_PARAMETERS, given, strict=True):
        if value is not None:
            return _shown(mechanism), name, _shown(value)
    return _shown(mechanism), "", ""


def _shown(value: object) -> str:
    return "" if value is None else str(value).strip()


def _add(texts: dict[str, _Text], values: Sequence[object], where: str) -> None:
    label, original, variant = _shown(values[0]), values[1], values[2]
    if not label or not isinstance(original, str) or not isinstance(variant, str | None):
        raise InputError(f"{where} must have an id, a text and a variant; repair it.")
    text = texts.setdefault(label, _Text(original))
    if text.original != original:
        raise InputError(
            f"{where} has an id that stands for another text further up; give each text an id of"
            " its own."
        )
    if variant:
        text.variants.append(variant)


def made_by(table: VariantTable, given: str = "") -> TextMechanism:
    """Return the mechanism that was named, or else the one that the file names.

    Raises
    ------
    InputError
        If the file names none, or none that is known here.
    """
    if given:
        return mechanism(given)
    name = table.mechanism.strip()
    told = [name]
    if table.parameter:
        told.append(f"{name.lower()}({table.parameter}={table.value})")
    for spec in told:
        with suppress(VeilError):
            return mechanism(spec)
    raise InputError(
        "The file does not say by which mechanism, and with which parameters, its variants were"
        " made; name it with --mechanism, as in --mechanism 'cmp(epsilon=10)'."
    )
