"""Print what k-anonymity costs: MDAV, lattices, Mondrian, a million rows, and blocks of them.

Seconds are those of one processor, of the peer as of ours, so that others at work do not count.
Each measurement runs in a process of its own, so that its memory is its own, too. The table is
Adult, where it is at hand beside the project. The peer anonypy is installed into an environment of
its own under ``.benchmarks``; ``--no-peer`` leaves it out.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

import numpy as np
from benchmarks.report import Report

from veil import tables
from veil.tables.column import Column
from veil.tables.mechanisms.lattice import LatticeMethod
from veil.tables.table import Table

HERE = Path(__file__).resolve().parent
WORK = HERE.parent / ".benchmarks"
ADULT = HERE.parents[1] / "shared" / "data" / "tables" / "adult"
SIX = ("sex", "age", "race", "marital-status", "education", "native-country")
NINE = (*SIX, "workclass", "occupation", "salary-class")
MILLION = 1_000_000
PEER = "anonypy==0.2.1"


def best(work: Callable[[], object], passes: int) -> float:
    """Return the seconds of the processor of the fastest of several passes."""
    seconds = []
    for _ in range(passes):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds)


def adult(qi: Sequence[str], confidential: Sequence[str] = ()) -> Table:
    """Open Adult."""
    files = {name: ADULT / f"adult_hierarchy_{name}.csv" for name in (*qi, *confidential)}
    return tables.load(
        ADULT / "adult.csv", qi=qi, confidential=confidential, hierarchies=files, sep=";"
    )


def fresh(table: Table) -> Table:
    """Return a table of which nothing is counted yet."""
    held = {name: Column(table[name]) for name in table.columns}
    return Table(held, table.roles, table.hierarchies)


def million() -> Table:
    """Draw a million rows of Adult with replacement."""
    table = adult(SIX, ["occupation"])
    return fresh(table.take(np.random.default_rng(1).integers(0, len(table), MILLION)))


def lattice(qi: Sequence[str], spec: str, passes: int) -> dict[str, float]:
    """Protect by a lattice search, from a table of which nothing is counted yet."""
    table = adult(qi)
    seconds = best(lambda: tables.protect(fresh(table), spec), passes)
    found = cast(LatticeMethod, tables.mechanism(spec)).search(table)
    return {"seconds": seconds, "judged": found.judged, "nodes": found.satisfying.size}


def mondrian() -> dict[str, float]:
    """Partition Adult, with publishing."""
    table = adult(SIX)
    return {"seconds": best(lambda: tables.protect(fresh(table), "mondrian(k=10)"), 4)}


def mondrian_million() -> dict[str, float]:
    """Partition a million rows, with publishing."""
    table = million()
    return {"seconds": best(lambda: tables.protect(fresh(table), "mondrian(k=10)"), 2)}


def mondrian_reals() -> dict[str, float]:
    """Partition a million rows of six columns in which no two numbers are equal."""
    rng = np.random.default_rng(1)
    names = [f"x{i}" for i in range(6)]
    table = tables.load({name: rng.normal(size=MILLION) for name in names}, qi=names)
    return {"seconds": best(lambda: tables.protect(fresh(table), "mondrian(k=10)"), 1)}


def measures() -> dict[str, float]:
    """Measure k, l, t and discernibility of a million rows, read and unread."""
    table = million()

    def measured(one: Table) -> None:
        tables.anonymity(one)
        tables.quality(one, one)

    unread = best(lambda: measured(fresh(table)), 2)
    measured(table)
    read = [Table(table.held, table.roles, table.hierarchies) for _ in range(4)]
    return {"seconds": best(lambda: measured(read.pop()), 3), "unread": unread}


def mdav() -> dict[str, float]:
    """Group 32,561 rows of six numbers."""
    rng = np.random.default_rng(1)
    names = [f"x{i}" for i in range(6)]
    table = tables.load({name: rng.normal(size=32_561) for name in names}, qi=names, quiet=True)
    return {"seconds": best(lambda: tables.protect(fresh(table), "mdav(k=10)"), 3)}


def _written(folder: Path) -> tuple[Path, tables.Source]:
    """Write a million rows, and hierarchies of their columns."""
    rng = np.random.default_rng(1)
    ages, sexes = rng.integers(17, 90, MILLION), rng.integers(0, 2, MILLION)
    schools, pays = rng.integers(0, 16, MILLION), rng.gamma(2, 1000, MILLION)
    drawn = zip(ages, sexes, schools, pays, strict=True)
    path = folder / "million.csv"
    with path.open("w", encoding="utf-8") as file:
        file.write("age,sex,school,pay\n")
        file.writelines(
            f"{age},{'fm'[sex]},s{school},{pay:.2f}\n" for age, sex, school, pay in drawn
        )
    levels = {
        "age": [f"{a};{a // 5 * 5}+;{a // 20 * 20}++;*" for a in range(17, 90)],
        "sex": ["f;*", "m;*"],
        "school": [f"s{i};g{i // 4};*" for i in range(16)],
    }
    for name, lines in levels.items():
        (folder / f"level_{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path, tables.Source(qi=("age", "sex", "school"), hierarchies=folder)


def _resident() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def whole_file() -> dict[str, float]:
    """Read a million rows whole and release them; MB of the table, and of all that was needed."""
    with tempfile.TemporaryDirectory() as made:
        path, source = _written(Path(made))
        tables.protect(tables.load({"a": [1, 1]}, qi=["a"]), "mondrian(k=2)")  # all is loaded
        before = int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20
        table, _ = source.opened(path)
        held = int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20 - before
        tables.protect(table, "ola(k=10, suppression=0.05)").table.to_csv(Path(made) / "out.csv")
        return {"table": held, "all": _resident() - before}


def by_blocks() -> dict[str, float]:
    """Release a million rows, some at a time; MB beyond what was there before."""
    with tempfile.TemporaryDirectory() as made:
        path, source = _written(Path(made))
        tables.protect(tables.load({"a": [1, 1]}, qi=["a"]), "mondrian(k=2)")
        before = int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20
        blocks = tables.Blocks.of(path, source)
        tables.protect_blocks(blocks, "ola(k=10, suppression=0.05)", Path(made) / "out.csv")
        return {"all": _resident() - before}


TASKS: dict[str, Callable[[], dict[str, float]]] = {
    "ola 6": lambda: lattice(SIX, "ola(k=10, suppression=0.05)", 5),
    "ola 9": lambda: lattice(NINE, "ola(k=5, suppression=0.04)", 1),
    "incognito 9": lambda: lattice(NINE, "incognito(k=5, suppression=0.04)", 1),
    "exhaustive 9": lambda: lattice(NINE, "exhaustive(k=5, suppression=0.04)", 1),
    "mondrian": mondrian,
    "mondrian million": mondrian_million,
    "mondrian reals": mondrian_reals,
    "measures": measures,
    "mdav": mdav,
    "whole file": whole_file,
    "by blocks": by_blocks,
}


def measured(task: str) -> dict[str, float]:
    """Run a task in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.tables_anonymise", "--task", task]
    told = subprocess.run(command, check=True, capture_output=True, text=True, cwd=HERE.parent)
    found: dict[str, float] = json.loads(told.stdout)
    return found


def peer(report: Report, ours: float) -> None:
    """Install the peer into its own environment, measure it there, and print the ratio."""
    env = WORK / "peer-tables-anonymise-env"
    python = env / "bin" / "python"
    try:
        if not (env / "ready").is_file():
            venv.create(env, with_pip=True)
            install = [str(python), "-m", "pip", "install", "--quiet", PEER, "pandas<3"]
            subprocess.run(install, check=True, capture_output=True)
            (env / "ready").touch()
        command = [str(python), str(HERE / "tables_anonymise_peer.py"), str(ADULT / "adult.csv")]
        told = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
    except (OSError, subprocess.SubprocessError) as error:
        report.add("Mondrian against the peer", f"not measured ({type(error).__name__})")
        return
    seconds = json.loads(told.stdout)["seconds"]
    report.add("peer: Mondrian, Adult, 6 columns, k = 10", f"{seconds:.1f} s")
    report.add("Mondrian against the peer", f"{seconds / ours:,.0f} times", "100 times")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-peer", action="store_true", help="leave out the peer")
    parser.add_argument("--task", choices=TASKS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        found = TASKS[options.task]()
        found["mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(found))
        return
    print("Tables, k-anonymity:")
    report = Report()
    groups = measured("mdav")["seconds"]
    report.add("mdav(k=10), 32,561 x 6", f"{groups:.2f} s", "at most 4.3")
    report.add(
        "  of the 2.65 s named for sdcMicro, which is not run here",
        f"{groups / 2.65:.2f} times",
        "at most 0.6",
    )
    if Path("/proc/self/statm").is_file():
        whole = measured("whole file")
        report.add("a file of a million rows, as a table", f"{whole['table']:,.0f} MB")
        ratio = whole["all"] / whole["table"]
        report.add("  with ola and writing, peak", f"{ratio:.2f} times", "at most 3")
        report.add("  the same by blocks, peak", f"{measured('by blocks')['all']:,.0f} MB")
    if not ADULT.is_dir():
        print("  (Adult is not at hand)")
        return
    six = measured("ola 6")
    report.add("ola, Adult, 6 columns, k = 10, 5 %", f"{six['seconds']:.2f} s", "at most 0.5")
    for name in ("ola", "incognito", "exhaustive"):
        nine = measured(f"{name} 9")
        report.add(
            f"{name}, 9 columns, k = 5, 4 %: {nine['judged']:,.0f} of {nine['nodes']:,.0f} nodes",
            f"{nine['seconds']:.2f} s",
            "at most 6.7, the time of ARX" if name == "ola" else "",
        )
    cut = measured("mondrian")
    report.add("Mondrian, Adult, 6 columns, k = 10", f"{cut['seconds']:.2f} s", "at most 0.2")
    if not options.no_peer:
        peer(report, cut["seconds"])
    many = measured("mondrian million")
    report.add("  a million rows of Adult", f"{many['seconds']:.1f} s", "at most 5")
    report.add("  peak memory, with the table", f"{many['mb']:,.0f} MB")
    reals = measured("mondrian reals")
    report.add("  a million rows of different reals", f"{reals['seconds']:.1f} s")
    figures = measured("measures")
    report.add("k, l, t, dm of a million rows", f"{figures['seconds']:.2f} s", "at most 1")
    report.add("  of columns that were not read yet", f"{figures['unread']:.2f} s")


if __name__ == "__main__":
    main()
