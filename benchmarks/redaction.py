"""How much personal data patterns find, what they take for it, and what leaves with and without.

First the spellings of `benchmarks.spellings` in their contexts, and what is taken for personal
data in the texts of ``--texts FILE`` (one a line). Then generated data: right numbers of each
kind, each in sentences of the embedded collection.
What leaves counts the texts in whose release some piece of the personal data stands as it was.
"""

import random
import re
import sys
from collections import defaultdict
from pathlib import Path

from benchmarks.spellings import CONTEXTS, SPELLINGS, cases

import veil
from veil.text.redact.recognisers.digits import digits_of, luhn, mod97
from veil.text.redact.redactor import Patterns
from veil.text.redact.span import Span

EACH, PLAIN = 200, 2_000
BESIDE = (
    "12",
    "3 times",
    "12/27",
    "2024-05-06",
    "room 4",
    "1999",
    "10:30",
    "3.5",
    "100,000",
    "x2",
)
MECHANISMS = ("cmp(epsilon=5)", "cmp(epsilon=20)", "santext(epsilon=20)", "tem(epsilon=3)")


def _card(rng: random.Random) -> str:
    digits = [4, *(rng.randrange(10) for _ in range(14))]
    last = next(one for one in range(10) if luhn([*digits, one]))
    text = "".join(map(str, [*digits, last]))
    return " ".join(text[at : at + 4] for at in range(0, 16, 4)) if rng.random() < 0.5 else text


def _iban(rng: random.Random) -> str:
    body = "".join(str(rng.randrange(10)) for _ in range(18))
    check = 98 - mod97(f"{body}DE00")
    text = f"DE{check:02d}{body}"
    return " ".join(re.findall(".{1,4}", text)) if rng.random() < 0.5 else text


def _dni(rng: random.Random) -> str:
    number = rng.randrange(10**8)
    return f"{number:08d}{'TRWAGMYFPDXBNJZSQVHLCKE'[number % 23]}"


def _phone(rng: random.Random) -> str:
    digits = [str(rng.randrange(10)) for _ in range(9)]
    a, b, c = "".join(digits[:3]), "".join(digits[3:6]), "".join(digits[6:])
    shapes = (
        f"+39 {a} {b} {c}",
        f"({a}) {b}-{c}4",
        f"+44{a}{b}{c}",
        f"0{a} {b}{c}",
        f"{a}-{b}-{c}1",
    )
    return rng.choice(shapes)


def _date(rng: random.Random) -> str:
    day, month, year = rng.randint(1, 28), rng.randint(1, 12), rng.randint(1930, 2025)
    name = "January February March April May June July August September October November December"
    word = name.split()[month - 1]
    shapes = (
        f"{year}-{month:02d}-{day:02d}",
        f"{day}/{month}/{year}",
        f"{day} {word} {year}",
        f"{word} {day}, {year}",
        f"{day}.{month}.{year % 100:02d}",
    )
    return rng.choice(shapes)


def _email(rng: random.Random) -> str:
    names = ("ada", "j.doe", "maria_rossi", "x+y", "info")
    hosts = ("example.org", "mail.example.co.uk", "localhost")
    return f"{rng.choice(names)}{rng.randrange(100)}@{rng.choice(hosts)}"


def _ip(rng: random.Random) -> str:
    if rng.random() < 0.5:
        return ".".join(str(rng.randrange(256)) for _ in range(4))
    return ":".join(f"{rng.randrange(65536):x}" for _ in range(8))


MAKERS = {
    "EMAIL": _email,
    "IBAN": _iban,
    "ID": _dni,
    "CARD": _card,
    "IP": _ip,
    "DATE": _date,
    "PHONE": _phone,
}


def hides(patterns: Patterns, text: str, data: str) -> list[Span]:
    """Return the spans that hide the data as a whole."""
    start = text.index(data)
    return [s for s in patterns.spans(text) if s.start <= start and s.end >= start + len(data)]


def detection(sentences: list[str], rng: random.Random) -> list[tuple[str, str]]:
    """Print how often each kind is found whole; return texts with their personal data."""
    patterns, made = Patterns(), []
    aside = random.Random(1)  # noqa: S311 - of made-up data
    for kind, make in MAKERS.items():
        whole = named = crowded = 0
        for _ in range(EACH):
            data, sentence = make(rng), rng.choice(sentences)
            words = sentence.split()
            at = rng.randint(0, len(words))
            text = " ".join([*words[:at], data, *words[at:]])
            over = hides(patterns, text, data)
            whole += bool(over)
            crowd = f"{aside.choice(BESIDE)} {data} {aside.choice(BESIDE)}"
            crowded += bool(hides(patterns, crowd, data))
            named += any(span.kind == kind for span in over)
            made.append((text, data))
        print(
            f"{kind}: hidden whole {whole / EACH:.1%}, between other numbers"
            f" {crowded / EACH:.1%}, called by its kind {named / EACH:.1%}"
        )
    return made


def spelling_rates() -> dict[str, tuple[int, int, int]]:
    """Return for each kind how many cases are hidden whole, how many of these by name, and all."""
    patterns, rates = Patterns(), {}
    for kind in SPELLINGS:
        whole = named = total = 0
        for text, start, end in cases(kind):
            over = [span for span in patterns.spans(text) if span.start < end and span.end > start]
            hidden = {place for span in over for place in range(span.start, span.end)}
            total += 1
            if hidden >= set(range(start, end)):
                whole += 1
                named += any(span.kind == kind for span in over)
        rates[kind] = whole, named, total
    return rates


def spellings() -> None:
    """Print the rates of the spellings."""
    rates = spelling_rates()
    print(f"{sum(map(len, SPELLINGS.values()))} spellings in {len(CONTEXTS)} contexts:")
    sums = [sum(column) for column in zip(*rates.values(), strict=True)]
    for kind, (whole, named, total) in [*rates.items(), ("all", sums)]:
        print(
            f"{kind}: hidden whole {whole} of {total} ({whole / total:.1%}), called by its kind"
            f" {named / total:.1%}"
        )


def alarms(sentences: list[str]) -> None:
    """Print what is taken for personal data in texts without any."""
    found: dict[str, int] = defaultdict(int)
    for sentence in sentences:
        for span in Patterns().spans(sentence):
            found[span.kind] += 1
    told = ", ".join(f"{number} {kind}" for kind, number in sorted(found.items())) or "nothing"
    touched = sum(bool(Patterns().spans(sentence)) for sentence in sentences)
    print(f"in {len(sentences):,} texts: {told}; {touched / len(sentences):.2%} of them touched")


def leaving(texts: list[tuple[str, str]], spec: str) -> None:
    """Print in how many releases personal data stands as it was, and how often texts are found.

    The log holds all texts, many of which differ in their personal data alone.
    """
    space = veil.load_embeddings("glove-100d")
    originals = [text for text, _ in texts]
    pieces = [set(re.findall(r"\w{3,}", data.lower())) for _, data in texts]
    for redact in (None, "patterns"):
        released = veil.protect(
            originals, veil.mechanism(spec), space, select="all", redact=redact, rng=1
        )
        words = [set(re.findall(r"\w{3,}", row[0].lower())) for row in released]
        left = sum(bool(own & seen) for own, seen in zip(pieces, words, strict=True))
        ranks = veil.attack(released, originals, originals, "inference", encoder="minilm")
        told = "redacted first" if redact else "as it is"
        print(
            f"{spec}, {told}: a piece leaves in {left / len(texts):.1%} of the texts;"
            f" inference finds {float(veil.risk(ranks, 'lazy')):.1%} at once"
        )


def main() -> None:
    """Print all figures."""
    spellings()
    for name in sys.argv[2:] if sys.argv[1:2] == ["--texts"] else ():
        alarms(Path(name).read_text(encoding="utf-8").splitlines())
    rng = random.Random(20261118)  # noqa: S311 - of made-up data
    collection = veil.load_collection("icd10cm")
    sentences = [text for text in collection.queries.values() if not digits_of(text)][:PLAIN]
    texts = detection(sentences, rng)
    alarms(sentences)
    alarms(list(collection.log))
    for spec in MECHANISMS:
        leaving(texts, spec)


if __name__ == "__main__":
    main()
