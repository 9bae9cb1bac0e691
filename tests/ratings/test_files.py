"""A private model is opened as it was released: to learn it again would be another release."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.ratings.taste import people, written

from veil.core.errors import InputError
from veil.ratings import load, recommender
from veil.ratings.release import open_model, save_model

PRIVATE = (
    "dppopularity(epsilon=1)",
    "dpals(epsilon=1, delta=0.001)",
    "dpcovariance(epsilon=1, delta=0.001, factors=2, clip=5)",
    "federated(rounds=2, sample=1.0, delta=0.001)",
)


@pytest.mark.parametrize("spec", PRIVATE)
def test_what_was_drawn_is_kept_and_not_drawn_again(spec: str, tmp_path: Path) -> None:
    path = written(tmp_path, people(n=150))
    data = load(path, scale=(1, 5))
    model = recommender(spec).fit(data)
    save_model(model, tmp_path / "model.npz")
    again = open_model(tmp_path / "model.npz", path)
    everybody = np.arange(data.n)
    assert np.array_equal(again.scores(everybody), model.scores(everybody))
    assert again.guarantee == model.guarantee
    assert not np.array_equal(  # it does draw
        recommender(spec).fit(data).scores(everybody), model.scores(everybody)
    )


@pytest.mark.parametrize("spec", PRIVATE)
def test_the_file_of_a_private_model_is_made_of_what_was_released(
    spec: str, tmp_path: Path
) -> None:
    data = people(n=150)
    selection = recommender(spec)
    model = selection.fit(data)
    fewer = selection.restore(data.of_users(np.arange(1, data.n)), model.positive, model.state())
    save_model(model, tmp_path / "all.npz")
    save_model(fewer, tmp_path / "fewer.npz")
    assert (tmp_path / "all.npz").read_bytes() == (tmp_path / "fewer.npz").read_bytes()


@pytest.mark.parametrize("spec", PRIVATE)
def test_a_private_model_serves_anybody_who_rated_its_items(spec: str, tmp_path: Path) -> None:
    data = people(n=150)
    model = recommender(spec).fit(data)
    save_model(model, tmp_path / "model.npz")
    (tmp_path / "items.csv").write_text("item\n" + "".join(f"{entry}\n" for entry in data.items))
    mine = tmp_path / "mine.csv"
    mine.write_text(f"user,item,rating\nme,{data.items[0]},5\nme,{data.items[1]},1\n")
    opened = open_model(tmp_path / "model.npz", mine, catalogue=tmp_path / "items.csv")
    assert not {data.items[0], data.items[1]} & set(opened.recommend(["me"], 5).list(0))
    assert opened.guarantee == model.guarantee
    assert opened.notes == tuple(entry for entry in model.notes if "public" not in entry)
    with pytest.raises(InputError, match="other ratings or items"):
        open_model(tmp_path / "model.npz", mine)


def test_what_a_file_claims_of_a_model_without_privacy_is_not_believed(tmp_path: Path) -> None:
    path = written(tmp_path, people(n=20))
    save_model(recommender("mean").fit(load(path, scale=(1, 5))), tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz") as found:
        meta = json.loads(found["meta"].tobytes())
    meta["guarantee"] |= {"kind": "dp", "epsilon": 0.1}
    text = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)
    np.savez(tmp_path / "model.npz", meta=text)
    assert open_model(tmp_path / "model.npz", path).guarantee.kind == "none"
