"""The door for all attackers: what it takes, and what it says of what it does not take."""

import pickle
from typing import Any, ClassVar

import numpy as np
import pytest
from tests.search.conftest import BagEncoder

from veil.core.errors import VeilError
from veil.core.outcome import Outcome
from veil.data.fetch import Report, no_progress
from veil.text.attack import Attack, Scene, attack
from veil.text.attacks import ATTACKS
from veil.text.attacks.inference import Inference
from veil.text.log import QueryLog
from veil.text.mechanisms.catalogue import mechanism
from veil.text.protect import protect
from veil.text.vectors.embeddings import Embeddings

CANARY = "xanthippe"


def test_every_attacker_is_a_component() -> None:
    for name in ATTACKS.names():
        made = ATTACKS.parse(name)
        assert isinstance(made, Attack)
        assert made.name == name
        assert str(ATTACKS.parse(str(made))) == str(made)
        assert made.needs <= {"log", "mechanism", "space"}
        assert type(made).__doc__


@pytest.mark.parametrize("name", ["bayes", "reconstruct", "intersect", "inference", "linkage"])
def test_a_release_is_enough(
    name: str, words: Embeddings, queries: list[str], encoder: BagEncoder
) -> None:
    texts = queries[:6]
    released = protect(
        texts, mechanism("custext(epsilon=5, k=8)"), words, 4, rng=2, select="content"
    )
    spec = name if name in ("inference", "linkage") else f"{name}(select=content)"
    own = encoder if name in ("inference", "linkage") else None
    told: list[str] = []
    outcome = attack(
        released,
        texts,
        queries,
        spec,
        encoder=own,
        space=words,
        report=lambda what, done, total: told.append(what),
    )
    assert len(outcome.ranks) == len(outcome.candidates) == len(outcome.subjects)
    assert (outcome.ranks >= 1).all()
    assert (outcome.ranks <= outcome.candidates + 1).all()
    assert told


def test_plain_lists_rows_of_any_length_and_a_log_of_either_kind(encoder: BagEncoder) -> None:
    rows = [["skin cancer", "cancer"], [], ["new york"]]
    texts = ["skin cancer", "weather", "new york"]
    log = QueryLog.of(["weather", *texts, "york"])
    first = attack(rows, texts, log, encoder=encoder)
    second = attack(rows, texts, iter(["weather", *texts, "york"]), Inference(), encoder=encoder)
    assert first.ranks.tolist() == second.ranks.tolist() == [1, 1, 1]
    again = pickle.loads(pickle.dumps(log))  # noqa: S301
    assert list(again.texts) == list(log.texts)
    assert attack(rows, texts, again, encoder=encoder).ranks.tolist() == [1, 1, 1]


def bad(**changed: object) -> dict[str, Any]:
    return {"variants": [["a"]], "originals": [CANARY], "log": ["a"], **changed}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (bad(originals=[CANARY, "b"]), "one original for each row"),
        (bad(variants=[], originals=[]), "nothing to attack"),
        (bad(variants=CANARY), "'variants' argument"),
        (bad(variants=[CANARY]), "Row 1 of the variants"),
        (bad(variants=[[3]]), "A variant of row 1"),
        (bad(originals=CANARY), "'originals' argument"),
        (bad(originals=[None]), "Text 1 of 'originals'"),
        (bad(log=[]), "holds no query"),
        (bad(log=["", " "]), "holds no query"),
        (bad(log=CANARY), "'log' argument"),
        (bad(log=[1]), "Text 1 of 'log'"),
        (bad(log=None), "inference attacker needs a log of queries: give log=."),
        (bad(attacker="bayes"), "bayes attacker needs the mechanism: give mechanism=."),
        (
            bad(attacker="bayes", mechanism="cmp(epsilon=1)"),
            "bayes attacker needs the word vectors: give space=.",
        ),
        (bad(attacker="reconstruct", encoder="minilm"), "needs the mechanism"),
        (bad(attacker="inferrence"), "Did you mean 'inference'"),
        (bad(attacker=3), "'attacker' argument"),
        (bad(attacker="bayes(prior=none)"), "prior"),
        (bad(encoder="no_such"), "no_such"),
    ],
)
def test_mistakes_are_told_in_one_sentence(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(VeilError) as caught:
        attack(**arguments)
    message = str(caught.value)
    assert sentence in message
    assert CANARY not in message
    assert "\n" not in message
    assert message.endswith(".")


def test_an_encoder_is_refused_where_none_is_used(words: Embeddings) -> None:
    with pytest.raises(VeilError, match="compares no vectors"):
        attack(
            [["a"]],
            ["b"],
            attacker="reconstruct",
            mechanism="cmp(epsilon=1)",
            space=words,
            encoder="minilm",
        )


def test_attacks_of_the_last_release_still_run() -> None:
    class Old(Attack):
        name: ClassVar[str] = "old"

        def attack(self, scene: Scene, report: Report = no_progress) -> Outcome:
            return Outcome(np.array([1]), np.array([2]), np.array([0]))

    scene = Scene((("x",),), ("x",))
    assert Old().run(scene).ranks.tolist() == [1]  # type: ignore[abstract]

    class New(Attack):
        name: ClassVar[str] = "new"

        def run(self, scene: Scene, report: Report = no_progress) -> Outcome:
            return Outcome(np.array([2]), np.array([2]), np.array([0]))

    with pytest.warns(DeprecationWarning, match="New.attack is now New.run"):
        assert New().attack(scene).ranks.tolist() == [2]
