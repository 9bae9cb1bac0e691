"""Attackers: golden values, brute force, what they know, and what they are refused."""

import numpy as np
import pytest
from numpy.random import Generator
from tests.places.snow import FILES, deaths, golden, masked, needs_snow, register, releases

from veil.core.component import example
from veil.core.errors import InputError, LawError, ParameterError, UnknownNameError
from veil.core.estimate import bootstrap
from veil.core.outcome import Outcome
from veil.core.types import Floats
from veil.measures.risk import successes
from veil.places.attack import attack, outcome, risk, true_entries
from veil.places.attacks import ATTACKS
from veil.places.attacks import addresses as matchings
from veil.places.attacks import home as homes
from veil.places.attacks.addresses import compare_positions, localise, similarity
from veil.places.mechanisms import MECHANISMS
from veil.places.points import Points
from veil.places.projection import distance, middle, surface

GUESSES = (1, 5, 10)


def shares(found: Outcome) -> list[float]:
    return [float(risk(found, guesses)) for guesses in GUESSES]


def wanted(values: dict[str, float]) -> object:
    return pytest.approx([values[str(guesses)] for guesses in GUESSES], abs=1e-12)


def town(rng: Generator, n: int = 80) -> Points:
    xy = np.column_stack([rng.normal(5_000, 300, n), rng.normal(9_000, 200, n)])
    return Points(xy, weights=rng.integers(1, 6, n).astype(np.float64))


@needs_snow
def test_donut_on_snow_is_golden() -> None:
    original, seen, values = Points(deaths()[0]), Points(masked()), golden()["donut"]
    xy, weights = register()
    addresses, people = Points(xy), Points(xy, weights=weights)
    spec = values["method"]
    assert shares(attack(seen, original, addresses, "nearest")) == wanted(values["nearest"])
    uniform = attack(seen, original, addresses, "bayes", method=spec)
    assert shares(uniform) == wanted(values["bayes_uniform"])
    weighted = attack(seen, original, people, "bayes", method=spec)
    assert shares(weighted) == wanted(values["bayes_weighted"])
    found = compare_positions(seen, original, people, spec)
    assert float(found.error) == pytest.approx(
        values["bayes_weighted"]["error_of_posterior_mean"], abs=1e-6
    )
    assert 0.3 < found.risk < 0.9
    assert float(found.without) > float(found.error)


@needs_snow
def test_matching_on_snow_is_golden() -> None:
    original, values = Points(deaths()[0]), golden()["donut"]["matching"]
    found = attack(Points(masked()), original, original, "matching")
    assert float(risk(found)) == pytest.approx(values["identified"], abs=1e-12)


@needs_snow
@pytest.mark.parametrize("count", [1, 2, 5])
def test_laplace_on_snow_is_golden(count: int) -> None:
    original, values = Points(deaths()[0]), golden()["laplace"]
    addresses, seen = Points(register()[0]), releases()[:count]
    spec = values["method"]
    bayes = values[f"bayes_{count}"]
    assert shares(attack(seen, original, addresses, "bayes", spec)) == wanted(bayes)
    average = attack(seen, original, addresses, "average")
    assert shares(average) == wanted(values[f"average_{count}"])
    error = distance(localise(seen, addresses, spec), original.xy).mean()
    assert error == pytest.approx(bayes["error_of_posterior_mean"], abs=1e-6)


@pytest.mark.parametrize(
    "spec", ["donut(low=60, high=90)", "laplace(epsilon=0.02)", "gaussian(sigma=60)"]
)
def test_bayes_never_identifies_less_than_nearest(spec: str, rng: Generator) -> None:
    homes = Points(rng.uniform(0, 900, (80, 2)))  # all alike, as the attacker believes
    method, gains = MECHANISMS.parse(spec), []
    for _ in range(30):
        moved = method.draw(homes.xy, surface(None), rng)
        strong = attack(moved, homes, homes, "bayes", method)
        gains.append(float(risk(strong)) - float(risk(attack(moved, homes, homes, "nearest"))))
    assert bootstrap(gains).high >= 0
    assert ("donut" in spec) == (bootstrap(gains).low > 0)  # elsewhere the nearest is likeliest


def test_ranks_and_ties_are_those_of_brute_force(rng: Generator) -> None:
    people = town(rng)
    assert people.weights is not None
    original = people.take(np.arange(0, 80, 2))
    seen = original.xy + rng.normal(size=(3, 40, 2)) * 60
    spec = "donut(low=10, high=150)"
    law = MECHANISMS.parse(spec)
    found = attack(seen, original, people, "bayes", spec)
    for i in range(40):
        scores = np.log(people.weights) + sum(
            law.log_density(one[i : i + 1], people.xy, surface(None))[0] for one in seen
        )
        own = scores[2 * i]
        ahead = (scores > own + 1e-9).sum() if np.isfinite(own) else np.isfinite(scores).sum()
        level = scores == -np.inf if np.isinf(own) else np.abs(scores - own) <= 1e-9
        assert found.ties is not None
        assert (found.ranks[i], found.ties[i]) == (1 + ahead, level.sum())
    assert found.candidates[0] == 80


def test_nearest_looks_at_the_first_release_and_average_at_all(rng: Generator) -> None:
    people = town(rng)
    seen = people.xy + np.stack([np.zeros((80, 2)), np.full((80, 2), 900.0)])
    assert float(risk(attack(seen, people, people, "nearest"))) == 1
    assert float(risk(attack(seen, people, people, "average"))) < 0.3
    opposite = people.xy + np.stack([np.full((80, 2), 900.0), np.full((80, 2), -900.0)])
    assert float(risk(attack(opposite, people, people, "nearest"))) < 0.3
    assert float(risk(attack(opposite, people, people, "average"))) == 1


def test_the_mean_knows_no_antimeridian() -> None:
    places = np.array([[[179.5, 10.0]], [[-179.5, 10.0]]])
    assert abs(middle(places, "EPSG:4326")[0, 0]) == pytest.approx(180)
    weighted = middle(places[..., ::-1] * 0 + places, None, np.array([[3.0], [1.0]]))
    assert weighted[0] == pytest.approx([(3 * 179.5 - 179.5) / 4, 10.0])


@pytest.mark.parametrize("crs", [None, "EPSG:4326"])
def test_on_plane_and_sphere_the_same_town_is_attacked_alike(
    crs: str | None, rng: Generator
) -> None:
    people = town(rng)
    moved = people.xy + rng.normal(size=(80, 2)) * 40
    middle_of = people.xy.mean(axis=0)

    def there(xy: Floats) -> Floats:
        scale = 1 if crs is None else 180 / (np.pi * 6_371_008.8)
        around: Floats = (xy - middle_of) * scale  # at 0, 0 degrees are as long both ways
        return around

    register_of = Points(there(people.xy), crs, weights=people.weights)
    seen = Points(there(moved), crs)
    found = attack(seen, register_of, register_of, "bayes", "gaussian(sigma=40)")
    plain = attack(Points(moved), people, people, "bayes", "gaussian(sigma=40)")
    assert found.ranks.tolist() == plain.ranks.tolist()
    near = distance(localise(seen, register_of, "gaussian(sigma=40)"), there(moved), crs)
    assert near.mean() < 60


@pytest.mark.parametrize(
    "spec", ["rotate(degrees=73)", "scale(factor=3)", "translate(dx=500, dy=-800)"]
)
def test_two_known_points_undo_a_transformation(spec: str, rng: Generator) -> None:
    people = town(rng)
    moved = MECHANISMS.parse(spec).draw(people.xy, surface(None), rng)
    assert float(risk(attack(moved, people, people, "nearest"))) < 0.5
    assert float(risk(attack(moved, people, people, "align"))) == 1


def test_align_fits_by_least_squares(rng: Generator) -> None:
    z = rng.normal(size=(30, 2))
    x = np.column_stack([-2 * z[:, 1] + 5, 2 * z[:, 0] + 7]) + rng.normal(size=(30, 2)) * 1e-3
    ratio, shift = similarity(z, x)
    assert ratio == pytest.approx(2j, abs=1e-3)
    assert shift == pytest.approx(5 + 7j, abs=1e-3)
    assert similarity(z[:1], x[:1])[0] == 1  # one point tells a shift alone


def test_matching_uses_all_points_at_once(rng: Generator) -> None:
    places = Points(np.column_stack([np.arange(10) * 100.0, np.zeros(10)]))
    moved = places.xy + np.array([60.0, 0.0])  # nearer to the next, but the last has none
    assert float(risk(attack(moved, places, places, "nearest"))) == pytest.approx(0.1)
    assert float(risk(attack(moved, places, places, "matching"))) == 1
    known = attack(moved, places, places, "matching", "fixed(radius=60)")
    assert float(risk(known)) == 1  # nothing else is possible
    fewer = places.take(np.arange(4))
    found = attack(moved, places, fewer, "matching")
    assert (found.details["absent"], found.candidates[0]) == (6, 4)
    assert float(risk(found, 10)) <= 0.4


def test_matching_sums_squares() -> None:
    pair = Points(np.array([[0.0, 0.0], [70.0, 0.0]]))
    seen = np.array([[60.0, 0.0], [88.04, 57.22]])  # 60 and 60 metres away, or 10 and 105
    assert float(risk(attack(seen, pair, pair, "matching"))) == 1


def test_matching_takes_what_is_impossible_last() -> None:
    cost = np.array([[1.0, np.inf], [0.0, np.inf], [5.0, 2.0]])
    filled = matchings._feasible(cost.copy())
    assert matchings.assign(filled).tolist() == [-1, 0, 1]


def test_too_many_pairs_to_match_are_refused(rng: Generator) -> None:
    many = Points(rng.normal(size=(5_001, 2)))
    with pytest.raises(InputError, match="25,000,000 pairs"):
        attack(many, many, many, "matching")


def test_who_is_not_in_the_register_is_counted_and_never_found(rng: Generator) -> None:
    people = town(rng)
    strangers = Points(np.concatenate([people.xy[:3], people.xy[:2] + 0.5]))
    found = attack(strangers, strangers, people, "nearest")
    assert found.details["absent"] == 2
    assert found.ranks.tolist() == [1, 1, 1, 81, 81]
    assert float(risk(found, 1_000)) == pytest.approx(3 / 5)


def test_a_double_entry_hides_nothing() -> None:
    twice = Points(
        np.array([[0.0, 0.0], [9.0, 9.0], [0.0, 0.0]]), weights=np.array([1.0, 1.0, 5.0])
    )
    entries = true_entries(Points(np.array([[0.0, 5e-7], [9.0, 9.1]])), twice, surface(None))
    assert entries.tolist() == [[0, 2], [-1, -1]]
    seen = np.array([[3.0, 0.0]])
    found = attack(seen, twice.take(np.array([0])), twice, "bayes", "disk(radius=90)")
    assert (found.ranks.tolist(), risk(found)) == (
        [1],
        1.0,
    )  # the heavier one is guessed first


def test_risk_is_exact_for_ties() -> None:
    found = outcome(np.array([1, 3, 11]), np.array([4, 2, 1]), 10, 1)
    assert successes(found, "active", k=1).tolist() == [0.25, 0, 0]
    assert successes(found, "active", k=3).tolist() == [0.75, 0.5, 0]
    assert successes(found, "active", k=50).tolist() == [1, 1, 0]
    assert float(risk(found, "lazy")) == float(risk(found, 1))
    assert float(risk(found, "active")) == float(risk(found, 10))
    with pytest.raises(ParameterError, match="must be an integer"):
        risk(found, 0)


def test_what_an_attacker_lacks_is_said(rng: Generator) -> None:
    people = town(rng)
    with pytest.raises(InputError, match="needs the spec of the mechanism"):
        attack(people, people, people, "bayes")
    with pytest.raises(InputError, match="needs a register"):
        attack(people, people, None, "nearest")
    with pytest.raises(LawError, match="no closed-form density"):
        attack(people, people, people, "bayes", "voronoi()")
    with pytest.raises(InputError, match="users and times"):
        attack(people, people, None, "home(utc_offset=8)")
    with pytest.raises(InputError, match="one per original"):
        attack(people.xy[:5], people, people, "nearest")
    with pytest.raises(InputError, match="one coordinate system"):
        attack(Points(people.xy[:5] / 1e3, "EPSG:4326"), people, people, "nearest")
    with pytest.raises(UnknownNameError, match="Did you mean 'nearest'"):
        attack(people, people, people, "nearst")


@pytest.mark.parametrize("name", ATTACKS.names())
def test_an_attacker_is_what_its_spec_says(name: str) -> None:
    made = example(ATTACKS.get(name))
    assert str(ATTACKS.parse(str(made))) == str(made)
    assert (made.__doc__ or "").strip()


def trace(rng: Generator, users: int = 4, nights: int = 30) -> tuple[Points, Floats]:
    """Return fixes of users: at home at night, anywhere by day; and the homes."""
    places = rng.uniform(0, 20_000, (users, 2))
    xy, times, names = [], [], []
    for user in range(users):
        for night in range(nights):
            for hour, at in ((23, places[user]), (12, rng.uniform(0, 20_000, 2))):
                xy.append(at + rng.normal(size=2) * 5)
                times.append((night * 24 + hour - 8) * 3600.0)
                names.append(f"u{user}")
    return Points(np.array(xy), times=np.array(times), users=np.array(names)), places


def test_home_is_where_the_nights_are(rng: Generator) -> None:
    original, _ = trace(rng)
    spec = "home(utc_offset=8)"
    found = attack(original, original, None, spec)
    assert float(risk(found)) == 1
    assert found.candidates[0] == 4  # a blind guess is right once in as many times
    elsewhere = original.xy + rng.uniform(3_000, 9_000, original.xy.shape)
    assert float(risk(attack(elsewhere, original, None, spec))) == 0
    with pytest.raises(InputError, match="No user has 5"):
        attack(original, original, None, "home(utc_offset=8, from=3, to=4)")


def test_the_matched_filter_sees_through_a_ring(rng: Generator) -> None:
    original, _ = trace(rng)
    method = MECHANISMS.parse("donut(low=400, high=500)")
    moved = method.draw(original.xy, surface(None), rng)
    naive = attack(moved, original, None, "home(utc_offset=8)")
    knowing = attack(moved, original, None, "home(utc_offset=8, radius=100)", str(method))
    assert float(risk(naive)) < 0.5
    assert float(risk(knowing)) == 1


def test_users_with_few_nights_are_left_out(rng: Generator) -> None:
    original, _ = trace(rng)
    assert original.times is not None
    rows = np.flatnonzero((np.asarray(original.users) != "u0") | (original.times < 4 * 86_400))
    found = attack(original.take(rows), original.take(rows), None, "home(utc_offset=8)")
    assert (found.details["absent"], len(found)) == (1, 3)


def test_night_is_by_the_clock_of_the_place() -> None:
    hours = np.arange(24, dtype=np.float64) * 3600
    assert np.flatnonzero(homes.at_night(hours, 0, 22, 6)).tolist() == [0, 1, 2, 3, 4, 5, 22, 23]
    assert np.flatnonzero(homes.at_night(hours, 8, 22, 6)).tolist() == list(range(14, 22))
    assert np.flatnonzero(homes.at_night(hours, 0, 1, 3)).tolist() == [1, 2]


@pytest.mark.skipif(not FILES.is_dir(), reason="the shared data of places is not at hand")
def test_geolife_homes_are_found_in_the_raw_trace() -> None:
    import csv
    import gzip

    with gzip.open(FILES / "geolife-30s.csv.gz", "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    original = Points(
        np.array([[float(row["longitude"]), float(row["latitude"])] for row in rows]),
        "EPSG:4326",
        times=np.array([row["time"] for row in rows]),
        users=np.array([row["user"] for row in rows]),
    )
    found = attack(original, original, None, "home(utc_offset=8)")
    assert (len(found), found.details["absent"]) == (8, 3)  # illustration: eight users
    assert float(risk(found)) == 1
    rng = np.random.default_rng(5)
    moved = MECHANISMS.parse("laplace(epsilon=0.05)").draw(original.xy, surface("EPSG:4326"), rng)
    assert float(risk(attack(moved, original, None, "home(utc_offset=8)"))) >= 0.5
