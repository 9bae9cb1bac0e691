"""Releases and their cards on disk. Claims are checked in the file before it appears."""

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

_EXACT = 2**53  # doubles represent all integers below this
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def columns_of_frame(frame: Any) -> dict[str, Any]:  # noqa: ANN401 - of another library
    """Return the columns of a pandas or polars data frame, or of an Arrow table."""
    kind = type(frame).__module__.partition(".")[0]
    listed = {"pandas": _of_pandas, "polars": _of_polars, "pyarrow": _of_arrow}.get(kind)
    if listed is None:
        raise InputError(
            "A table must be a path, a dict of columns, or a pandas, polars or Arrow table."
        )
    try:
        names, columns = listed(frame)
    except (AttributeError, TypeError, ValueError):
        raise InputError(
            f"This {kind} object is not a table of columns. Try a data frame with one value a"
            " cell."
        ) from None
    if len(set(names)) < len(names):
        raise InputError("The data frame has two columns of the same name. Rename one.")
    return dict(zip(names, columns, strict=True))


def texts_of_frame(frame: Any) -> tuple[str, ...]:  # noqa: ANN401 - of another library
    """Return the columns that the schema of a data frame declares as text."""
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
    return tuple(column.name for column in schema if str(column.type).startswith(texts))


def _of_pandas(frame: Any) -> tuple[list[str], list[Any]]:  # noqa: ANN401 - of pandas
    columns = [frame.iloc[:, at] for at in range(frame.shape[1])]
    values = [column.astype(object).where(column.notna(), None).tolist() for column in columns]
    return list(map(str, frame.columns)), values


def _of_polars(frame: Any) -> tuple[list[str], list[Any]]:  # noqa: ANN401 - of polars
    eager = frame.collect() if hasattr(frame, "collect") else frame
    return list(eager.columns), [column.to_list() for column in eager.get_columns()]


def _of_arrow(frame: Any) -> tuple[list[str], list[Any]]:  # noqa: ANN401 - of pyarrow
    return list(frame.schema.names), [column.to_pylist() for column in frame.columns]


def write_csv(table: Table, path: Path, *, excel_safe: bool = False) -> None:
    """Write a CSV file; a missing value is an empty field."""
    require_folder(path)
    with whole_file(path, private=True) as part:
        _write_csv(table, part, excel_safe=excel_safe)


def _write_csv(table: Table, part: Path, *, excel_safe: bool) -> None:
    with part.open("w", encoding="utf-8", newline="") as file:
        writer = CsvWriter(file)
        writer.writerow([safe(name) if excel_safe else name for name in table.columns])
        writer.writerows(text_rows(table, excel_safe=excel_safe))


def text_rows(table: Table, *, excel_safe: bool = False) -> Iterator[Sequence[str]]:
    """Yield the rows as strings; a missing value is empty."""
    texts = [table.column(name).texts.tolist() for name in table.columns]
    numeric = [table.column(name).numeric for name in table.columns]
    for row in zip(*texts, strict=True):
        yield [
            "" if text is None else safe(text) if excel_safe and not number else text
            for text, number in zip(row, numeric, strict=True)
        ]


def safe(text: str) -> str:
    """Quote a string that a spreadsheet would run as a formula."""
    return "'" + text if text.startswith(_FORMULA) else text


def as_arrow(table: Table) -> Any:  # noqa: ANN401 - of pyarrow
    """Return an Arrow table of integers, doubles or strings; missing values are null."""
    try:
        import pyarrow as pa
    except ImportError:
        raise MissingExtraError("Arrow needs pyarrow: pip install 'veil[parquet]'.") from None
    arrays = {}
    for name in table.columns:
        column = table.column(name)
        values = column.values
        if column.numeric and _whole(column):
            integers = np.where(column.missing, 0, values).astype(np.int64)
            arrays[name] = pa.array(integers, mask=column.missing)
        else:
            kind = pa.float64() if column.numeric else pa.string()
            try:
                arrays[name] = pa.array(values, kind, from_pandas=True)
            except UnicodeEncodeError:  # the original error contains the value
                raise InputError(NO_TEXT) from None
    return pa.table(arrays)


def _whole(column: Column) -> bool:
    present = column.values[~column.missing]
    return bool((np.abs(present) < _EXACT).all() and (present == np.rint(present)).all())


def as_polars(table: Table) -> Any:  # noqa: ANN401 - of polars
    """Return a polars data frame."""
    try:
        pl: Any = import_module("polars")
    except ImportError:
        raise MissingExtraError("A frame needs polars: pip install polars.") from None
    return pl.DataFrame({name: table[name].tolist() for name in table.columns}, nan_to_null=True)


def write_parquet(table: Table, path: Path) -> None:
    """Write a Parquet file atomically, readable by its owner only."""
    with whole_file(path, private=True) as part:
        _write_parquet(table, part)


def _write_parquet(table: Table, part: Path) -> None:
    pyarrow_parquet().write_table(table.to_arrow(), part, compression="zstd")


def as_pandas(table: Table) -> Any:  # noqa: ANN401 - of pandas
    """Return a pandas data frame."""
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtraError("A frame needs pandas: pip install pandas.") from None
    return pd.DataFrame({name: table[name] for name in table.columns})


FORMATS = (".csv", ".parquet")
SEEDED = "Seeded: the draws can be repeated. NOT PRIVATE."
_CARD = 2**20  # maximal bytes of a card


def save(
    release: Release,
    out: Path,
    *,
    excel_safe: bool = False,
    shuffle: bool = False,
    quality: Mapping[str, float] | None = None,
) -> None:
    """Write a release and its card atomically, readable by their owner only.

    The file is read back first, and k, l and t are counted in it by independent code. If they miss
    the claim of the card, nothing is written.

    Neither file records the original row of a released row. `shuffle` also gives up their order,
    which links rows for anyone who knows that of the original. `quality` goes to the card, because
    it cannot be computed from the released file.
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
            content = card_content(release, shuffled=shuffle, quality=quality)
            text = json.dumps(content, indent=1, ensure_ascii=False)
            card.write_text(text + "\n", encoding="utf-8")


def check_claim(release: Release, path: Path, suffix: str, *, excel_safe: bool = False) -> None:
    """Raise if a written file does not meet the claim of its release."""
    claim = claim_of(release.method, release.guarantee, release.table.roles)
    if claim is not None:
        counted = Recount.of_file(path, claim, suffix, excel_safe=excel_safe)
        require_claim(counted, claim, scales_of(release.table, claim))


def claim_of(method: str, guarantee: Guarantee, roles: Mapping[str, str]) -> Claim | None:
    """Return the claim about equivalence classes, or None.

    Its figures come from the guarantee, and its details from the mechanism; of several mechanisms,
    the guarantee of the last one holds.
    """
    if guarantee.kind not in KINDS:
        return None
    claim = claim_by_method(method, roles)
    figures = {
        "k": guarantee.k if guarantee.k > 1 else None,
        "l": guarantee.l if guarantee.l > 1 else None,
        "t": guarantee.t if math.isfinite(guarantee.t) else None,
    }
    missing = {name: value for name, value in figures.items() if getattr(claim, name) is None}
    return replace(claim, **missing)  # type: ignore[arg-type]


def claim_by_method(method: str, roles: Mapping[str, str]) -> Claim:
    """Return the claim of the last mechanism of a card, without figures if it is unknown."""
    qi, confidential = (
        tuple(name for name, role in roles.items() if role == column_role)
        for column_role in ("qi", "confidential")
    )
    try:
        step = MECHANISMS.parse(method.split(" | ")[-1])
    except VeilError:  # from another version, or a plugin that is not installed
        return Claim(qi, confidential)
    requirements = getattr(step, "requirements", None)
    if requirements is None:
        return Claim(qi, confidential, getattr(step, "k", None))
    least = requirements.k if requirements.k > 1 else None
    return Claim(
        qi,
        confidential,
        least,
        requirements.l,
        requirements.diversity,
        requirements.c,
        requirements.t,
        requirements.distance,
    )


def scales_of(table: Table, claim: Claim) -> dict[str, Scale]:
    """Return the scale of each confidential column, for distances between its values."""
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
    """Check a released file, or a folder of them, against the claim of its card; None without one.

    `hierarchies` is the folder with hierarchies of the confidential columns, which t may need.
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
    """Raise if no release can be written to this path."""
    if out.suffix.lower() not in FORMATS:
        raise InputError(f"{out.name} must end in {' or '.join(FORMATS)}.")
    require_folder(out)


def card_of(out: Path) -> Path:
    """Return the path of the card of a release: ``out.csv.veil.json``."""
    return out.with_name(f"{out.name}.veil.json")


def card_content(
    release: Release, *, shuffled: bool = False, quality: Mapping[str, float] | None = None
) -> dict[str, Any]:
    """Return the content of a card: mechanism and guarantee, but no value of the table."""
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
    """Return the claim about the file, in a form that anybody can check."""
    if claim is None:
        return {}
    content: dict[str, Any] = {"columns": list(claim.qi)}
    if claim.k is not None:
        content["k"] = claim.k
    if claim.columns:
        content["confidential"] = list(claim.columns)
    if claim.l is not None:
        content |= {"l": claim.l, "diversity": claim.diversity}
        content["same_value"] = "case, blanks and the spelling of a number make no difference"
        content |= {"c": claim.c} if claim.diversity == "recursive" else {}
    if claim.t is not None:
        content |= {"t": claim.t, "distance": claim.distance, "compared_with": "the released file"}
    return content


@dataclass(frozen=True)
class Card:
    """The content of a release card; empty if there is no card."""

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
    figures: Claim | None = None  # the claim; absent from cards of 0.2

    @property
    def claim(self) -> Claim | None:
        """Its claim about equivalence classes, or None."""
        if self.figures is not None:
            return self.figures
        return claim_by_method(self.method, self.roles or {}) if self.kind in KINDS else None

    def release(self, table: Table) -> Release:
        """Return the release of a table read from a file; its original rows are unknown."""
        release = Release(table, self.method or "a file", nothing(), self.seeded)
        return replace(release, levels=self.levels or {}, suppressed=self.suppressed)


def read_card(out: Path) -> Card:
    """Return the card of a released file."""
    path = card_of(out)
    if not path.is_file():
        return Card()
    try:
        with path.open("rb") as file:
            content = json.loads(file.read(_CARD))
        return Card(
            str(content["method"]),
            bool(content["seeded"]),
            int(content["suppressed"]),
            bool(content["synthetic"]),
            content["order"] == "random",
            {str(name): int(level) for name, level in content["levels"].items()},
            {str(name): str(role) for name, role in content["roles"].items()},
            {str(name): float(value) for name, value in content["quality"].items()},
            str(content["kind"]),
            {
                str(name): "number" if kind == "number" else "text"
                for name, kind in content.get("types", {}).items()
            },
            _figures(content.get("claim", {})),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{path.name} is not a release card. Remove it.") from None


def _figures(content: Mapping[str, Any]) -> Claim | None:
    if not content:
        return None
    k, l, t = (content.get(name) for name in ("k", "l", "t"))  # noqa: E741
    return Claim(
        tuple(map(str, content["columns"])),
        tuple(map(str, content.get("confidential", ()))),
        None if k is None else int(k),
        None if l is None else float(l),
        str(content.get("diversity", "distinct")),
        float(content.get("c", 4.0)),
        None if t is None else float(t),
        str(content.get("distance", "equal")),
    )


UNKNOWN = (
    "The original row of each row in {} is unknown: rows were removed, or their order is random,"
    " and links are never written. Mechanisms without randomness are applied again to find them:"
    " pass the columns and --hierarchies of the release. Or pass the mechanism instead of the"
    ' file, such as "ola(k=10, suppression=0.05)", which is then applied to the original.'
)


def read_release(path: Path, original: Table, source: Source) -> Release:
    """Return the release in a file, with the original row of each row if possible.

    With as many rows as the original, in order, row i is row i. Otherwise the mechanism on the
    card is applied again if it is deterministic. If the result is the same table, its rows are
    known.
    """
    card = read_card(path)
    table = source.released(path, card.roles, card.types)
    release = card.release(table)
    if card.shuffled or card.synthetic or len(table) != len(original):
        return again(original, card, table) or release
    return replace(release, rows=np.arange(len(table)))


def again(original: Table, card: Card, table: Table) -> Release | None:
    """Return the result of the card's mechanism, if it is deterministic and gives this table."""
    try:
        steps = [MECHANISMS.parse(spec) for spec in card.method.split(" | ")]
        if any(step.random for step in steps):
            return None
        release = protect(original, steps)
    except VeilError:  # from another version, or with other roles or columns
        return None
    return release if _rows(release.table) == _rows(table) else None


def _rows(table: Table) -> "Counter[tuple[object, ...]]":
    columns = [table.column(name).texts.tolist() for name in sorted(table.columns)]
    return Counter(zip(*columns, strict=True))


def make_release(source: str, original: Table, roles: Source, seed: int | None) -> Release:
    """Return the release in a file, or the result of a mechanism on the original."""
    name = source.partition("(")[0].strip()
    if name in MECHANISMS.names() and not Path(source).exists():
        return protect(original, source, rng=seed)
    path = Path(source)
    if not path.is_file():
        raise InputError("There is no file and no mechanism of that name. See --help.")
    return read_release(path, original, roles)


def require_rows(release: Release, source: str) -> None:
    """Raise if the original rows of a release are unknown."""
    if release.rows is None:
        raise InputError(UNKNOWN.format(Path(source).name))
