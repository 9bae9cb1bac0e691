"""The keys of a study of tables, and what changes its results."""

import warnings
from pathlib import Path
from typing import Annotated

from pydantic import Field

from veil.core.errors import InputError
from veil.data.files import digest as file_digest
from veil.studies.study import Specs, Study
from veil.tables.schema import read_schema
from veil.tables.source import Source

PATHS = ("table", "hierarchies", "schema", "population", "control")

with warnings.catch_warnings():  # every class has a 'schema'; that of classes is not needed here
    warnings.simplefilter("ignore", UserWarning)

    class TablesStudy(Study):
        """The keys of a study of tables."""

        table: Annotated[str, Field(description="file of the records")]
        identifiers: Annotated[Specs, Field(strict=False, description="columns to drop")] = ()
        qi: Annotated[Specs, Field(strict=False, description="what an attacker may know")] = ()
        confidential: Annotated[
            Specs, Field(strict=False, description="what must not be learnt")
        ] = ()
        weight: Annotated[str, Field(description="column of sampling weights")] = ""
        hierarchies: Annotated[str, Field(description="folder of hierarchies")] = ""
        schema: Annotated[str, Field(description="TOML file of roles and hierarchies")] = ""  # type: ignore[assignment]
        sep: Annotated[str, Field(description="what separates columns, if not told")] = ""
        missing: Annotated[
            Specs, Field(strict=False, description="texts that mean that a value is missing")
        ] = ()
        population: Annotated[str, Field(description="file of everybody, for attackers")] = ""
        control: Annotated[str, Field(description="file of rows that were never used")] = ""
        utility: Annotated[str, Field(description="marginals, cells, or ml(target=...)")] = (
            "marginals"
        )
        draws: Annotated[
            int, Field(ge=1, le=100, description="releases of a random method, by themselves each")
        ] = 1


def source_of(study: TablesStudy) -> Source:
    """Return what a study says of its table."""
    return Source(
        study.identifiers,
        study.qi,
        study.confidential,
        study.weight or None,
        Path(study.hierarchies) if study.hierarchies else None,
        Path(study.schema) if study.schema else None,
        study.sep or None,
        study.missing,
    )


def made_from(study: TablesStudy, digest: str) -> dict[str, object]:
    """Return all of a study that changes results: the contents of files, and not their names."""
    own = {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in study
        if key not in Study.model_fields and key not in PATHS
    }
    files = {
        key: _digest(Path(getattr(study, key)))
        for key in ("schema", "population", "control")
        if getattr(study, key)
    }
    if study.schema:
        told = read_schema(Path(study.schema))[1]
        named = {name: path for name, path in told.items() if isinstance(path, Path)}
        files |= {f"schema {name}": _digest(path) for name, path in named.items()}
    folder = {}
    if study.hierarchies and Path(study.hierarchies).is_dir():
        listed = sorted(Path(study.hierarchies).glob("*.csv"))
        folder = {path.name: _digest(path) for path in listed}
    return {**own, **files, "table": digest, "hierarchies": folder, "seed": str(study.seed)}


def _digest(path: Path) -> str:
    if not path.is_file():
        raise InputError(f"There is no file {path}.")
    return file_digest(path, "sha256")
