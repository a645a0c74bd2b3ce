"""Verbs on a large file: rows a second and peak memory, beside pyarrow copying the file, as JSON lines.

Each measurement has its own process and its own small run first, so that imports do not count.

python benchmarks/stream.py >> results/benchmarks/stream.jsonl
python benchmarks/stream.py --what changes --rows 100000 200000 --kinds parquet >> results/benchmarks/stream.jsonl
"""

import argparse
import io
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import chdir, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import torch

from fewratio import Collection, DiscriminantRatioEstimator
from fewratio.app import app
from fewratio_bench.records import circumstances

N_COLUMNS, PIECE_ROWS = 20, 100_000
WRITERS: dict[str, Any] = {"csv": pc.CSVWriter, "parquet": pq.ParquetWriter}


def peak_bytes() -> int:
    # Not getrusage: there the peak of the process that started this one counts, too.
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


def rows(rng: np.random.Generator, n: int) -> pa.Table:
    return pa.table({f"c{j}": rng.normal(size=n) for j in range(N_COLUMNS)})


def make(folder: Path, name: str, n: int, kind: str) -> None:
    rng = np.random.default_rng(n)
    with WRITERS[kind](folder / f"{name}.{kind}", rows(rng, 1).schema) as writer:
        for start in range(0, n, PIECE_ROWS):
            writer.write_table(rows(rng, min(PIECE_ROWS, n - start)))


def copy(folder: Path, name: str, kind: str) -> None:
    """Read and write a file with pyarrow alone, one batch after the other."""
    source = folder / f"{name}.{kind}"
    options = pc.ReadOptions(use_threads=False, block_size=2**22)
    batches = (
        pq.ParquetFile(source).iter_batches(use_threads=False) if kind == "parquet" else pc.open_csv(source, options)
    )
    with WRITERS[kind](folder / f"out.{kind}", rows(np.random.default_rng(0), 1).schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


# What each verb is run with; {} is the file.
VERBS = {
    "ratio": "nu.csv de.csv {} --model model",
    "weights": "{} target.csv",
    "outliers": "target.csv {}",
    "changes": "{}",
}


def run(verb: str, folder: Path, name: str, kind: str) -> None:
    """Run a verb of `fewratio`."""
    arguments = [f"{name}.{kind}" if each == "{}" else each for each in VERBS[verb].split()]
    with redirect_stdout(io.StringIO()), chdir(folder):
        app([verb, *arguments, "--output", f"out.{kind}"], standalone_mode=False)


DOERS: dict[str, Callable[[Path, str, str], None]] = {"pyarrow": copy}
DOERS |= {f"fewratio {verb}": partial(run, verb) for verb in VERBS}


def measure(who: str, folder: Path, kind: str, n_rows: int) -> None:
    DOERS[who](folder, "small", kind)
    before, started, clock = peak_bytes(), time.perf_counter(), time.process_time()
    DOERS[who](folder, "big", kind)
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - clock
    record = {
        "what": who,
        "kind": kind,
        "rows": n_rows,
        "columns": N_COLUMNS,
        "seconds": round(seconds, 1),
        "cpu_seconds": round(cpu_seconds, 1),
        "rows_per_cpu_second": round(n_rows / cpu_seconds),
        "beyond_start_mb": round((peak_bytes() - before) / 1e6),
        **circumstances(torch.device("cpu")),
    }
    sys.stdout.write(json.dumps(record) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[50_000, 500_000, 5_000_000])
    parser.add_argument("--kinds", nargs="+", default=["parquet", "csv"], choices=WRITERS)
    parser.add_argument(
        "--what", nargs="+", default=["pyarrow", "ratio", "weights", "outliers"], choices=["pyarrow", *VERBS]
    )
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        measure(args.measure[0], Path(args.measure[1]), args.kinds[0], args.rows[0])
        return
    rng = np.random.default_rng(0)
    sources = Collection.from_arrays([rng.normal(rng.normal(size=N_COLUMNS), 1, (50, N_COLUMNS)) for _ in range(30)])
    for kind in args.kinds:
        for n in args.rows:
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                DiscriminantRatioEstimator(random_state=0).pretrain(sources).save(folder / "model")
                for small, size in (("nu", 200), ("de", 300), ("target", 10_000)):
                    make(folder, small, size, "csv")
                make(folder, "small", 1000, kind)
                make(folder, "big", n, kind)
                for who in args.what:
                    who = who if who in DOERS else f"fewratio {who}"
                    command = [sys.executable, __file__, "--measure", who, name, "--rows", str(n), "--kinds", kind]
                    subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
