"""Reading tables: time and peak memory of pyarrow alone, of `read_table`, and of the gate behind it, as JSON lines.

Each run is a process of its own, and the ways take turns. What they load first is not counted: a small file is read
before. Memory is the peak above what the process had then and above the Arrow table itself. (The gate also holds the
numbers that it makes, as large as the table again.)

    python benchmarks/load.py --rows 5000000 >> results/benchmarks/load.jsonl
"""

import argparse
import json
import platform
import statistics
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np

WAYS = {
    "pyarrow": {
        "csv": "from pyarrow.csv import read_csv as read",
        "parquet": "from pyarrow.parquet import read_table as read",
    },
    "read_table": (
        "from pathlib import Path; from fewratio.data.readers.files import find_file, read_columns\n"
        "def read(path): return read_columns(find_file(Path(path)))"
    ),
    "read_raw and as_table": (
        "from pathlib import Path; from fewratio.data.readers.files import find_file, read_raw\n"
        "from fewratio.data.table import as_table\n"
        "def read(path): return as_table(read_raw(find_file(Path(path)))).numbers"
    ),
}
MEASURE = """
import json, re, time
def peak():
    # Not getrusage: there the peak of the process that started this one counts, too.
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) / 1024
exec({program!r})
read({small!r})
before, clock, wall = peak(), time.process_time(), time.perf_counter()
table = read({large!r})
seconds = time.process_time() - clock, time.perf_counter() - wall
megabytes = table.nbytes / 2**20
print(json.dumps([*seconds, megabytes, peak() - before - megabytes]))
"""


def write_tables(folder: Path, n_rows: int, n_columns: int) -> None:
    """Write floats and, in every fourth column, integers."""
    import pyarrow
    import pyarrow.csv
    import pyarrow.parquet

    rng = np.random.default_rng(0)
    columns = {
        f"c{j}": rng.integers(1000, size=n_rows) if j % 4 == 3 else rng.normal(size=n_rows) for j in range(n_columns)
    }
    large = pyarrow.table(columns)
    for name, table in (("large", large), ("small", large[:30])):
        pyarrow.csv.write_csv(table, folder / f"{name}.csv")
        pyarrow.parquet.write_table(table, folder / f"{name}.parquet")


def measure(way: str, kind: str, folder: Path) -> list[float]:
    """Return processor and wall seconds, and megabytes of the table and above it, on Linux."""
    program = WAYS[way]
    names = {name: str(folder / f"{name}.{kind}") for name in ("small", "large")}
    code = MEASURE.format(program=program if isinstance(program, str) else program[kind], **names)
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    found: list[float] = json.loads(run.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        write_tables(Path(name), args.rows, args.columns)
        for kind in ("csv", "parquet"):
            rounds = [{way: measure(way, kind, Path(name)) for way in WAYS} for _ in range(args.rounds)]
            for way in WAYS:
                runs = [found[way] for found in rounds]
                seconds, wall, table, above = map(statistics.median, zip(*runs, strict=True))
                times = [found[way][0] / found["pyarrow"][0] for found in rounds]
                record = {
                    "way": way,
                    "file": kind,
                    "rows": args.rows,
                    "columns": args.columns,
                    "rounds": args.rounds,
                    "processor_seconds": round(seconds, 2),
                    "times_pyarrow": round(statistics.median(times), 2),
                    "wall_seconds": round(wall, 2),
                    "table_mb": round(table),
                    "peak_mb_above_table": round(above),
                    "python": platform.python_version(),
                    "machine": platform.machine(),
                    **{package: version(package) for package in ("pyarrow", "narwhals", "numpy")},
                }
                sys.stdout.write(json.dumps(record) + "\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
