"""The summary says where queries leave as they are, or nearly so."""

import re
from dataclasses import replace

from veil.search.study.study import unprotected_remarks
from veil.studies.results import Row


def point(value: float, kind: str, measure: str, score: float) -> Row:
    spec = f"cmp(epsilon={value})"
    return Row("c", "", "cmp", spec, "epsilon", value, 5, kind, measure, "", score, 0, 1, 40)  # type: ignore[arg-type]


def told(rows: list[Row]) -> str:
    return re.sub(r"<[^>]*>", "", unprotected_remarks(rows))


def test_the_query_itself_counts_first() -> None:
    rows = [point(1.0, "similarity", "in clear", 0.0), point(50.0, "similarity", "in clear", 0.3)]
    assert told(rows).startswith("Queries leave in clear with cmp (epsilon 50): for 10 % of them")
    assert told(rows[:1]).startswith("No configuration sends the query itself")


def test_then_words_in_common_then_first_guesses() -> None:
    rows = [point(value, "similarity", "jaccard", 0.95) for value in (20.0, 50.0)]
    assert told(rows).startswith("Queries leave nearly in clear with cmp (epsilon 20 to 50):")
    assert told([replace(rows[0], score=0.2)]).startswith("No configuration sends queries nearly")
    guessed = replace(rows[0], kind="risk", measure="lazy")
    assert "of the queries are guessed at once" in told([guessed])
    assert told([]) == "Whether queries go out nearly in clear was not measured."
