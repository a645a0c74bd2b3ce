"""The longest realistic inputs: seconds, and the most memory beyond input and result, each in a process of its own."""

import io
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

# Bytes beyond the input that a command may take.
BOUND = 2**30
# Numbers of files, rows of each and columns; and the command, of which {} is a folder.
CASES: dict[str, tuple[int, int, int, str]] = {
    "outliers": (2, 1_000_000, 20, "outliers {}/0.parquet {}/1.parquet -o {}-result.parquet"),
    "weights": (2, 1_000_000, 20, "weights {}/0.parquet {}/1.parquet -o {}-result.parquet"),
    "train": (100, 10_000, 20, "train {} -o {}-result"),
    "index": (10_000, 20, 5, "index {} -o {}-result"),
    "compare-all": (10_000, 5, 8, "compare-all {}"),
}


def tables(folder: Path, n_files: int, n_rows: int, n_columns: int) -> int:
    """Write tables; give the bytes of their numbers."""
    rng = np.random.default_rng(0)
    folder.mkdir()
    for number in range(n_files):
        mean = rng.normal(size=n_columns) / 4
        pq.write_table(
            pa.table({f"c{j}": rng.normal(mean[j], 1, n_rows) for j in range(n_columns)}), folder / f"{number}.parquet"
        )
    return 8 * n_files * n_rows * n_columns


def measured(what: str, n_files: int = 0) -> tuple[str, str, dict[str, Any]]:
    """Give, for a command and perhaps fewer files, whether its memory was within the bound, and the figures."""
    usual, n_rows, n_columns, _ = CASES[what]
    n_files = n_files or usual
    with tempfile.TemporaryDirectory() as name:
        tables(Path(name) / "small", min(n_files, 10), min(n_rows, 1000), n_columns)
        size = tables(Path(name) / "large", n_files, n_rows, n_columns)
        command = [sys.executable, __file__, what, name]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    figures = {"files": n_files, "rows": n_rows, "columns": n_columns, "input_mb": round(size / 1e6)}
    if done.returncode:
        return what, f"{what}: exit {done.returncode}: {done.stderr[-500:]}", figures
    # All pairs are the result, and stay.
    result = 8 * n_files**2 if what == "compare-all" else 0
    seconds, processor_seconds, peak = json.loads(done.stdout)
    beyond = peak - size - result
    figures |= {
        "seconds": round(seconds),
        "processor_seconds": round(processor_seconds),
        "result_mb": round(result / 1e6),
    }
    figures |= {"beyond_mb": round(beyond / 1e6)}
    fine = beyond <= BOUND
    return what, "within 1 GB" if fine else f"{what}: {beyond / 1e6:.0f} MB beyond input and result", figures


def _memory(name: str) -> int:
    found = re.search(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


def _run(what: str, folder: str) -> None:
    from fewratio.app import app

    with redirect_stdout(io.StringIO()):
        code = app(CASES[what][-1].replace("{}", folder).split(), standalone_mode=False)
    if code:
        sys.exit(code)


def _measure(what: str, folder: str) -> None:
    """Run a command on small tables, so that imports do not count, then on large ones."""
    _run(what, f"{folder}/small")
    before, started, clock = _memory("VmRSS"), time.perf_counter(), time.process_time()
    _run(what, f"{folder}/large")
    spent = [time.perf_counter() - started, time.process_time() - clock]
    sys.stdout.write(json.dumps([*spent, _memory("VmHWM") - before]))


if __name__ == "__main__":
    _measure(*sys.argv[1:])
