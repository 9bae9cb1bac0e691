"""Cross-encoder: a model that reads variant and candidate together orders the candidates."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from veil.core.errors import AssetError, MissingExtraError
from veil.core.types import Encoder, Floats
from veil.data.fetch import Report, silent
from veil.text.attacks._candidates import candidates
from veil.text.attacks.attack import EncoderAttack, Outcome, Scene


class CrossEncoder(EncoderAttack):
    r"""Order the first n candidates by the scores that a cross-encoder gives them.

    .. math:: s(q) = \frac{1}{N} \sum_j \mathrm{model}(v_j, q)

    The candidates are the first `n` queries of the log by `inference`; those beyond stay behind.

    References
    ----------
    Nogueira, Cho. Passage Re-ranking with BERT. 2019, section 3. arXiv:1901.04085

    Notes
    -----
    The model is fetched from Hugging Face the first time, which thereby learns its name, and runs
    on this machine; no text leaves. Code that comes with a model is never run.
    """

    name: ClassVar[str] = "crossencoder"
    needs: ClassVar[frozenset[str]] = frozenset({"log"})

    model: Annotated[
        str,
        Field(min_length=1, max_length=500, description="name on Hugging Face, or a folder"),
    ] = "cross-encoder/stsb-distilroberta-base"
    n: Annotated[int, Field(ge=2, le=1000, description="candidates that are ordered")] = 20
    versions: Annotated[int, Field(ge=1, le=50, description="variants that are read")] = 10

    def rank(self, scene: Scene, encoder: Encoder, report: Report = silent) -> Outcome:
        """Attack with an open encoder."""
        model = _opened(self.model)
        found = candidates(scene, encoder, self.n, report)
        orders = {}
        for number, row in enumerate(found.rows):
            report("reading candidates", number, len(found.rows))
            if row:
                scores = _scores(model, row[: self.versions], found.texts(number))
                orders[number] = np.argsort(-scores, kind="stable").tolist()
        return found.outcome(orders)


def _scores(model: Any, row: Sequence[str], texts: Sequence[str]) -> Floats:  # noqa: ANN401
    pairs = [(variant, text) for text in texts for variant in row]
    given = np.asarray(model.predict(pairs, show_progress_bar=False), dtype=np.float64)
    means: Floats = given.reshape(len(texts), len(row)).mean(axis=1)
    return means


def _opened(name: str) -> Any:  # noqa: ANN401 - of a library without types
    try:
        import sentence_transformers
    except ImportError:
        raise MissingExtraError(
            "The crossencoder attacker needs sentence-transformers: pip install 'veil[neural]'"
        ) from None
    try:
        return sentence_transformers.CrossEncoder(name, trust_remote_code=False)
    except (OSError, ValueError, ImportError, LookupError) as error:
        raise AssetError(
            f"The model {name} could not be opened ({type(error).__name__}); check its name and"
            " the connection."
        ) from None
