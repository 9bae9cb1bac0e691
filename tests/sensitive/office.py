"""A small office: mails about work and about private life, written on the spot."""

import json
from pathlib import Path

import numpy as np

from veil import sensitive
from veil.sensitive.collection import SensitiveCollection

WORK = (
    "contract pipeline market price meeting budget schedule report gas power trading forecast"
    " invoice capacity storage delivery supplier margin audit legal"
).split()
LIFE = (
    "dinner weekend mother birthday love doctor holiday kids party beach wedding hospital secret"
    " girlfriend marriage funeral pregnant hug dog lonely"
).split()
PERSON = "Zebulon Quux"  # in every private mail, and in no message or report of ours
NIGHT, DAY = "Sat, 8 Dec 2001 20:33:06 -0800", "Mon, 10 Dec 2001 10:00:00 -0800"
N, TOPICS = 120, 6


def written(folder: Path, n: int = N, seed: int = 3) -> Path:
    """Write docs, queries, judgements and labels of the office into a folder."""
    rng = np.random.default_rng(seed)
    labels = (np.arange(n) % 4 == 1).astype(int)
    docs, words = [], []
    for number, label in enumerate(labels.tolist()):
        own = rng.choice(LIFE, 7).tolist() if label else []
        own += rng.choice(WORK, 9).tolist()
        words.append(own)
        docs.append({
            "id": f"m{number}",
            "title": f"Re: {own[0]}" if number % 3 else "",
            "text": " ".join(own) + (f" {PERSON}!" if label else f" file{number}.doc"),
            "date": NIGHT if label else DAY,
            "from": "a@office.com",
            "recipients": 1 if label else 4,
        })  # fmt: skip
    queries, qrels = [], []
    for topic in range(TOPICS):
        pair = WORK[2 * topic : 2 * topic + 2]
        for form, text in enumerate((" ".join(pair), f"the {pair[0]}")):
            name = f"{topic}-{form}"
            queries.append({"id": name, "text": text, "topic": str(topic)})
            for number, own in enumerate(words):
                grade = sum(word in own for word in pair)
                if grade or rng.random() < 0.2:
                    qrels.append(f"{name} 0 m{number} {grade}")
    (folder / "docs.jsonl").write_text("\n".join(map(json.dumps, docs)))
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    (folder / "qrels.txt").write_text("\n".join(qrels))
    rows = [f"m{number}\t{label}\t1.{label}" for number, label in enumerate(labels.tolist())]
    (folder / "sensitivity.tsv").write_text("\n".join(["id\tsensitive\tcategories", *rows]))
    return folder


def office(folder: Path) -> SensitiveCollection:
    """Return the office as a collection."""
    return sensitive.load(written(folder))
