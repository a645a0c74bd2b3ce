"""Reading tables: processor time and peak memory of fewratio and of two engines alone, each in a process of its own.

What was measured to choose the engine (pyarrow), and what shows that the one gate costs little beside it. Ways of
reading: ours (an array in row order of which every value was seen to be finite), pyarrow and polars alone (a frame).
`import sklearn.base` is there for comparison: start-up is to stay within 1.5 times of it.

    python benchmarks/load.py --rows 1000000
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
    "nothing": "",
    "import sklearn.base": "import sklearn.base",
    "import pyarrow": "import pyarrow.csv, pyarrow.parquet",
    "import polars": "import polars",
    "fewratio csv": (
        "from pathlib import Path; from fewratio.data.files import *; read_file(find_file(Path('{folder}/{size}.csv')))"
    ),
    "pyarrow csv": (
        "from pyarrow.csv import *\nfor _ in open_csv('{folder}/{size}.csv', ReadOptions(use_threads=False)): pass"
    ),
    "pyarrow csv at once": "from pyarrow.csv import *; read_csv('{folder}/{size}.csv')",
    "polars csv": "import polars; polars.read_csv('{folder}/{size}.csv')",
    "polars csv, types of all rows": "import polars; polars.read_csv('{folder}/{size}.csv', infer_schema_length=None)",
    "fewratio parquet": (
        "from pathlib import Path; from fewratio.data.files import *; "
        "read_file(find_file(Path('{folder}/{size}.parquet')))"
    ),
    "pyarrow parquet": "import pyarrow.parquet as p; p.read_table('{folder}/{size}.parquet')",
    "polars parquet": "import polars; polars.read_parquet('{folder}/{size}.parquet')",
}
# What an engine makes of text that is wrong; ours refuses all of it, and names the line.
WRONG = {
    "unclosed quote": b'p,q\n1,"a\n2,b\n3,c\n',
    "not UTF-8": b"p,q\n1,\xff\n",
    "repeated name": b"p,p\n1,2\n",
    "short line": b"p,q\n1,2\n3\n",
    "long line": b"p,q\n1,2\n3,4,5\n",
}
READERS = {
    "pyarrow": "from pyarrow.csv import *; read_csv('{path}')",
    "polars": "import polars; polars.read_csv('{path}', infer_schema_length=None)",
    "fewratio": "from pathlib import Path; from fewratio.data.files import *; list(pieces(find_file(Path('{path}'))))",
}
MEASURE = """
import json, re, time
exec({program!r})
# Not getrusage: there the peak of the process that started this one counts, too.
peak = re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())
print(json.dumps([time.process_time(), int(peak[1]) / 1024]))
"""


def measure(program: str) -> tuple[float, float]:
    """Return processor seconds and peak memory in MB of a program, on Linux."""
    command = [sys.executable, "-c", MEASURE.format(program=program)]
    seconds, megabytes = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return seconds, megabytes


def refuses(program: str) -> bool:
    return subprocess.run([sys.executable, "-c", program], check=False, capture_output=True).returncode != 0


def write_tables(folder: Path, size: str, n_rows: int, n_columns: int) -> None:
    import polars as pl

    rng = np.random.default_rng(0)
    frame = pl.DataFrame({f"c{j}": rng.normal(size=n_rows) for j in range(n_columns)})
    frame.write_csv(folder / f"{size}.csv")
    frame.write_parquet(folder / f"{size}.parquet")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the large table")
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sizes = {"small": 30, "large": args.rows}
        for size, n_rows in sizes.items():
            write_tables(folder, size, n_rows, args.columns)
        runs = {
            way if "{size}" not in program else f"{way}, {n_rows} rows": program.format(folder=folder, size=size)
            for way, program in WAYS.items()
            for size, n_rows in sizes.items()
        }
        found: dict[str, list[tuple[float, float]]] = {run: [] for run in runs}
        for _ in range(args.rounds):
            for run, program in runs.items():
                found[run].append(measure(program))
        wrong = {}
        for what, content in WRONG.items():
            (folder / "wrong.csv").write_bytes(content)
            refused = [by for by, program in READERS.items() if refuses(program.format(path=folder / "wrong.csv"))]
            wrong[what] = refused
    record = {
        "processor_seconds": {run: round(statistics.median(s for s, _ in each), 2) for run, each in found.items()},
        "peak_mb": {run: round(max(mb for _, mb in each)) for run, each in found.items()},
        "table_mb": round(args.rows * args.columns * 8 / 2**20),
        "refused_by": wrong,
        "python": platform.python_version(),
        "machine": platform.machine(),
        **{package: version(package) for package in ("pyarrow", "polars", "narwhals", "numpy")},
    }
    sys.stdout.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
