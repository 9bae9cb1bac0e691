"""Output shared by text commands: the state of the vectors, and the cost of a release."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.markup import escape

from veil.api import load_embeddings
from veil.cli.terminal import progress_bar, stderr
from veil.core.formatting import count_of, number_of
from veil.core.guarantee import Guarantee
from veil.text.files import Tally
from veil.text.mechanisms.mechanism import (
    QueryMechanism,
    TextMechanism,
    WordMechanism,
    chosen_premises,
)
from veil.text.select import Select
from veil.text.vectors.catalogue import VECTORS
from veil.text.vectors.embeddings import Embeddings, scale_note


def open_space(mechanism: TextMechanism, vectors: str) -> Embeddings | None:
    """Prepare a mechanism and return the word vectors, or None if it needs none."""
    space = open_vectors(vectors) if "vectors" in mechanism.needs else None
    prepare(mechanism, space)
    return space


def prepare(mechanism: TextMechanism, space: Embeddings | None) -> None:
    """Prepare a mechanism with a progress bar: the first time, groups take half a minute."""
    with progress_bar() as report:
        report(f"preparing {mechanism.name}", 0, 0)
        if isinstance(mechanism, QueryMechanism):
            mechanism.bind()
        elif isinstance(mechanism, WordMechanism) and space is not None:
            mechanism.bind(space)


def open_vectors(name: str) -> Embeddings:
    """Return word vectors, with a progress bar for a first download or conversion.

    Print a note if usual values of epsilon mean something else for the user's own vectors.
    """
    with progress_bar() as report:
        space = load_embeddings(name, report)
    warn_scale(name, space)
    return space


def warn_scale(name: str, space: Embeddings) -> None:
    """Print a note if usual values of epsilon mean something else for the user's own vectors."""
    if name not in VECTORS and (note := scale_note(space)):
        stderr().print(note)


def cost_of(guarantee: Guarantee, words: int, size: int, passed: int = 0) -> str:
    """Return the cost of a release as text."""
    if passed and not words:
        return "Cost: unbounded, because nothing is protected."
    if guarantee.kind == "none":
        return f"Cost: unbounded. {guarantee.caveat}"
    if guarantee.kind == "leakage":
        return f"Cost of each text: {guarantee}. {guarantee.caveat}"
    total = guarantee.compose(words * size, "release")
    unit = "between words of one group" if guarantee.kind == "group-dp" else ""
    unit = unit or f"per unit of {guarantee.metric} distance"
    more = f" plus {number_of(total.additive)}" if total.additive else ""
    caveat = f" {guarantee.caveat}" if guarantee.kind == "umldp" else ""
    return (
        f"Cost: {words:,} x {size:,} x epsilon {number_of(guarantee.epsilon)} ="
        f" {number_of(total.epsilon)} {unit}{more} ({guarantee.kind}, budgets added up).{caveat}"
    )


def cost_of_each(guarantee: Guarantee, tally: Tally, size: int) -> str:
    """Return the cost per text: a sum over texts of different people has no meaning."""
    if guarantee.kind in ("none", "leakage") or tally.texts < 2 or not tally.sizes:
        return ""
    unit = size * guarantee.epsilon
    smallest, median, largest = (number_of(words * unit) for words in tally.spread())
    return f" Per text: smallest {smallest}, median {median}, largest {largest}."


def not_covered(
    mechanism: TextMechanism, select: Select | None, policies: Mapping[str, str] | None
) -> tuple[str, ...]:
    """Return the limits of the guarantee that follow from the options, one sentence each.

    The general limits of a bound on words are in the documentation and in `Guarantee.caveat`.
    """
    if not isinstance(mechanism, WordMechanism) or mechanism.guarantee.kind == "none":
        return ()
    return chosen_premises(mechanism.select if select is None else select, policies)


def show_summary(
    mechanism: TextMechanism,
    tally: Tally,
    size: int,
    output: Path | None,
    other_columns: Sequence[str] = (),
    caveats: Sequence[str] = (),
    *,
    with_originals: bool,
) -> None:
    """Print the summary and the warnings to stderr."""
    notes = stderr()
    where = f" in {escape(str(output))}" if output else ""
    notes.print(
        f"[dim]{count_of(tally.texts, 'text')}, {count_of(tally.words, 'protected word')} x"
        f" {count_of(size, 'variant')}{where}."
        f" {cost_of(mechanism.guarantee, tally.words, size, tally.kept)}"
        f"{cost_of_each(mechanism.guarantee, tally, size)}[/dim]"
    )
    warnings = [*_of_texts(tally, size, terminal=notes.is_terminal), *caveats]
    if other_columns:
        names = ", ".join(f"'{escape(name)}'" for name in other_columns)
        plural = "s" if len(other_columns) > 1 else ""
        warnings.append(f"Column{plural} {names} released unprotected.")
    if tally.seeded:
        warnings.append("Reproducible by anyone who has the seed: NOT PRIVATE.")
    if with_originals:
        warnings.append("The output contains the original texts. Do not share it.")
    for warning in warnings:
        notes.print(f"[yellow]{warning}[/yellow]")


def _of_texts(tally: Tally, size: int, *, terminal: bool) -> list[str]:
    """Return warnings about texts and words that were not protected as expected."""
    warnings = []
    if tally.clear and terminal:  # secret: show on a terminal only
        warnings.append(
            f"{count_of(tally.clear, 'variant')} of {tally.texts * size:,} came out equal to the"
            " text: with this epsilon, the mechanism changes little. Choose a smaller one for the"
            " next release; selecting among variants would void the guarantee."
        )
    if tally.empty:
        warnings.append(f"{count_of(tally.empty, 'text')} without any variant that may be sent.")
    if tally.kept:
        warnings.append(
            f"{count_of(tally.kept, 'word')} released unchanged (not selected, or kept by policy):"
            f" the cost does not cover {_pronoun(tally.kept)}."
        )
    if tally.redacted:
        kinds = ", ".join(f"{number:,} {kind}" for kind, number in sorted(tally.redacted.items()))
        warnings.append(
            f"Replaced as personal data: {escape(kinds)}. Unrecognised personal data remains, and"
            " patterns do not find names."
        )
    if tally.bare:
        warnings.append(
            f"{count_of(tally.bare, 'text')} released unprotected: the cost does not cover"
            f" {_pronoun(tally.bare)}."
        )
    return warnings


def _pronoun(number: int) -> str:
    return "it" if number == 1 else "them"
