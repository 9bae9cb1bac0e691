"""How long the command line takes to start, beside the bare import of its three libraries.

Both are measured in turns, in processor seconds of a fresh process, so that a busy machine slows
both down alike. The figure is the ratio of the medians.
"""

import os
import statistics
import subprocess
import sys

RUNS = 15
BARE = [sys.executable, "-c", "import click, numpy, pydantic"]
COMMANDS = {
    "veil --version": ["--version"],
    "veil --help": ["--help"],
    "veil mechanisms --help": ["mechanisms", "--help"],
}


def seconds(command: list[str]) -> float:
    """Return the processor seconds of one run."""
    before = os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return (
        after.children_user
        + after.children_system
        - (before.children_user + before.children_system)
    )


def main() -> None:
    """Print the ratios."""
    commands = {
        name: [sys.executable, "-c", "from veil.cli import main; main()", *arguments]
        for name, arguments in COMMANDS.items()
    }
    taken: dict[str, list[float]] = {name: [] for name in ("bare", *commands)}
    for _ in range(RUNS):
        taken["bare"].append(seconds(BARE))
        for name, command in commands.items():
            taken[name].append(seconds(command))
    bare = statistics.median(taken["bare"])
    print(f"import click, numpy, pydantic: {bare:.3f} s of processor time (median of {RUNS})")
    for name in commands:
        own = statistics.median(taken[name])
        print(f"{name}: {own:.3f} s, {own / bare:.2f} times the bare import")


if __name__ == "__main__":
    main()
