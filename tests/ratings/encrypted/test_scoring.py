"""Encrypted scores are those of the plain product, and the server holds no secret."""

import numpy as np
import pytest

from veil.core.errors import InputError
from veil.ratings.federated.primitives import ProtocolError

pytest.importorskip("tenseal", reason="encrypted scoring needs tenseal (extra he)")

from veil.ratings.encrypted import NARROW, KeyHolder, Question, answer


@pytest.mark.parametrize(("d", "m"), [(7, 5000), (1, 3), (NARROW + 1, 2)])
def test_scores_are_those_of_the_plain_product(d: int, m: int) -> None:
    rng = np.random.default_rng(d)
    x, matrix = rng.uniform(-1, 1, d), rng.uniform(-1, 1, (d, m))
    matrix[0] = 0.0
    asker = KeyHolder()
    scores = asker.scores(answer(asker.ask(x), matrix), m)
    assert scores.shape == (m,)
    assert np.abs(scores - x @ matrix).max() < 1e-4


def test_a_question_is_encrypted_anew_and_holds_no_secret() -> None:
    asker, x = KeyHolder(), np.array([0.25, -0.5])
    first, second = asker.ask(x), asker.ask(x)
    assert first.parts[0] != second.parts[0]
    assert "0.25" not in repr(first)
    stranger = KeyHolder()
    scores = stranger.scores(answer(first, np.eye(2)), 2)
    assert np.abs(scores - x).max() > 1


def test_secret_keys_and_garbage_are_refused() -> None:
    asker = KeyHolder()
    question = asker.ask(np.array([1.0, 2.0]))
    private = asker._context.serialize(save_secret_key=True)
    for wrong, words in (
        (Question(private, question.parts, 2), "must stay private"),
        (Question(b"garbage", question.parts, 2), "invalid"),
        (Question(question.context, (b"x", b"y"), 2), "invalid"),
        (Question(question.context, question.parts[:1] * 3, 2), "number of parts"),
    ):
        with pytest.raises(ProtocolError, match=words):
            answer(wrong, np.eye(2))
    with pytest.raises(ProtocolError, match="fewer scores"):
        asker.scores((), 2)
    with pytest.raises(InputError, match="row for each number"):
        answer(question, np.eye(3))
    for profile in (np.array([np.nan]), np.zeros(0), np.zeros(5000), np.zeros((2, 2))):
        with pytest.raises(InputError, match="A profile"):
            asker.ask(profile)
