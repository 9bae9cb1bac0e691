"""Say so where vectors are so long or so short that a usual epsilon means something else."""

from veil.text.vectors.embeddings import Embeddings

_USUAL = (0.05, 100.0)  # median lengths at which budgets mean what they do in papers


def scale_note(space: Embeddings) -> str:
    """Return a sentence or two about the length of the vectors, or "" where it is usual."""
    length = space.length
    if _USUAL[0] <= length <= _USUAL[1]:
        return ""
    extent = "nearly nothing" if length > _USUAL[1] else "nearly everything"
    return (
        f"The median length of the vectors is {length:.3g}. Epsilon counts per unit of distance:"
        f" with such vectors the usual budgets hide {extent}."
    )
