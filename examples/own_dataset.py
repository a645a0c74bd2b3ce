"""Data of your own in the benchmark: a source, a protocol that deals its datasets out, and a problem.

python examples/own_dataset.py --results /tmp/own-dataset
"""

import argparse
from pathlib import Path

import numpy as np

from fewratio import Collection
from fewratio.data import Source, register_source
from fewratio_bench import Experiment, Kernel, PairProblem, Panel, Protocol, run_experiment, write_table


def load_sensors() -> Collection:
    """Give twenty datasets; yours would be read with `Collection.from_folder`, `from_frame` or `from_arrays`."""
    rng = np.random.default_rng(0)
    return Collection.from_arrays([rng.normal(rng.normal(size=4), 1, (60, 4)) for _ in range(20)], name="sensors")


# From here on `load_collection("sensors")` works, too.
register_source(Source("sensors", load_sensors, "Readings of twenty sensors. A dataset is a sensor."))
# Five targets to be judged on, five datasets for validation, the rest to learn from; another draw for each split.
PROTOCOL = Protocol("sensors", n_target=5, n_validation=5, n_source=10)
SENSORS = PairProblem("sensors", "Sensors", sizes=(3, 5), protocol=PROTOCOL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, required=True, help="folder of records, made if need be")
    parser.add_argument("--splits", type=int, default=3)
    args = parser.parse_args()
    panel = Panel(SENSORS.data, (SENSORS,), "squared_error")
    methods = (Kernel("RuLSIF", None), Kernel("RuLSIF, ratio clipped", None, clip="ratio"))
    experiment = Experiment("own-dataset", "Data of my own", (panel,), methods)
    run_experiment(experiment, args.results, n_splits=args.splits, device="cpu")
    print(write_table(experiment, args.results))


if __name__ == "__main__":
    main()
