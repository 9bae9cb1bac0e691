"""A few letters in an index, with what a classifier and humans say of each."""

from pathlib import Path

import numpy as np

from veil.corpus.collection import Collection, Document, Documents
from veil.sensitive.index import Stored, open_stored, store

HIDDEN = "xanthippe"  # in every letter that is withheld at 0.5, and in no other
LETTERS = (  # title, text, p, what a human says
    ("Budget of May", "gas prices and the budget for storage", 0.02, 0),
    ("Gas contract", "the contract for gas prices next year", 0.20, -1),
    ("Lunch", f"gas leak at home, {HIDDEN} is not well", 0.90, -1),
    ("", f"prices of the clinic for {HIDDEN}, please tell nobody", 0.10, 1),
    ("Forecast", "forecast of gas prices", 0.05, -1),
    ("Re: prices", f"gas prices, and {HIDDEN} sends her love", np.nan, -1),
    ("Pipeline", "capacity of the pipeline for gas", 0.30, -1),
)
WITHHELD = 3


def drawer(folder: Path) -> Stored:
    """Write the index, and open it."""
    documents = Documents.of(
        Document(f"m{number}", title, text) for number, (title, text, _, _) in enumerate(LETTERS)
    )
    p = np.array([entry[2] for entry in LETTERS])
    message = np.array([entry[3] for entry in LETTERS], dtype=np.int8)
    store(folder / "index", Collection("letters", documents), message, p, "logistic")
    return open_stored(folder / "index")
