"""The package as an object: public names, architecture, and the wheel in a clean environment."""

import ast
import importlib
import os
import pkgutil
import re
import subprocess
import sys
import venv
from contextlib import suppress
from pathlib import Path
from typing import TypeGuard

import pytest

import veil
from veil.core import errors

ROOT = Path(__file__).resolve().parents[1]


def test_public_names_are_sorted_and_there() -> None:
    assert sorted(veil.__all__, key=_constants_first) == veil.__all__
    for name in veil.__all__:
        assert getattr(veil, name) is not None


def _constants_first(name: str) -> tuple[int, str]:
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


def test_version_is_said_once() -> None:
    metadata = importlib.import_module("importlib.metadata")
    assert metadata.version("veil") == veil.__version__


def test_names_are_loaded_from_where_the_types_say() -> None:
    tree = ast.parse(Path(veil.__file__).read_text())
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    typed = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert typed == veil._MODULES
    assert sorted(typed) == sorted(veil.__all__)
    assert set(veil.__all__) <= set(dir(veil))
    with pytest.raises(AttributeError, match="no attribute 'protct'"):
        veil.protct  # noqa: B018


@pytest.mark.parametrize(
    "name",
    ["text.vectors.embeddings.Embeddings", "measures.risk.chance", "testing.check_mechanism"],
)
def test_parts_are_there_without_importing_them(name: str) -> None:
    code = f"import veil; print(callable(veil.{name}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


# Exceptions that no user of the package meets, each with who catches it.
INTERNAL = {
    "BrokenError": "veil.testing: becomes an AssertionError of one sentence",
    "ExcessError": "veil.search.engines: the answer is refused with a sentence of its own",
    "TooMuchError": "veil.search.engines.network: becomes NoAnswer",
    "UnwrittenError": "veil.encoders.vectors: the vectors are kept in memory instead",
    "GoneError": "veil.web: nobody waits for the answer any more",
    "NoReplyError": "veil.text.attacks.candidates: the text counts as not guessed",
    "SkipError": "veil.corpus.readers: the file is left out, and counted with its reason",
    "StatusError": "veil.web: becomes a response with a status",
}


def test_every_error_is_public_and_of_one_family() -> None:
    met = {cls for cls in _exceptions() if not cls.__name__.startswith("_")}
    assert {cls.__name__ for cls in met} >= set(INTERNAL)
    met = {cls for cls in met if cls.__name__ not in INTERNAL}
    for cls in met:
        assert issubclass(cls, veil.VeilError), cls
        assert getattr(veil, cls.__name__) is cls
        assert cls.__name__ in veil.__all__
    told = re.findall(r"── (\w+) ", errors.__doc__ or "")
    assert sorted(["VeilError", *told]) == sorted(cls.__name__ for cls in met)


def _exceptions() -> set[type[BaseException]]:
    """Return the exceptions that any module of the package defines."""
    found = set()
    for info in pkgutil.walk_packages(veil.__path__, "veil."):
        with suppress(errors.MissingExtraError):
            module = importlib.import_module(info.name)
            found |= {value for value in vars(module).values() if _own(value, module.__name__)}
    return found


def _own(value: object, module: str) -> TypeGuard[type[BaseException]]:
    return (
        isinstance(value, type) and issubclass(value, BaseException) and value.__module__ == module
    )


@pytest.mark.parametrize("first", ["veil.protect", "veil.search", "import veil.search.engines"])
def test_search_is_a_verb_and_a_package_whatever_comes_first(first: str) -> None:
    code = (
        f"import veil, inspect; {first}; import veil.search.pipeline;"
        "from veil import search; from veil.api import search as verb;"
        "assert search is veil.search and callable(search);"
        "assert inspect.signature(search) == inspect.signature(verb);"
        "print(veil.search.engines.ENGINES.noun, veil.search.pipeline.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "engine veil.search.pipeline"


def test_importing_veil_loads_next_to_nothing() -> None:
    code = "import sys, veil; print('numpy' in sys.modules, 'pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False False"


def test_no_public_name_loads_anything_heavy() -> None:
    code = (
        "import sys, veil; [getattr(veil, name) for name in veil.__all__];"
        "heavy = {'numba', 'pyarrow', 'textblob', 'nltk', 'scipy', 'pandas',"
        "'bm25s', 'onnxruntime', 'tokenizers', 'psycopg', 'ir_datasets', 'simple_icd_10_cm'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
def test_wheel_works_in_a_clean_environment_without_extras(tmp_path: Path) -> None:
    """Build the wheel, install it alone, and use it: no extra, no source tree, another folder."""
    build = [sys.executable, "-m", "build", "--wheel", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True, timeout=300)
    wheel = next(tmp_path.glob("veil-*.whl"))
    env = tmp_path / "env"
    venv.create(env, with_pip=True)
    python = env / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "--quiet", str(wheel)]
    subprocess.run(pip, check=True, capture_output=True, timeout=600)
    (tmp_path / "v.txt").write_text("cat 0 1\ndog 1 0\ncow 1 1\nhen 0 0.5\n")
    code = (
        "import veil; space = veil.load_embeddings('v.txt');"
        "out = veil.protect(['Cat, dog!'], veil.CMP(epsilon=1), space, 3);"
        "assert len(out.rows[0]) == 3 and not out.seeded; print(veil.__file__)"
    )
    clean = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=tmp_path, env=clean, capture_output=True, text=True, check=False
        )

    done = run(str(python), "-c", code)
    assert done.returncode == 0, done.stderr
    assert str(env) in done.stdout
    script = str(env / "bin" / "veil")
    shown = run(script, "protect", "tem", "--epsilon", "3", "--vectors", "v.txt", "--text", "cat")
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.strip() in {"cat", "dog", "cow", "hen"}
    searched = run(script, "search", "--vectors", "v.txt", "a cat")
    assert searched.returncode == 2
    assert "[search]'" in searched.stderr
    assert run(script, "engines").returncode == 0
    assert (next(env.rglob("minilm.onnx"))).stat().st_size > 10_000
    refused = run(
        script,
        "protect",
        "cmp",
        "--epsilon",
        "1",
        "--vectors",
        "v.txt",
        "a cat",
        "-o",
        "x.parquet",
    )
    assert refused.returncode == 2
    assert "[parquet]'" in refused.stderr
    assert not (tmp_path / "x.parquet").exists()
