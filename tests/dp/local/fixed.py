"""Memoised reports of ten persons; run as a program, it prints what they are."""

import hashlib
from typing import Any

from veil.dp.local.reports import Reports, report

KEY = bytes(range(32))
PERMANENT = "rappor(f=0.5, p=0, q=1, bits=24, cohorts=8)"  # reports the permanent bits
FIXED: dict[str, tuple[str, list[Any]]] = {
    "rappor": (PERMANENT, [f"w{i % 3}" for i in range(10)]),
    "dbitflip": ("dbitflip(epsilon=1, size=40, d=6)", [7 * i % 40 for i in range(10)]),
    "one_bit": ("one_bit(epsilon=1, high=10)", [float(i) for i in range(10)]),
}


def fixed(name: str) -> Reports:
    spec, values = FIXED[name]
    return report(values, spec, users=[f"person {i}" for i in range(10)], key=KEY)


def digest(reports: Reports) -> str:
    index = b"" if reports.index is None else reports.index.astype("<i8").tobytes()
    return hashlib.sha256(reports.data.tobytes() + index).hexdigest()[:16]


if __name__ == "__main__":
    import sys

    sys.stdout.write(" ".join(digest(fixed(name)) for name in FIXED))
