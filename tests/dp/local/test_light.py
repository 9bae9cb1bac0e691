"""Reports and estimates need NumPy alone."""

import subprocess
import sys

CODE = """
import sys
from veil import dp
reports = dp.report(["a", "b"] * 50, "rappor")
dp.estimate(reports, ["a", "b"])
dp.estimate(dp.report(["a"], "hcms(epsilon=1)"), ["a"])
dp.estimate_mean(dp.report([1.0], "one_bit(epsilon=1, high=2)"))
print(*({*sys.modules} & {"scipy", "numba", "pandas", "pyarrow", "click", "dp_accounting"}))
"""


def test_nothing_heavy_is_loaded() -> None:
    told = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == ""
