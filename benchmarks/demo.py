"""Show the product: run a handful of commands as a newcomer would type them."""

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

VEIL = Path(sys.executable).parent / "veil"

STEPS = [
    ("Word vectors are fetched once, checked, and then memory-mapped.", "vectors glove-100d"),
    (
        "Five variants of a query. Only these would ever be sent to a search engine.",
        'protect cmp --epsilon 10 --size 5 "Treatment for skin cancer?"',
    ),
    (
        "What the mechanism does to one word, exactly: here a strong law ...",
        "explain santext --epsilon 1 cancer --top 5",
    ),
    (
        "... and here one with a larger budget, which hides next to nothing. Veil says so.",
        "explain santext --epsilon 6 cancer tumor --top 5",
    ),
    (
        "Unknown words, numbers in digits and addresses are never let through, even by a"
        " mechanism that protects nouns and adjectives only.",
        'protect wbb --epsilon 10 --size 3 "Is Xanthippe, 47, in debt to j.doe@bank.example?"',
    ),
    ("What is proved of a mechanism, and what is not.", "mechanisms wbb"),
    ("A mistake is one sentence, and nothing is released.", "protect cmp --epsilon -1 hello"),
    (
        "A whole private search: the engine, here a local one over a catalogue of diagnoses, sees"
        " the variants alone; the results are put in order on this side. (The first time, an"
        " encoder is fetched and the catalogue is encoded: half a minute.)",
        'search "treatment for skin cancer"',
    ),
    (
        "How often would an engine have guessed? A small audit: two mechanisms, attacked with a"
        " log of 18,000 queries (a minute or two). The report lies in ./veil-report/report.html.",
        "audit --demo",
    ),
]


def main() -> None:
    """Run every step, with a ledger of its own: a demo is none of the user's searches."""
    with tempfile.TemporaryDirectory(prefix="veil-demo-") as data:
        show({**os.environ, "VEIL_DATA": data})
    print("\nNext: .venv/bin/veil --help, and README.md.")


def show(environment: dict[str, str]) -> None:
    """Run every step, showing the command first."""
    for number, (what, command) in enumerate(STEPS, start=1):
        head = f"{number} of {len(STEPS)}. {what}"
        bold = f"\033[1m{head}\033[0m" if sys.stdout.isatty() else head
        print(f"\n{bold}\n$ veil {command}", flush=True)
        result = subprocess.run([str(VEIL), *shlex.split(command)], env=environment, check=False)
        if result.returncode and "-1" not in command:
            sys.exit(result.returncode)


if __name__ == "__main__":
    main()
