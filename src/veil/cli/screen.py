"""What commands of text show: vectors made ready, and what a release was and costs."""

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
    """Open the word vectors and let the mechanism prepare itself; some need no vectors."""
    space = open_vectors(vectors) if "vectors" in mechanism.needs else None
    prepare(mechanism, space)
    return space


def prepare(mechanism: TextMechanism, space: Embeddings | None) -> None:
    """Let a mechanism prepare itself, with a sign of life: groups take half a minute once."""
    with progress_bar() as report:
        report(f"preparing {mechanism.name}", 0, 0)
        if isinstance(mechanism, QueryMechanism):
            mechanism.bind()
        elif isinstance(mechanism, WordMechanism) and space is not None:
            mechanism.bind(space)


def open_vectors(name: str) -> Embeddings:
    """Open vectors; a first fetch or conversion shows its progress.

    Of vectors of the user's own it is said when a usual epsilon means something else with them.
    """
    with progress_bar() as report:
        space = load_embeddings(name, report)
    warn_scale(name, space)
    return space


def warn_scale(name: str, space: Embeddings) -> None:
    """Say when a usual epsilon means something else with vectors of the user's own."""
    if name not in VECTORS and (note := scale_note(space)):
        stderr().print(note)


def cost_of(guarantee: Guarantee, words: int, size: int, passed: int = 0) -> str:
    """Say in words what the release costs."""
    if passed and not words:
        return "Cost: unbounded, as nothing is protected."
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
    """Say what single texts cost: a sum over the texts of different people means nothing."""
    if guarantee.kind in ("none", "leakage") or tally.texts < 2 or not tally.sizes:
        return ""
    unit = size * guarantee.epsilon
    smallest, median, largest = (number_of(words * unit) for words in tally.spread())
    return f" Per text: smallest {smallest}, median {median}, largest {largest}."


def not_covered(
    mechanism: TextMechanism, select: Select | None, policies: Mapping[str, str] | None
) -> tuple[str, ...]:
    """Say what the bound does not cover because of what was chosen, a sentence each.

    What no bound on words ever covers stands in the documentation, and in `Guarantee.caveat`.
    """
    if not isinstance(mechanism, WordMechanism) or mechanism.guarantee.kind == "none":
        return ()
    return chosen_premises(mechanism.select if select is None else select, policies)


def show_summary(
    mechanism: TextMechanism,
    tally: Tally,
    size: int,
    output: Path | None,
    left: Sequence[str] = (),
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
    if left:
        named = ", ".join(f"'{escape(name)}'" for name in left)
        is_, _ = _pronouns(len(left))
        warnings.append(
            f"The column{'s' if len(left) > 1 else ''} {named} left as {is_}: not protected."
        )
    if tally.seeded:
        warnings.append("Seeded: whoever has the seed can repeat these draws. NOT PRIVATE.")
    if with_originals:
        warnings.append("The output holds the original texts: do not pass it on.")
    for warning in warnings:
        notes.print(f"[yellow]{warning}[/yellow]")


def _of_texts(tally: Tally, size: int, *, terminal: bool) -> list[str]:
    """Say what became of texts and words that is not as one might think."""
    warnings = []
    if tally.clear and terminal:  # a secret: for the person alone, not for a log
        warnings.append(
            f"{count_of(tally.clear, 'variant')} of {tally.texts * size:,} came out equal to the"
            " text: at this epsilon the mechanism changes little. Choose a smaller one for the"
            " next release; to pick among variants would void the guarantee."
        )
    if tally.empty:
        warnings.append(f"{count_of(tally.empty, 'text')} without any variant that may be sent.")
    if tally.kept:
        _, them = _pronouns(tally.kept)
        warnings.append(
            f"{count_of(tally.kept, 'word')} not selected, or kept by policy, passed unchanged:"
            f" no cost covers {them}."
        )
    if tally.redacted:
        kinds = ", ".join(f"{number:,} {kind}" for kind, number in sorted(tally.redacted.items()))
        warnings.append(
            f"Replaced as personal data: {escape(kinds)}. What was not recognised is not among"
            " them, and names are not with patterns."
        )
    if tally.bare:
        are, them = _pronouns(tally.bare)
        warnings.append(f"{count_of(tally.bare, 'text')} left as {are}: no cost covers {them}.")
    return warnings


def _pronouns(number: int) -> tuple[str, str]:
    return ("it is", "it") if number == 1 else ("they are", "them")
