"""Processor time of `fewratio compare` of two 30-row files, against that of `import sklearn.base`, interleaved.

Each runs in a new process.

    python benchmarks/startup.py

One warm-up of each comes first, so that compiled modules, as an installation has them, and files are in their caches.
Medians are reported, and how often the first contains the second.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

from fewratio_bench.records import circumstances

N_ROWS = 30


def processor_seconds(arguments: list[str], compiled: str) -> float:
    """User and system time of a new interpreter that keeps compiled modules in a folder."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPYCACHEPREFIX": compiled}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rng = np.random.default_rng(0)
        paths = [str(Path(folder) / name) for name in ("a.csv", "b.csv")]
        for mean, path in enumerate(paths):
            np.savetxt(path, rng.normal(mean, 1, (N_ROWS, 2)), delimiter=",", header="x,y", comments="")
        programs = {
            "python": ["-c", "pass"],
            "import sklearn.base": ["-c", "import sklearn.base"],
            "fewratio compare": ["-m", "fewratio", "compare", *paths],
        }
        seconds: dict[str, list[float]] = {name: [] for name in programs}
        for round_ in range(args.rounds + 1):
            for name, arguments in programs.items():
                spent = processor_seconds(arguments, str(Path(folder) / "compiled"))
                if round_:
                    seconds[name].append(spent)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    record = {
        "processor_seconds": {name: round(value, 3) for name, value in medians.items()},
        "times_sklearn_base": round(medians["fewratio compare"] / medians["import sklearn.base"], 2),
        "rows": N_ROWS,
        "rounds": args.rounds,
        **circumstances(torch.device("cpu")),
    }
    sys.stdout.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
