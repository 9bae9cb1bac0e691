"""Whether the engine learnt anything new, in a sentence."""

import pytest
from tests.web.sample_pages import found

from veil.proxy.results import GroupView


def group(*, known: bool = False, stayed: bool = False) -> GroupView:
    return GroupView(2, 8, 128, known, stayed, 0.7, ("heart pain", "skin pain"), 0.625)


AGAIN = (
    "The group was sent for this query before: the engine learnt only that it was requested again."
)
OTHER = (
    "This group had been sent before for another query. It reveals as much about this query as a"
    " new group would."
)


@pytest.mark.parametrize(
    ("known", "sent", "reused", "sentence"),
    [
        (False, 20, 0, "This group had not been sent before."),
        (True, 20, 0, OTHER),
        (True, 20, 20, AGAIN),
        (True, 0, 20, "Nothing was sent: the group had been sent before, and its answers were"
         " remembered on this machine."),
        (False, 0, 0, "This group had not been sent before."),  # no engine answered
    ],
)  # fmt: skip
def test_news_of_groups(known: bool, sent: int, reused: int, sentence: str) -> None:
    plane = found(cover=group(known=known), sent=sent, reused=reused)
    assert plane.news == sentence
    stayed = found(cover=group(known=True, stayed=True), sent=sent, reused=reused)
    assert "not been sent" not in stayed.news


def test_a_group_is_not_told_as_draws() -> None:
    for reference in (False, True):
        for shared in (0, 2):
            news = found(cover=group(known=reference), sent=4, shared=shared).news
            assert "variant" not in news
            assert "sampled" not in news
    assert found().news == "New variants, sampled for this query."


def test_what_went_in_clear_comes_first() -> None:
    assert "The query itself was sent" in found(plain=True, cover=group()).news
    assert found(plain=True, here=True, cover=group()).news.startswith("Nothing was sent")
