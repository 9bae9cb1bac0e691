"""Releases and their cards on disk; what is claimed is counted in the file before it appears."""

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from veil.core.errors import InputError, MissingExtraError, VeilError
from veil.core.guarantee import Guarantee
from veil.core.rng import generator
from veil.data.files import require_folder, whole_file
from veil.data.releases import NO_TEXT, CsvWriter
from veil.data.rows import pyarrow_parquet
from veil.tables.column import Column, Kind
from veil.tables.hierarchy import Hierarchy
from veil.tables.mechanism import Release, nothing, protect
from veil.tables.mechanisms import MECHANISMS
from veil.tables.recount import KINDS, Claim, Recount, Scale, Verdict, require_claim
from veil.tables.schema import Source, hierarchy_files
from veil.tables.table import Table

_EXACT = 2**53  # below which a double holds every whole number
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def columns_of_frame(frame: Any) -> dict[str, Any]:  # noqa: ANN401 - of another library
    """Return the columns of a frame of pandas or polars, or of a table of Arrow."""
    kind = type(frame).__module__.partition(".")[0]
    listed = {"pandas": _of_pandas, "polars": _of_polars, "pyarrow": _of_arrow}.get(kind)
    if listed is None:
        raise InputError(
            "A table is a path, a dict of columns, or a frame of pandas, polars or Arrow."
        )
    try:
        names, columns = listed(frame)
    except (AttributeError, TypeError, ValueError):
        raise InputError(
            f"What is of {kind} is no table of columns; hand in a frame with one value a cell."
        ) from None
    if len(set(names)) < len(names):
        raise InputError("The frame has two columns of one name; rename one.")
    return dict(zip(names, columns, strict=True))


def texts_of_frame(frame: Any) -> tuple[str, ...]:  # noqa: ANN401 - of another library
    """Return the columns that the schema of a frame calls text; objects may be anything."""
    kind = type(frame).__module__.partition(".")[0]
    if kind == "pandas":
        pairs = zip(map(str, frame.columns), map(str, frame.dtypes), strict=True)
        return tuple(name for name, dtype in pairs if dtype in ("string", "str"))
    schema = frame.collect_schema() if hasattr(frame, "collect_schema") else frame.schema
    if kind == "polars":
        return tuple(name for name, dtype in schema.items() if str(dtype) in ("String", "Utf8"))
    texts = (
        "string",
        "large_string",
        "dictionary<values=string",
        "dictionary<values=large_string",
    )
    return tuple(one.name for one in schema if str(one.type).startswith(texts))


def _of_pandas(frame: Any) -> tuple[list[str], list[Any]]:  # noqa: ANN401 - of pandas
    columns = [frame.iloc[:, at] for at in range(frame.shape[1])]
    made = [one.astype(object).where(one.notna(), None).tolist() for one in columns]
    return list(map(str, frame.columns)), made


def _of_polars(frame: Any) -> tuple[list[str], list[Any]]:  # noqa: ANN401 - of polars
    eager = frame.collect() if hasattr(frame, "collect") else frame
    return list(eager.columns), [one.to_list() for one in eager.get_columns()]


def _of_arrow(frame: Any) -> tuple[list[str], list[Any]]:  # noqa: ANN401 - of pyarrow
    return list(frame.schema.names), [one.to_pylist() for one in frame.columns]


def write_csv(table: Table, path: Path, *, excel_safe: bool = False) -> None:
    """Write the columns as they are written; a missing value is an empty field."""
    require_folder(path)
    with whole_file(path, private=True) as part:
        _write_csv(table, part, excel_safe=excel_safe)


def _write_csv(table: Table, part: Path, *, excel_safe: bool) -> None:
    with part.open("w", encoding="utf-8", newline="") as file:
        writer = CsvWriter(file)
        writer.writerow([safe(name) if excel_safe else name for name in table.columns])
        writer.writerows(text_rows(table, excel_safe=excel_safe))


def text_rows(table: Table, *, excel_safe: bool = False) -> Iterator[Sequence[str]]:
    """Yield the rows as they are written; a missing value is empty."""
    texts = [table.column(name).texts.tolist() for name in table.columns]
    numeric = [table.column(name).numeric for name in table.columns]
    for row in zip(*texts, strict=True):
        yield [
            "" if text is None else safe(text) if excel_safe and not number else text
            for text, number in zip(row, numeric, strict=True)
        ]


def safe(text: str) -> str:
    """Quote what a spreadsheet would take for a formula."""
    return "'" + text if text.startswith(_FORMULA) else text


def as_arrow(table: Table) -> Any:  # noqa: ANN401 - of pyarrow
    """Return a table of Arrow: whole numbers, doubles or strings; missing is null."""
    try:
        import pyarrow as pa
    except ImportError:
        raise MissingExtraError("Arrow needs pyarrow: pip install 'veil[parquet]'.") from None
    arrays = {}
    for name in table.columns:
        column = table.column(name)
        values = column.values
        if column.numeric and _whole(column):
            held = np.where(column.missing, 0, values).astype(np.int64)
            arrays[name] = pa.array(held, mask=column.missing)
        else:
            kind = pa.float64() if column.numeric else pa.string()
            try:
                arrays[name] = pa.array(values, kind, from_pandas=True)
            except UnicodeEncodeError:  # it holds the value
                raise InputError(NO_TEXT) from None
    return pa.table(arrays)


def _whole(column: Column) -> bool:
    there = column.values[~column.missing]
    return bool((np.abs(there) < _EXACT).all() and (there == np.rint(there)).all())


def as_polars(table: Table) -> Any:  # noqa: ANN401 - of polars
    """Return a frame of polars."""
    try:
        pl: Any = import_module("polars")
    except ImportError:
        raise MissingExtraError("A frame needs polars: pip install polars.") from None
    return pl.DataFrame({name: table[name].tolist() for name in table.columns}, nan_to_null=True)


def write_parquet(table: Table, path: Path) -> None:
    """Write it as Parquet, owner-only, whole or not at all."""
    with whole_file(path, private=True) as part:
        _write_parquet(table, part)


def _write_parquet(table: Table, part: Path) -> None:
    pyarrow_parquet().write_table(table.to_arrow(), part, compression="zstd")


def as_pandas(table: Table) -> Any:  # noqa: ANN401 - of pandas
    """Return a frame of pandas."""
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtraError("A frame needs pandas: pip install pandas.") from None
    return pd.DataFrame({name: table[name] for name in table.columns})


FORMATS = (".csv", ".parquet")
SEEDED = "Seeded: the draws can be repeated. NOT PRIVATE."
_CARD = 2**20  # bytes that a card may have


def save(
    release: Release,
    out: Path,
    *,
    excel_safe: bool = False,
    shuffle: bool = False,
    quality: Mapping[str, float] | None = None,
) -> None:
    """Write a release and its card, for their owner alone, each whole or not at all.

    The file is read back first, and k, l and t are counted in it by other code than made it; below
    what the card claims nothing is written.

    Which row of the original a row is stands in neither. `shuffle` also gives up their order,
    which is a link for whoever knows that of the original. `quality` is what was measured of it,
    for the card: who has the file alone cannot.
    """
    require_writable(out)
    table = release.table
    if shuffle:
        table = table.take(generator().permutation(len(table)))
    with whole_file(out, private=True) as part:
        if out.suffix.lower() == ".csv":
            _write_csv(table, part, excel_safe=excel_safe)
        else:
            _write_parquet(table, part)
        check_claim(release, part, out.suffix, excel_safe=excel_safe)
        with whole_file(card_of(out), private=True) as card:
            told = card_content(release, shuffled=shuffle, quality=quality)
            text = json.dumps(told, indent=1, ensure_ascii=False)
            card.write_text(text + "\n", encoding="utf-8")


def check_claim(release: Release, path: Path, suffix: str, *, excel_safe: bool = False) -> None:
    """Raise if a file that was written does not keep what is claimed of its release."""
    claim = claim_of(release.method, release.guarantee, release.table.roles)
    if claim is not None:
        counted = Recount.of_file(path, claim, suffix, excel_safe=excel_safe)
        require_claim(counted, claim, scales_of(release.table, claim))


def claim_of(method: str, guarantee: Guarantee, roles: Mapping[str, str]) -> Claim | None:
    """Return what is claimed of classes; None if that is nothing.

    Its figures are those of the guarantee, and its details those of the method: of several the
    last one is the one whose guarantee holds.
    """
    if guarantee.kind not in KINDS:
        return None
    claim = claim_by_method(method, roles)
    found = {
        "k": guarantee.k if guarantee.k > 1 else None,
        "l": guarantee.l if guarantee.l > 1 else None,
        "t": guarantee.t if math.isfinite(guarantee.t) else None,
    }
    missing = {name: one for name, one in found.items() if getattr(claim, name) is None}
    return replace(claim, **missing)  # type: ignore[arg-type]


def claim_by_method(method: str, roles: Mapping[str, str]) -> Claim:
    """Return what the last method of a card claims; nothing if it is not known here."""
    qi, confidential = (
        tuple(name for name, role in roles.items() if role == wanted)
        for wanted in ("qi", "confidential")
    )
    try:
        step = MECHANISMS.parse(method.split(" | ")[-1])
    except VeilError:  # of another version, or of a plugin that is gone
        return Claim(qi, confidential)
    asked = getattr(step, "asked", None)
    if asked is None:
        return Claim(qi, confidential, getattr(step, "k", None))
    least = asked.k if asked.k > 1 else None
    return Claim(
        qi, confidential, least, asked.l, asked.diversity, asked.c, asked.t, asked.distance
    )


def scales_of(table: Table, claim: Claim) -> dict[str, Scale]:
    """Return how far apart the values of confidential columns are, as far as that is known."""
    return {
        name: _scale(table.column(name), table.hierarchies.get(name))
        for name in claim.columns
        if name in table
    }


def _scale(column: Column, hierarchy: Hierarchy | None) -> Scale:
    if hierarchy is None:
        return Scale()
    return Scale(None if column.numeric else hierarchy.place, hierarchy.rows)


def verdict_of(out: Path, card: "Card", hierarchies: Path | None = None) -> Verdict | None:
    """Count a released file, or a folder of them, and compare it with the claim of its card.

    `hierarchies` is the folder with those of the confidential columns, which t may need. None: the
    card claims nothing of classes.
    """
    claim = card.claim
    if claim is None:
        return None
    counted = Recount()
    for file in sorted(out.glob("*.csv")) if out.is_dir() else [out]:
        counted.add(Recount.of_file(file, claim, excel_safe=True))
    files = hierarchy_files(hierarchies, claim.columns) if hierarchies is not None else {}
    scales = {}
    for name, classes in counted.values.items():
        texts = sorted(set().union(*classes.values()))
        column = Column.verbatim_of(texts, (card.types or {}).get(name))
        path, nobody = files.get(name), column.take(np.empty(0, dtype=np.int64))
        scales[name] = _scale(column, None if path is None else Hierarchy.of(path, nobody, name))
    return counted.verdict(claim, scales)


def require_writable(out: Path) -> None:
    """Raise if no release can be written there."""
    if out.suffix.lower() not in FORMATS:
        raise InputError(f"{out.name} must end in {' or '.join(FORMATS)}, which tells the format.")
    require_folder(out)


def card_of(out: Path) -> Path:
    """Return where the card of a release is: ``out.csv.veil.json``."""
    return out.with_name(f"{out.name}.veil.json")


def card_content(
    release: Release, *, shuffled: bool = False, quality: Mapping[str, float] | None = None
) -> dict[str, Any]:
    """Return what a card says: how it was made and what is proved, and no value."""
    claim = release.guarantee
    return {
        "method": release.method,
        "guarantee": str(claim),
        "kind": claim.kind,
        "caveat": claim.caveat,
        "seeded": release.seeded,
        "note": SEEDED if release.seeded else "",
        "claim": claim_content(claim_of(release.method, claim, release.table.roles)),
        "rows": len(release),
        "suppressed": release.suppressed,
        "synthetic": release.rows is None,
        "levels": dict(release.levels),
        "given_up": list(release.given_up),
        "roles": dict(release.table.roles),
        "types": {
            name: "number" if release.table.column(name).numeric else "text"
            for name in release.table.columns
        },
        "order": "random" if shuffled else "as in the original",
        "quality": dict(quality or {}),
    }


def claim_content(claim: Claim | None) -> dict[str, Any]:
    """Return what is claimed of the file, so that anybody can count it."""
    if claim is None:
        return {}
    told: dict[str, Any] = {"columns": list(claim.qi)}
    if claim.k is not None:
        told["k"] = claim.k
    if claim.columns:
        told["confidential"] = list(claim.columns)
    if claim.l is not None:
        told |= {"l": claim.l, "diversity": claim.diversity}
        told["same_value"] = "case, blanks and the spelling of a number make no difference"
        told |= {"c": claim.c} if claim.diversity == "recursive" else {}
    if claim.t is not None:
        told |= {"t": claim.t, "distance": claim.distance, "compared_with": "the released file"}
    return told


@dataclass(frozen=True)
class Card:
    """What stands beside a released file; all empty where there is none."""

    method: str = ""
    seeded: bool = False
    suppressed: int = 0
    synthetic: bool = False
    shuffled: bool = False
    levels: dict[str, int] | None = None
    roles: dict[str, str] | None = None
    quality: dict[str, float] | None = None
    kind: str = ""
    types: dict[str, Kind] | None = None
    figures: Claim | None = None  # what it says is claimed; cards of 0.2 do not say it

    @property
    def claim(self) -> Claim | None:
        """What it claims of classes of rows that look alike, or None."""
        if self.figures is not None:
            return self.figures
        return claim_by_method(self.method, self.roles or {}) if self.kind in KINDS else None

    def release(self, table: Table) -> Release:
        """Return a release that was read back; which rows it has is not known."""
        made = Release(table, self.method or "a file", nothing(), self.seeded)
        return replace(made, levels=self.levels or {}, suppressed=self.suppressed)


def read_card(out: Path) -> Card:
    """Return what stands beside a released file."""
    path = card_of(out)
    if not path.is_file():
        return Card()
    try:
        with path.open("rb") as file:
            found = json.loads(file.read(_CARD))
        return Card(
            str(found["method"]),
            bool(found["seeded"]),
            int(found["suppressed"]),
            bool(found["synthetic"]),
            found["order"] == "random",
            {str(name): int(level) for name, level in found["levels"].items()},
            {str(name): str(role) for name, role in found["roles"].items()},
            {str(name): float(value) for name, value in found["quality"].items()},
            str(found["kind"]),
            {
                str(name): "number" if kind == "number" else "text"
                for name, kind in found.get("types", {}).items()
            },
            _figures(found.get("claim", {})),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{path.name} is no card of a release; remove it.") from None


def _figures(told: Mapping[str, Any]) -> Claim | None:
    """Read what `claim_content` writes."""
    if not told:
        return None
    k, l, t = (told.get(name) for name in ("k", "l", "t"))  # noqa: E741
    return Claim(
        tuple(map(str, told["columns"])),
        tuple(map(str, told.get("confidential", ()))),
        None if k is None else int(k),
        None if l is None else float(l),
        str(told.get("diversity", "distinct")),
        float(told.get("c", 4.0)),
        None if t is None else float(t),
        str(told.get("distance", "equal")),
    )


UNKNOWN = (
    "Which rows of {} are which of the original is not known: some were removed, or their order is"
    " random, and a link is never written. A method that draws nothing is applied again to find"
    " them: give the columns and --hierarchies it was made with. Or name the method instead of"
    ' the file, as in "ola(k=10, suppression=0.05)": it is then applied, and what it gives is'
    " looked at."
)


def read_release(path: Path, original: Table, source: Source) -> Release:
    """Read a release, and find which rows are whose, as far as that can be known.

    Row i is row i where there are as many rows in their order. Else the method of the card is
    applied again, if it draws nothing: where that gives the same table, its rows are known.
    """
    card = read_card(path)
    table = source.released(path, card.roles, card.types)
    made = card.release(table)
    if card.shuffled or card.synthetic or len(table) != len(original):
        return again(original, card, table) or made
    return replace(made, rows=np.arange(len(table)))


def again(original: Table, card: Card, table: Table) -> Release | None:
    """Return what the method of a card gives, if it draws nothing and gives that table."""
    try:
        steps = [MECHANISMS.parse(spec) for spec in card.method.split(" | ")]
        if any(step.random for step in steps):
            return None
        found = protect(original, steps)
    except VeilError:  # of another version, or with other roles or columns
        return None
    return found if _rows(found.table) == _rows(table) else None


def _rows(table: Table) -> "Counter[tuple[object, ...]]":
    """Count rows, whatever their order."""
    columns = [table.column(name).texts.tolist() for name in sorted(table.columns)]
    return Counter(zip(*columns, strict=True))


def make_release(given: str, original: Table, source: Source, seed: int | None) -> Release:
    """Return the release of a file, or the one that a method makes."""
    name = given.partition("(")[0].strip()
    if name in MECHANISMS.names() and not Path(given).exists():
        return protect(original, given, rng=seed)
    path = Path(given)
    if not path.is_file():
        raise InputError("There is no such file, and no method of that name; see --help.")
    return read_release(path, original, source)


def require_rows(release: Release, given: str) -> None:
    """Raise where it is not known which released row is which."""
    if release.rows is None:
        raise InputError(UNKNOWN.format(Path(given).name))
