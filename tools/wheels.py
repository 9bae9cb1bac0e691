"""Build the wheel and the source archive, and try them where nothing else is.

``python -m tools.wheels`` writes ``dist/``: both, and a list of everything that an installation
with ``all`` stands on (CycloneDX). The wheel is installed in a fresh environment alone and with
each extra alone, and does there what the extra is for; it is itself built of the archive.
``python -m tools.wheels dp sql`` tries some extras only. Those that bring torch, models or Java
are left out unless they are named.
"""

import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEAVY = ("neural", "spacy", "pii", "pyterrier")  # torch, models, or Java
ALONE = "import veil; print(veil.__version__)"
TRIES = {  # what an extra is for, in a line
    "accounting": "from veil import dp;"
    " print(dp.compose([('gaussian(sigma=4)', 100)], delta=1e-6, accountant='pld'))",
    "dask": "import distributed, veil.studies.pool",
    "documents": "import pypdf, docx, veil",
    "dp": "from veil import dp; print(dp.reconstruct([[1, 0], [0, 1], [1, 1]], [1, 0, 1]))",
    "fast": "import numba, veil",
    "he": "import tenseal, veil.ratings.encrypted",
    "irds": "import ir_datasets, veil.corpus.catalogue",
    "keyring": "import keyring, veil",
    "measure": "import ir_measures, veil.search",
    "ml": "import sklearn, lightgbm, veil",
    "parquet": "import pyarrow.parquet, veil.data.rows",
    "places": "from veil import places; print(places.distance((0, 0), (3, 4)))",
    "postgres": "import psycopg, veil",
    "ratings": "from veil import ratings;"
    " print(ratings.secure_sum([[1, 2], [3, 4], [5, 6]]).total)",
    "search": "import bm25s, onnxruntime, veil.search.engines.local.lexical",
    "sql": "import duckdb, sqlglot, veil.dp.sql.database",
    "tables": "from veil import tables; t = tables.load({'a': [1, 2, 3, 4]}, qi=['a']);"
    " print(tables.protect(t, 'univariate(k=2)').guarantee)",
    "web": "import veil.web.app",
}


def main(names: list[str]) -> int:
    """Build, and try what is named, or everything."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    known = sorted(set(extras["optional-dependencies"]) - {"all"})
    wanted = names or ["", *(one for one in known if one not in HEAVY)]
    dist = ROOT / "dist"
    _run(sys.executable, "-m", "build", "--outdir", dist, ROOT)
    (wheel,) = dist.glob(f"veil-{extras['version']}-*.whl")
    failed = [name for name in wanted if not _try(wheel, name)]
    if not names:
        _list(wheel, dist / "veil.cdx.json")
    print(
        f"{len(wanted) - len(failed)} of {len(wanted)} work"
        + (f"; not: {failed}" if failed else "")
    )
    return 1 if failed else 0


def _try(wheel: Path, extra: str) -> bool:
    """Install the wheel with an extra in a fresh environment, and use it from elsewhere."""
    with tempfile.TemporaryDirectory() as folder:
        python = _environment(Path(folder), f"{wheel}[{extra}]" if extra else str(wheel))
        done = subprocess.run(
            [python, "-W", "ignore", "-c", f"{ALONE}; {TRIES.get(extra, 'pass')}"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
    told = done.stdout.strip().replace("\n", " ") or done.stderr.strip()[-300:]
    print(
        f"{extra or 'no extra'}: {'works' if not done.returncode else 'FAILS'} ({told})",
        flush=True,
    )
    return not done.returncode


def _environment(folder: Path, what: str) -> Path:
    venv.create(folder / "env", with_pip=True)
    python = folder / "env" / "bin" / "python"
    _run(python, "-m", "pip", "install", "--quiet", what)
    return python


def _list(wheel: Path, target: Path) -> None:
    """Write what an installation with everything stands on."""
    with tempfile.TemporaryDirectory() as folder:
        python = _environment(Path(folder), f"{wheel}[all]")
        tool = Path(folder) / "tool"
        venv.create(tool, with_pip=True)
        _run(tool / "bin" / "python", "-m", "pip", "install", "--quiet", "cyclonedx-bom>=4.0")
        _run(tool / "bin" / "cyclonedx-py", "environment", python, "--of", "JSON", "-o", target)
    print(f"{target.name}: what an installation with all extras stands on")


def _run(*words: object) -> None:
    subprocess.run([str(word) for word in words], check=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
