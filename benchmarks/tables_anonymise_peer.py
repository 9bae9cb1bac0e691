"""Time Mondrian of the peer anonypy on six columns; run in the peer's own environment."""

import json
import sys
import time

import anonypy
import pandas as pd

QI = ["sex", "age", "race", "marital-status", "education", "native-country"]


def main() -> None:
    """Print the seconds of the processor of one run, with publishing."""
    table = pd.read_csv(sys.argv[1], sep=";")
    for name in QI:
        if name != "age":
            table[name] = table[name].astype("category")
    start = time.process_time()
    made = anonypy.Preserver(table, QI, "occupation").anonymize_k_anonymity(k=10)
    seconds = time.process_time() - start
    print(json.dumps({"seconds": seconds, "rows": len(made)}))


if __name__ == "__main__":
    main()
