"""By which mechanism variants were made, as far as their file tells."""

from contextlib import suppress

from veil.core.errors import InputError, VeilError
from veil.text.mechanisms.find import mechanism
from veil.text.mechanisms.mechanism import TextMechanism
from veil.text.variants import VariantTable


def made_by(table: VariantTable, given: str = "") -> TextMechanism:
    """Return the mechanism that was named, or else the one that the file names.

    Raises
    ------
    InputError
        If the file names none, or none that is known here.
    """
    if given:
        return mechanism(given)
    name = table.mechanism.strip()
    told = [name]
    if table.parameter:
        told.append(f"{name.lower()}({table.parameter}={table.value})")
    for spec in told:
        with suppress(VeilError):
            return mechanism(spec)
    raise InputError(
        "The file does not say by which mechanism, and with which parameters, its variants were"
        " made; name it with --mechanism, as in --mechanism 'cmp(epsilon=10)'."
    )
