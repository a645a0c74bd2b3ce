"""Rows a second: one large CSV file into a `Collection`, against `pandas.read_csv` and `polars.read_csv`.

All ways in one run, interleaved, on the same file. Ours ends with an array in row order, of which every value was seen
to be finite; a frame is less than that, so pandas is also measured with these two steps added. How many threads each
has is left to itself: ours (through polars), polars and pandas since 3.1 use all cores; pandas before that used one.

    python benchmarks/load.py
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from fewratio import Collection
from fewratio_bench.records import circumstances

if TYPE_CHECKING:
    import pandas as pd


def write_csv(path: Path, n_rows: int, n_columns: int) -> None:
    import polars as pl

    rng = np.random.default_rng(0)
    pl.DataFrame({f"c{j}": rng.normal(size=n_rows) for j in range(n_columns)}).write_csv(path)


def checked_array(frame: "pd.DataFrame") -> np.ndarray:
    array = np.ascontiguousarray(frame.to_numpy())
    if not np.isfinite(array).all():
        raise ValueError("not finite")
    return array


def one_thread(path: Path) -> "pd.DataFrame":
    import pandas as pd

    with pd.option_context("mode.max_threads", 1):
        return pd.read_csv(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    # After the arguments, so that --help needs neither of them.
    import pandas as pd
    import polars as pl

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        write_csv(path, args.rows, args.columns)
        megabytes = path.stat().st_size / 1e6
        ways: dict[str, Callable[[], object]] = {
            "fewratio": lambda: Collection.from_folder(folder),
            "pandas": lambda: pd.read_csv(path),
            "pandas to a checked array": lambda: checked_array(pd.read_csv(path)),
            "pandas, one thread": lambda: one_thread(path),
            "polars": lambda: pl.read_csv(path),
        }
        np.testing.assert_array_equal(Collection.from_folder(folder)[0].X, pl.read_csv(path).to_numpy())
        rates: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(args.rounds):
            for name, way in ways.items():
                started = time.perf_counter()
                way()
                rates[name].append(args.rows / (time.perf_counter() - started))
    median = {name: statistics.median(values) for name, values in rates.items()}
    record = {
        **{f"{name}, rows per second": round(rate) for name, rate in median.items()},
        **{
            f"fewratio / {name}": round(median["fewratio"] / rate, 2)
            for name, rate in median.items()
            if name != "fewratio"
        },
        "file_mb": round(megabytes),
        "columns": args.columns,
        **circumstances(torch.device("cpu")),
    }
    sys.stdout.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
