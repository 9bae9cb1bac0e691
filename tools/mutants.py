"""Run the mutants of the source files that changed since a commit: ``python -m tools.mutants``.

CI runs all mutants. Here only those run whose file differs from the base (origin/main, or the
commit that is given), in the last commits or in the working tree.
"""

import os
import subprocess
import sys

from tests.mutation import ROOT, listed


def changed(base: str) -> set[str]:
    """Return the files of the package that differ from a commit, as mutants name them."""
    names = _git("diff", "--name-only", _git("merge-base", base, "HEAD").strip(), "--", "src/veil")
    added = _git("ls-files", "--others", "--exclude-standard", "--", "src/veil")
    return {name.removeprefix("src/veil/") for name in (names + added).split()}


def _git(*arguments: str) -> str:
    command = ["git", *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout  # noqa: S603 - fixed words, and a commit


def main() -> int:
    """Run them, and return the exit code of pytest."""
    files = changed(sys.argv[1] if len(sys.argv) > 1 else "origin/main")
    wanted = sorted(files & {mutant["file"] for mutant in listed()})
    if not wanted:
        print("No file with a mutant has changed.")  # noqa: T201
        return 0
    tests = ["tests/test_mutants.py", "-k", "test_mutant_is_killed"]
    return subprocess.run(  # noqa: S603 - fixed words
        [sys.executable, "-m", "pytest", "-q", *tests],
        cwd=ROOT,
        env={**os.environ, "VEIL_MUTANTS_OF": " ".join(wanted)},
        check=False,
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
