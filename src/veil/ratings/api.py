"""Functions on files of ratings; the commands and the HTTP interface come from them."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from veil import ratings
from veil.core.errors import InputError, ParameterError
from veil.core.estimate import Estimate
from veil.core.formatting import count_of
from veil.core.verb import Columns, File, NewFile, Reply, Sheet, SpecOf
from veil.ratings.attack import Attack, format_attack
from veil.ratings.attacks import ATTACKS
from veil.ratings.mechanisms import MECHANISMS
from veil.ratings.ratings import Ratings, Scale
from veil.ratings.ratings import describe as describe_ratings
from veil.ratings.reader import load
from veil.ratings.recommender import Model, Recommender
from veil.ratings.recommenders import recommender
from veil.ratings.recommenders.kernels import SLOWER, compiled_at_hand
from veil.ratings.release import (
    SEEDED,
    Release,
    card_of,
    link_profiles,
    open_model,
    read_card,
    read_release,
    require_writable,
    save,
    save_model,
    write_ratings,
)

_REPLACED = "The output would replace the input. Name another file."
_LINKED = (
    "No file links profiles to users, so guesses are scored by the profile that is most similar to"
    " all ratings of a user."
)
_FILES = (".csv", ".gz", ".tsv", ".parquet", ".jsonl")


def describe(source: File, *, scale: Scale | None = None, columns: Columns = ()) -> Reply:
    """Show the number of ratings, users and items in SOURCE and their spread, but no ids.

    Parameters
    ----------
    source
        Ratings: a table with columns user, item, rating and perhaps time.
    scale
        Lowest and highest possible rating.  [default: the observed ones]
    columns
        Names of the columns for user, item, rating and perhaps time, separated by commas.
    """
    summary = describe_ratings(load(source, scale, columns or None))
    low, high = summary.scale
    rows = [
        ("ratings", f"{summary.ratings:,}"),
        ("users", f"{summary.users:,}"),
        ("items", f"{summary.items:,}"),
        ("filled", f"{summary.filled:.2%}"),
        ("scale", f"{low:g} to {high:g}, {'declared' if summary.declared else 'as observed'}"),
        ("distinct ratings", f"{summary.levels:,}"),
        ("mean", f"{summary.mean:.3f}"),
        ("ratings per user", _spread(summary.per_user)),
        ("ratings per item", _spread(summary.per_item)),
        ("times", "yes" if summary.timed else "no"),
    ]
    lines: list[str | Sheet] = [Sheet(("what", "value"), rows)]
    if not summary.declared:
        lines.append("The scale is the observed one; private mechanisms need --scale LOW HIGH.")
    data = {"ratings": summary.ratings, "users": summary.users, "items": summary.items,
            "filled": summary.filled, "scale": [low, high], "declared": summary.declared,
            "levels": summary.levels, "mean": summary.mean, "per_user": list(summary.per_user),
            "per_item": list(summary.per_item), "timed": summary.timed}  # fmt: skip
    return Reply(lines, data=data)


def split(
    source: File,
    *,
    train: NewFile,
    test: NewFile,
    fraction: float = 0.2,
    salt: int = 0,
    by: Literal["hash", "time"] = "hash",
    scale: Scale | None = None,
    columns: Columns = (),
) -> Reply:
    """Split the ratings of SOURCE into two files; the order of its rows does not matter.

    Parameters
    ----------
    source
        Ratings: a table with columns user, item, rating and perhaps time.
    train
        CSV file to write, for training.
    test
        CSV file to write, for testing.
    fraction
        Share of the ratings in the test part.
    salt
        Another number gives another split.
    by
        'hash' splits by user and item, 'time' puts all ratings from one instant on into the test.
    scale
        Lowest and highest possible rating.  [default: the observed ones]
    columns
        Names of the columns for user, item, rating and perhaps time, separated by commas.
    """
    if len({path.resolve() for path in (source, train, test)}) < 3:
        raise InputError(_REPLACED)
    parts = ratings.split(load(source, scale, columns or None), fraction, salt, by)
    for part, path in zip(parts, (train, test), strict=True):
        write_ratings(part, path)
    sizes = [len(part) for part in parts]
    notes = [
        f"{path.name}: {count_of(size, 'rating')}"
        for path, size in zip((train, test), sizes, strict=True)
    ]
    return Reply(notes=notes, data={"train": sizes[0], "test": sizes[1]})


def fit(
    train: File,
    *,
    mechanism: Annotated[str, SpecOf("veil.ratings.recommenders:RECOMMENDERS")],
    out: NewFile,
    positive: float | None = None,
    items: File | None = None,
    describe_by: Columns = (),
    catalogue: File | None = None,
    scale: Scale | None = None,
    columns: Columns = (),
    seed: int | None = None,
) -> Reply:
    """Fit a recommender to the ratings of TRAIN and write the model to OUT.

    Parameters
    ----------
    train
        Ratings to learn from.
    mechanism
        Spec of a recommender, private or not, for example itemknn(k=20).
    out
        Model file to write (.npz).
    positive
        Lowest rating that counts as a like.  [default: three quarters up the scale]
    items
        Table of the items, for 'content'.
    describe_by
        Columns of that table that describe an item, separated by commas.
    catalogue
        Table of all items that exist, rated or not.
    scale
        Lowest and highest possible rating.  [default: the observed ones]
    columns
        Names of the columns for user, item, rating and perhaps time, separated by commas.
    seed
        Makes the noise reproducible, for experiments: NOT PRIVATE.
    """
    learner = recommender(mechanism)
    data = load(train, scale, columns or None, catalogue)
    model = _fit(learner, data, positive, seed, items, describe_by)
    save_model(model, out)
    notes = [] if compiled_at_hand() else [SLOWER]
    seeded = (SEEDED,) if model.seeded and model.guarantee.kind != "none" else ()
    limits = [text for text in (model.guarantee.caveat, *model.notes, *seeded) if text]
    return Reply(
        [str(model.guarantee), *limits],
        [*notes, f"{out.name}: {model.spec}"],
        data={"model": model.spec, "guarantee": str(model.guarantee), "limits": limits},
    )


def recommend(
    model: File,
    *,
    of: File,
    user: tuple[str, ...],
    k: Annotated[int, Field(ge=1)] = 10,
    catalogue: File | None = None,
    columns: Columns = (),
) -> Reply:
    """List the best items of MODEL for users, without the items they rated in training.

    Parameters
    ----------
    model
        File written by 'veil ratings fit'.
    of
        Ratings that the model was trained on.
    user
        Id of a user; repeatable.
    k
        Number of items to list.
    catalogue
        Table of all items that exist, if the model was trained with one.
    columns
        Names of the columns for user, item, rating and perhaps time, separated by commas.
    """
    ranking = open_model(model, of, columns or None, catalogue).recommend(user, k)
    rows: list[tuple[str, ...]] = []
    lists: dict[str, list[dict[str, object]]] = {}
    for row, name in enumerate(user):
        owner = (name,) if len(user) > 1 else ()
        scores = ranking.scores[row].tolist()
        for rank, item in enumerate(ranking.list(row), start=1):
            score = scores[rank - 1]
            rows.append((*owner, str(rank), item, f"{score:.4f}"))
            lists.setdefault(name, []).append({"item": item, "score": score})
    heads = ("user", "rank", "item", "score")
    return Reply([Sheet(heads if len(user) > 1 else heads[1:], rows)], data=lists)


def evaluate(
    model: File,
    test: File,
    *,
    of: File,
    k: Annotated[int, Field(ge=1)] = 10,
    measures: Columns = (),
    catalogue: File | None = None,
    columns: Columns = (),
) -> Reply:
    """Measure the lists and predictions of MODEL on the ratings of TEST, with intervals.

    Parameters
    ----------
    model
        File written by 'veil ratings fit'.
    test
        Held-out ratings of the same users.
    of
        Ratings that the model was trained on.
    k
        Length of the lists.
    measures
        Names of measures, separated by commas.  [default: all]
    catalogue
        Table of all items that exist, if the model was trained with one.
    columns
        Names of the columns for user, item, rating and perhaps time, separated by commas.
    """
    fitted = open_model(model, of, columns or None, catalogue)
    scores = ratings.evaluate(fitted, load(test, columns=columns or None), k, measures or None)
    rows = [(name, *_figures(scores[name])) for name in scores]
    says = (
        f"Lists of {k} for {len(scores.users):,} users; {scores.left_out:,} users without a"
        f" relevant item are left out. {scores.pairs:,} ratings were predicted. Intervals: 95 %,"
        " over users."
    )
    values = {name: _interval(scores[name]) for name in scores}
    data = {"model": fitted.spec, "k": scores.k, "users": len(scores.users),
            "left_out": scores.left_out, "pairs": scores.pairs, "measures": values}  # fmt: skip
    return Reply([Sheet(("measure", "value", "low", "high"), rows), says], data=data)


def protect(
    source: File,
    *,
    mechanism: str,
    out: NewFile,
    scale: Scale | None = None,
    columns: Columns = (),
    catalogue: File | None = None,
    seed: int | None = None,
) -> Reply:
    """Protect the ratings of SOURCE and write them to OUT under random user ids.

    The new ids determine the row order and are recorded nowhere else. A card (OUT.veil.json)
    records the mechanism, what is proved, what is not, and whether a seed was used.

    Parameters
    ----------
    source
        Ratings: a table with columns user, item, rating and perhaps time.
    mechanism
        Spec of the mechanism, for example kprofiles(k=10).
    out
        CSV file to write.
    scale
        Lowest and highest possible rating; private mechanisms need it.
    columns
        Names of the columns for user, item, rating and perhaps time, separated by commas.
    catalogue
        Table of all items that exist, rated or not.
    seed
        Makes the noise reproducible, for experiments: NOT PRIVATE.
    """
    require_writable(out)
    if source.resolve() in (out.resolve(), card_of(out).resolve()):
        raise InputError(_REPLACED)
    parsed = MECHANISMS.parse(mechanism)
    if isinstance(parsed, Recommender):
        raise InputError(
            f"{parsed.name} releases a model instead of ratings. Use veil ratings fit FILE"
            f" -m '{parsed.name}(...)' -o model.npz."
        )
    release = ratings.protect(load(source, scale, columns or None, catalogue), parsed, seed)
    save(release, out)
    cost, released = release.cost, release.data
    assert released is not None  # noqa: S101 - the mechanism releases no model
    size = f"{count_of(len(released), 'rating')} of {count_of(released.n, 'user')}"
    return Reply(
        notes=[f"{out.name}: {size}.", f"{release.mechanism}: {cost}.", card_of(out).name],
        cautions=[text for text in (cost.caveat, *release.notes) if text],
        data={"ratings": len(released), "users": released.n, "mechanism": release.mechanism,
              "guarantee": str(cost), "caveat": cost.caveat, "seeded": release.seeded},
    )  # fmt: skip


def attack(
    target: File | str,
    *,
    of: File,
    attack: tuple[str, ...],
    mechanism: str | None = None,
    scale: Scale | None = None,
    columns: Columns = (),
    positive: float | None = None,
    people: File | None = None,
    seed: int | None = None,
) -> Reply:
    """Attack TARGET and report the success of each attack, in counts only.

    TARGET is a released file, or a spec such as "kprofiles(k=10)" or "itemknn(k=20)", which is
    applied to the original first.

    Parameters
    ----------
    target
        Released ratings, or the spec of a mechanism or recommender.
    of
        The original ratings, which score the guesses.
    attack
        Spec of the attack, for example scoreboard(known=8, wrong=2); repeatable.
    mechanism
        Mechanism that produced TARGET, for 'bayes'.  [default: from its card]
    scale
        Lowest and highest possible rating.  [default: the observed ones]
    columns
        Names of the columns of the original for user, item, rating and perhaps time, separated
        by commas.
    positive
        Lowest rating that counts as a like.  [default: three quarters up the scale]
    people
        Table of users, for attribute(column=...).
    seed
        Makes random attacks reproducible.
    """
    attackers = [ATTACKS.parse(spec) for spec in attack]
    truth = load(of, scale, columns or None)
    lines: list[str] = []
    notes: list[str] = []
    data: dict[str, object] = {}
    for attacker in attackers:
        release, linked = _target(str(target), truth, mechanism, attacker)
        outcome = ratings.attack(release, truth, attacker, seed, positive=positive, people=people)
        lines += format_attack(outcome, attacker.brief)
        notes += [_LINKED] if linked and _LINKED not in notes else []
        data[attacker.brief] = {
            "success": _interval(outcome.success), "baseline": outcome.baseline,
            "risk": _interval(outcome.risk), "details": dict(outcome.details),
        }  # fmt: skip
    return Reply(lines, notes, data=data)


def _fit(
    learner: Recommender,
    data: Ratings,
    positive: float | None,
    seed: int | None,
    items: Path | None,
    describe_by: tuple[str, ...],
) -> Model:
    from veil.ratings.recommenders.content import Content  # reads texts

    if isinstance(learner, Content):
        described = describe_by or None
        return learner.fit(data, positive=positive, rng=seed, items=items, columns=described)
    if items is not None or describe_by:
        raise ParameterError("Only content takes --items and --describe-by. Leave them out.")
    return learner.fit(data, positive=positive, rng=seed)


def _target(
    target: str, truth: Ratings, mechanism: str | None, attacker: Attack
) -> tuple[Release | str, bool]:
    """Return the release or spec to attack, and whether its profiles were linked by similarity."""
    path = Path(target)
    if not path.is_file():
        if "/" in target or target.endswith(_FILES):
            raise InputError(f"The file {target} does not exist.")
        return target, False
    if attacker.fits:
        raise InputError(
            f"{attacker.name} needs a spec such as kprofiles(k=10) instead of a file: it protects"
            " a part of the users itself."
        )
    spec = mechanism or read_card(path).mechanism
    release = replace(read_release(path), mechanism=str(MECHANISMS.parse(spec)) if spec else "")
    assert release.data is not None  # noqa: S101 - a file holds ratings
    if set(release.data.users) & set(truth.users):
        return release, False
    return replace(release, rows=link_profiles(release.data, truth)), True


def _figures(value: Estimate) -> tuple[str, str, str]:
    return f"{float(value):.4f}", f"{value.low:.4f}", f"{value.high:.4f}"


def _interval(value: Estimate) -> Mapping[str, float]:
    return {"value": float(value), "low": value.low, "high": value.high}


def _spread(counts: tuple[int, float, int]) -> str:
    least, median, most = counts
    return f"{least:,} to {most:,}, median {median:,g}"
