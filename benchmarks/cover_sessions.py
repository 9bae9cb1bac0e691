"""Print what a session of related queries gives away, and what its later queries still find.

icd10cm, universe = its whole log. A session is a walk on the graph of the ten nearest queries of
the log. The attacker knows the table, the graph, the rule and the number of queries: the figures
are its exact posterior of the first query (within ten guesses) and how often the likeliest track
is the true one. What the last query of a session finds: nDCG@10 of the judged queries, each after
a walk that ends beside it, ordered by minilm over all that was fetched.

``stay``
    Nothing is sent while a query is near some text of the group that was sent last.
``local``
    Nothing is sent after the first query.
``hold``
    Later queries are looked up in the track of the first, in one part of its tree.
``prefetch``
    All groups of that part of the tree are sent at the first query, and nothing later.
"""

import argparse
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from benchmarks.cover_common import (
    WORK,
    Field,
    Flags,
    Floats,
    Ids,
    Singles,
    judged,
    shown,
    table_of,
    vectors_of,
)
from benchmarks.report import Report

import veil
from veil.cover import Table

SEED, NEIGHBOURS = 20261118, 10
Kind = Literal["none", "stay", "local", "hold", "prefetch"]


def graph(vectors: Singles) -> Ids:
    """Return the nearest other queries (n, 10) of each query."""
    out = np.empty((len(vectors), NEIGHBOURS), dtype=np.int64)
    for start in range(0, len(vectors), 1024):
        near = vectors[start : start + 1024] @ vectors.T
        near[np.arange(len(near)), np.arange(start, start + len(near))] = -2
        out[start : start + 1024] = np.argpartition(-near, NEIGHBOURS, axis=1)[:, :NEIGHBOURS]
    return out


def branches(leaves: int, depth: int) -> Ids:
    """Return the part of the tree (leaves,) that each address is in, at a depth."""
    out = np.zeros(leaves, dtype=np.int64)
    number = 0

    def cut(first: int, last: int, left: int) -> None:
        nonlocal number
        if not left or last - first == 1:
            out[first:last] = number
            number += 1
            return
        middle = first + (last - first) // 2
        cut(first, middle, left - 1)
        cut(middle, last, left - 1)

    cut(0, leaves, depth)
    return out


@dataclass(frozen=True, eq=False)
class Room:
    """A table, and how near queries are to each of its cells: the log first, then the judged."""

    table: Table
    vectors: Singles
    log: int

    @cached_property
    def cells(self) -> Singles:
        """Cosine (n, L, k) of each query to the nearest text of each cell."""
        table = self.table
        key = table.addresses * table.k + table.tracks
        order = np.argsort(key, kind="stable")
        starts = np.searchsorted(key[order], np.arange(table.L * table.k))
        texts = np.asarray(table.vectors)[order]
        out = np.empty((len(self.vectors), table.L * table.k), dtype=np.float16)
        for start in range(0, len(self.vectors), 512):
            near = self.vectors[start : start + 512] @ texts.T
            out[start : start + 512] = np.maximum.reduceat(near, starts, axis=1)
        return out.reshape(len(self.vectors), table.L, table.k).astype(np.float32)

    @cached_property
    def near(self) -> Singles:
        """Cosine (n, L) to the nearest text of a group, in whatever track."""
        near: Singles = self.cells.max(axis=2)
        return near

    @cached_property
    def home(self) -> tuple[Ids, Ids]:
        """Address and track (n,) of each query."""
        places = np.empty(len(self.vectors), dtype=np.int64)
        for start in range(0, len(self.vectors), 1024):
            near = self.vectors[start : start + 1024] @ self.table.vectors.T
            places[start : start + 1024] = near.argmax(axis=1)
        return self.table.addresses[places], self.table.tracks[places]


class Rule:
    """What a client sends for the queries of a session."""

    def __init__(self, kind: Kind, room: Room, stay: float = 0.0, depth: int = 0) -> None:
        self.kind, self.room, self.stay = kind, room, stay
        self.parts = branches(room.table.L, depth)
        self._memo: dict[tuple[int, tuple[int, ...]], Ids] = {}

    def first(self, places: Ids | int) -> Ids:
        """Return what is sent first: an address, or a part of the tree."""
        address = self.room.home[0][places]
        return self.parts[address] if self.kind == "prefetch" else address

    def later(self, track: int, sent: tuple[int, ...]) -> Ids:
        """Return what each query (n,) would send next: an address, or -1 for nothing."""
        if self.kind != "hold":
            track = 0
        if (track, sent) not in self._memo:
            if len(self._memo) > 2_000:
                self._memo.clear()
            self._memo[track, sent] = self._later(track, sent)
        return self._memo[track, sent]

    def _later(self, track: int, sent: tuple[int, ...]) -> Ids:
        home = self.room.home[0]
        if self.kind in ("local", "prefetch"):
            return np.full(len(home), -1)
        known = np.isin(home, sent)
        if self.kind == "none":
            return np.where(known, -1, home)
        if self.kind == "stay":
            return np.where(known | (self.room.near[:, sent[-1]] >= self.stay), -1, home)
        leaves = np.flatnonzero(self.parts == self.parts[sent[0]])
        best = leaves[self.room.cells[:, leaves, track].argmax(axis=1)]
        return np.where(np.isin(best, sent), -1, best)

    def send(self, walk: Ids) -> tuple[list[tuple[int, ...]], list[int]]:
        """Return what was sent before each step, and what each later step sends."""
        track = int(self.room.home[1][walk[0]])
        history: list[tuple[int, ...]] = [(int(self.first(int(walk[0]))),)]
        steps: list[int] = []
        for place in walk[1:].tolist():
            step = int(self.later(track, history[-1])[place])
            steps.append(step)
            history.append(history[-1] + ((step,) if step >= 0 else ()))
        return history, steps


def attack(rule: Rule, near: Ids, walk: Ids) -> tuple[float, float, float]:
    """Return success within ten guesses, whether the track is right, and the share of steps sent.

    Equal candidates are named in a random order.
    """
    room, n = rule.room, rule.room.log
    history, steps = rule.send(walk)
    start = rule.first(np.arange(n)) == history[0][0]
    tracks = room.home[1][:n]
    chance = np.zeros(n)
    for track in range(room.table.k) if rule.kind == "hold" else (-1,):
        back = np.ones(n)
        for before, step in zip(history[-2::-1], steps[::-1], strict=True):
            back = (back * (rule.later(track, before)[:n] == step))[near].mean(axis=1)
        here = start & (tracks == track) if track >= 0 else start
        chance[here] = back[here]
    own = chance[walk[0]]
    better, equal = (chance > own * (1 + 1e-9)).sum(), np.isclose(chance, own, rtol=1e-9, atol=0)
    success = min(max(10 - int(better), 0), int(equal.sum())) / int(equal.sum())
    likeliest = np.bincount(tracks, chance, minlength=room.table.k).argmax()
    sent = float(np.mean([step >= 0 for step in steps])) if steps else 0.0
    return success, float(likeliest == tracks[walk[0]]), sent


def useful(rule: Rule, engine: Field, pools: Flags, walks: Ids) -> Floats:
    """Return nDCG@10 of the judged queries, each at the end of its walk."""
    fetched = []
    for walk in walks:
        sent = rule.send(walk)[0][-1]
        if rule.kind == "prefetch":
            fetched.append(pools[rule.parts == sent[0]].any(axis=0))
        else:
            fetched.append(pools[list(sent)].any(axis=0))
    return engine.ndcg(fetched)


def main() -> None:
    """Run all measurements and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--walks", type=int, default=80, help="sessions that are attacked")
    count = parser.parse_args().walks
    collection = veil.load_collection("icd10cm")
    engine = Field.of(collection, judged(collection))
    log = list(collection.log)
    vectors = vectors_of(log)
    both = np.concatenate([vectors, engine.queries])
    near, rng = graph(vectors), np.random.default_rng(SEED)
    walks = np.empty((count, 5), dtype=np.int64)
    walks[:, 0] = rng.integers(len(log), size=count)
    for step in range(1, 5):
        walks[:, step] = near[walks[:, step - 1], rng.integers(NEIGHBOURS, size=count)]
    ends = np.empty((len(engine.names), 5), dtype=np.int64)  # the judged query comes last
    ends[:, 4] = len(log) + np.arange(len(ends))
    beside = np.argsort(-(engine.queries @ vectors.T), axis=1)[:, :NEIGHBOURS]
    ends[:, 3] = beside[np.arange(len(ends)), rng.integers(NEIGHBOURS, size=len(ends))]
    for step in (2, 1, 0):
        ends[:, step] = near[ends[:, step + 1], rng.integers(NEIGHBOURS, size=len(ends))]
    WORK.mkdir(exist_ok=True)
    report = Report()
    print("Active risk / track right after 1, 2, 5 queries; share of later queries that send;")
    print("nDCG@10 of a second and of a fifth query. Track by chance: 0.05.")
    report.add("plain", shown(engine.plain()))
    rules: tuple[tuple[int, tuple[tuple[str, Kind, float, int], ...]], ...] = (
        (10, (
            ("no rule", "none", 0, 0),
            ("stay at 0.6", "stay", 0.6, 0),
            ("stay at 0.45", "stay", 0.45, 0),
            ("local search only", "local", 0, 0),
            ("hold to an 8th of the tree", "hold", 0, 3),
            ("hold to a 16th", "hold", 0, 4),
            ("hold to a 32nd", "hold", 0, 5),
            ("prefetch a 16th", "prefetch", 0, 4),
            ("prefetch a 32nd", "prefetch", 0, 5),
        )),
        (3, (("prefetch a 64th", "prefetch", 0, 6),)),
    )  # fmt: skip
    for cell, some in rules:
        table = table_of(log, vectors, cell=cell)
        room = Room(table, both, len(log))
        pools = np.stack([engine.pool(table.group(a)) for a in range(table.L)])
        for label, kind, stay, depth in some:
            rule = Rule(kind, room, stay, depth)
            risks = [np.mean([attack(rule, near, walk[:t]) for walk in walks], axis=0)
                     for t in (1, 2, 5)]  # fmt: skip
            groups = table.L / (rule.parts.max() + 1) if kind == "prefetch" else 1
            second = useful(rule, engine, pools, ends[:, 3:])
            fifth = useful(rule, engine, pools, ends)
            report.add(
                f"cells of {cell}, {label} ({groups * table.k:.0f} requests first)",
                " ".join(f"{risk[0]:.3f} / {risk[1]:.2f}," for risk in risks)
                + f" sends {risks[2][2]:.2f}, second {second.mean():.3f},"
                f" fifth {fifth.mean():.3f}",
            )
    text = report.table()
    (WORK / "cover_sessions.md").write_text(text + "\n", encoding="utf-8")
    print(f"\n{text}")


if __name__ == "__main__":
    main()
