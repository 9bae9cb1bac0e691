"""The table: who is where, what is sent, and what an engine can do with it."""

import itertools
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from veil.core.errors import InputError, ParameterError
from veil.core.types import Ids
from veil.cover import Table, Universe, bound, build, exact_risk, load
from veil.cover.builder import _groups, balanced, bands, sizes
from veil.cover.table import blocks
from veil.data.fetch import no_progress


def cell_sizes(table: Table) -> np.ndarray:
    return np.bincount(table.addresses * table.k + table.tracks, minlength=table.L * table.k)


@pytest.mark.parametrize(("n", "k", "b"), [(128, 4, 4), (128, 3, 5), (101, 4, 6), (40, 4, 10)])
def test_cells_are_of_equal_size(texts: list[str], n: int, k: int, b: int) -> None:
    table = build(texts[:n], tracks=k, cell=b)
    assert n // (k * b) == table.L
    assert np.bincount(table.tracks).max() - np.bincount(table.tracks).min() <= 1
    result = cell_sizes(table)
    assert len(result) == table.L * table.k
    assert result.max() - result.min() <= 1
    assert result.min() >= b
    assert table.even == (result.max() == result.min())
    low, high = table.track_odds
    assert low <= 1 / k <= high < 1.3 / k


def test_a_text_is_at_its_own_address_in_whatever_case_and_spacing(table: Table) -> None:
    assert np.array_equal(table.address(list(table.texts)), table.addresses)
    spelt = [f"  {text.upper()}  ".replace(" ", "\t") for text in table.texts]
    assert np.array_equal(table.address(spelt), table.addresses)
    assert table.address([]).shape == (0,)


def test_a_text_is_found_in_whatever_characters_it_is_spelt(texts: list[str]) -> None:
    """Queries come as they were typed, or as the ledger folds them (NFKC)."""
    odd, baseline = "½ cup of ﬂour", "1⁄2 cup of flour"
    for own in (odd, baseline):
        table = build([*texts, own], tracks=4, cell=4)
        for queries in (odd, baseline, baseline.upper(), "½ cup  of flour"):
            match = table.locate([queries])[0]
            assert (match.nearest, match.cosine) == (len(texts), 1.0)


def test_another_text_is_at_the_address_of_the_nearest(table: Table) -> None:
    match = table.locate(["skin rare tumour treatment"])[0]
    assert table.texts[match.nearest] == "skin rare tumour"
    assert (match.address, match.track) == (
        table.addresses[match.nearest],
        table.tracks[match.nearest],
    )
    assert 0.5 < match.cosine < 1
    assert table.locate(["Skin rare TUMOUR"])[0].cosine == 1


def test_all_members_of_a_group_send_the_same_k_texts(table: Table) -> None:
    for address in range(table.L):
        members = [table.texts[i] for i in table.members(address)]
        texts = {table.group(int(a)) for a in table.address(members)}
        assert texts == {table.group(address)}
        assert len(table.group(address)) == table.k == 4
        assert all(text.strip() for text in table.group(address))
        assert table.find(table.group(address)[::-1]) == address
    assert table.find(["something else"]) == -1


def test_tracks_are_topics_and_mirror_each_other(table: Table) -> None:
    topics = [text.split()[0] for text in table.texts]
    for track in range(table.k):
        own = [topics[i] for i in np.flatnonzero(table.tracks == track)]
        assert max(map(own.count, set(own))) >= 0.9 * len(own)
    # neighbours in one track have near addresses: cells of one half of the tree stay together
    half = table.L // 2
    vectors = table.vectors.astype(np.float64)
    for track in range(table.k):
        of = table.tracks == track
        low, high = (
            vectors[of & side] for side in (table.addresses < half, table.addresses >= half)
        )
        inside = np.mean([(part @ part.T).mean() for part in (low, high)])
        assert inside > (low @ high.T).mean()


def test_the_words_of_a_cell_are_those_that_say_most(table: Table) -> None:
    for address, track in itertools.product(range(table.L), range(table.k)):
        words = set(table.group(address)[track].split())
        members = [set(table.texts[i].split()) for i in table.members(address, track)]
        assert words <= set.union(*members)
        assert len(words) <= 24
    few = build(list(table.texts), tracks=4, cell=4, words=2)
    assert {len(text.split()) for text in few.cells} == {2}
    middle = build(list(table.texts), tracks=4, cell=4, words=0)
    assert set(middle.cells) <= set(middle.texts)
    single = build(list(table.texts), tracks=4, cell=1)
    assert set(single.cells) == set(single.texts)


def test_the_same_universe_gives_the_same_table(texts: list[str], table: Table) -> None:
    again = build(texts, tracks=4, cell=4)
    assert again.digest == table.digest
    assert build(texts, tracks=4, cell=5).digest != table.digest
    assert build(Universe.of(texts, "x"), 4, 4, vectors=table.vectors).digest == table.digest


def test_risk_is_that_of_brute_force(table: Table) -> None:
    for guesses in (1, 3, 10):
        right = sum(min(guesses, len(table.members(address))) for address in range(table.L)) / len(
            table
        )
        assert table.risk(guesses=guesses) == pytest.approx(right)
    assert table.risk(1_000) == bound(table.L, 1_000) == 10 * table.L / 1_000
    assert bound(9, 4) == 1
    groups, weights = np.array([0, 0, 1, 1, 1]), np.array([4.0, 1, 2, 2, 1])
    assert exact_risk(groups, 1, weights) == pytest.approx((4 + 2) / 10)
    assert exact_risk(groups, 2, weights) == pytest.approx((5 + 4) / 10)
    with pytest.raises(ParameterError, match="at least one guess"):
        exact_risk(groups, 0)
    with pytest.raises(ParameterError, match="at least one guess"):
        bound(3, 0)
    for bad in ([0.0] * 5, [-1.0, 1, 1, 1, 1], [np.nan, 1, 1, 1, 1], [np.inf, 1, 1, 1, 1], [1.0]):
        with pytest.raises(ParameterError, match="weights"):
            exact_risk(groups, 1, np.array(bad))


def test_popular_texts_share_a_group_with_popular_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("veil.cover.builder._ROUNDS", 1)  # any tracks will do
    monkeypatch.setattr("veil.cover.builder._PRICED", 3)
    n, k, b = 18_097, 20, 10
    weights = 1.0 / np.arange(1, n + 1)
    vectors = np.random.default_rng(0).normal(size=(n, 4)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    counts = np.maximum(1, 1_000_000 * weights).astype(int)
    texts = [f"text {i}" for i in range(n)]

    def groups(universe: Universe) -> Ids:
        _, address, reference = _groups(universe, vectors, k, b, 0, no_progress)
        assert address.max() + 1 == len(reference) // k
        return address

    even = groups(Universe.of(texts))
    banded = groups(Universe.of(dict(zip(texts, counts.tolist(), strict=True))))
    single = weights.max() / weights.sum()
    assert single == pytest.approx(0.096, abs=0.001)
    assert exact_risk(even, 1, weights) == pytest.approx(0.438, abs=0.05)
    assert exact_risk(banded, 1, weights) == pytest.approx(0.099, abs=0.002)


def test_bands_double() -> None:
    counts = np.r_[np.full(10, 9), np.arange(1, 100)]
    result = bands(counts, 10)
    assert [len(band) for band in result] == [10, 10, 20, 40, 29]
    assert sorted(np.concatenate(result).tolist()) == list(range(len(counts)))
    for item, other in itertools.pairwise(result):
        assert counts[item].min() >= counts[other].max()
    assert [len(band) for band in bands(np.full(50, 3), 10)] == [50]
    assert [len(band) for band in bands(np.arange(24), 10)] == [10, 14]


def test_balanced_fills_every_column() -> None:
    near = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    near[:, 0] += 3  # all want the first
    result = balanced(near, sizes(50, 3))
    assert np.bincount(result).tolist() == [17, 17, 16]
    best = near[np.arange(50), result].sum()
    for _ in range(200):
        other = np.random.default_rng(_).permutation(result)
        assert near[np.arange(50), other].sum() <= best + 1e-6


def test_one_track_and_one_group(texts: list[str]) -> None:
    table = build(texts, tracks=1, cell=128)
    assert (table.L, table.bits, table.risk(128)) == (1, 0.0, 10 / 128)


def test_saved_and_opened(table: Table, tmp_path: Path) -> None:
    table.save(tmp_path / "t")
    again = load(tmp_path / "t")
    assert again.digest == table.digest
    assert (again.k, again.L, again.bits, again.cell) == (table.k, table.L, table.bits, 4)
    assert np.array_equal(again.address(list(table.texts)), table.addresses)
    assert load(str(tmp_path / "t"), cell=4) is again
    with pytest.raises(ParameterError, match="must be 4. Got 5"):
        load(tmp_path / "t", cell=5)
    with pytest.raises(InputError, match="already exists"):
        table.save(tmp_path / "t")


def flip(folder: Path) -> None:
    data = bytearray((folder / "addresses.npy").read_bytes())
    data[-1] ^= 1
    (folder / "addresses.npy").write_bytes(data)


def another_version(folder: Path) -> None:
    meta = json.loads((folder / "meta.json").read_text())
    (folder / "meta.json").write_text(json.dumps({**meta, "version": 99}))


def fewer_groups(folder: Path) -> None:
    meta = json.loads((folder / "meta.json").read_text())
    meta["facts"]["groups"] = 1
    (folder / "meta.json").write_text(json.dumps(meta))


def cut(folder: Path) -> None:
    (folder / "cell-blob.npy").write_bytes((folder / "cell-blob.npy").read_bytes()[:-3])


@pytest.mark.parametrize("spoil", [flip, another_version, fewer_groups, cut])
def test_a_table_that_is_not_whole_is_refused(
    table: Table, tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    table.save(tmp_path / "t")
    spoil(tmp_path / "t")
    with pytest.raises(InputError, match="must be intact and of this version"):
        load(tmp_path / "t")


def test_what_is_no_table_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist. Build a table"):
        load(tmp_path / "none")
    with pytest.raises(InputError, match="must be a table"):
        load(tmp_path)


def test_another_model_of_the_same_name_is_refused(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.cover.conftest import Bag

    class Other(Bag):
        key = "newer"

    monkeypatch.setattr("veil.cover.table.open_encoder", lambda spec: Other())
    table._opened.clear()
    with pytest.raises(InputError, match="must be searched with the version of the encoder"):
        table.address(["something new"])


def test_an_encoder_on_a_network_is_refused(
    texts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.cover.conftest import Bag

    class Remote(Bag):
        network = True

    monkeypatch.setattr("veil.cover.table.open_encoder", lambda spec: Remote())
    with pytest.raises(ParameterError, match="because it sees the queries"):
        build(texts, tracks=4, cell=4)


def test_bad_requests(table: Table, texts: list[str]) -> None:
    for address in (-1, table.L):
        with pytest.raises(ParameterError, match="an integer from 0 to"):
            table.group(address)
    with pytest.raises(InputError, match="into a list"):
        table.address("skin")
    with pytest.raises(InputError, match="must be a string"):
        table.address([3])  # type: ignore[list-item]
    for bad in ({"tracks": 0}, {"cell": 0}, {"words": -1}, {"cell": True}, {"tracks": 2.0}):
        with pytest.raises(ParameterError, match=f"The '{next(iter(bad))}' of a table"):
            build(texts, **bad)
    with pytest.raises(InputError, match="for 20 tracks with cells of 10. Got 128 instead"):
        build(texts)
    with pytest.raises(InputError, match="must have shape"):
        build(texts, 4, 4, vectors=table.vectors[1:])


@pytest.mark.parametrize("groups", [2, 3, 5, 7, 8])
def test_groups_that_are_sent_together(table: Table, groups: int) -> None:
    wide = table.wide(groups)
    assert (wide.k, wide.L) == (4 * groups, -(-8 // groups))
    members = np.bincount(wide.addresses, minlength=wide.L)
    assert members.max() - members.min() <= 16  # texts of one group: no block hides less than told
    assert len({wide.group(address) for address in range(wide.L)}) == wide.L
    assert len(wide.cells) == wide.k * wide.L
    for address in range(wide.L):
        assert len(wide.group(address)) == wide.k
        for member in wide.members(address):
            own = table.group(int(table.addresses[member]))
            assert set(own) <= set(wide.group(address))
            assert wide.group(address)[int(wide.tracks[member])] == own[int(table.tracks[member])]
    assert np.array_equal(wide.address(list(table.texts)), wide.addresses)
    assert wide.risk() <= table.risk()
    assert wide.even == (8 % groups == 0)


def test_neighbouring_groups_are_spread_evenly_over_the_blocks() -> None:
    assert blocks(9, 4).starts == (0, 3, 5)
    assert blocks(9, 4).of.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    for whole, groups in itertools.product(range(1, 40), range(1, 40)):
        if groups > whole:
            continue
        result = blocks(whole, groups)
        sizes_ = np.bincount(result.of)
        assert len(sizes_) == len(result.starts) == len(set(result.starts)) == -(-whole // groups)
        assert sizes_.max() - sizes_.min() <= 1
        inside = np.arange(whole) - np.array(result.starts)[result.of]
        assert inside.min() >= 0
        assert inside.max() < groups
        assert result.starts[-1] + groups <= whole


def test_no_more_groups_than_there_are(table: Table) -> None:
    assert table.wide(1) is table
    for bad in (0, 9):
        with pytest.raises(ParameterError, match="from 1 to 8"):
            table.wide(bad)
