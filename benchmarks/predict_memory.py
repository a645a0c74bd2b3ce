"""Peak memory of `predict` on a million rows of 256 features, beyond the input.

python benchmarks/predict_memory.py
"""

import argparse
import json
import resource
import subprocess
import sys
import time

import numpy as np
import torch

from fewratio import Collection, MetaRatioEstimator, RuLSIF
from fewratio.estimators.networks import Pairs, Training
from fewratio_bench.records import circumstances


def peak_bytes() -> int:
    # Linux counts kilobytes, macOS bytes.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def measure(name: str, n_rows: int, n_features: int) -> None:
    rng = np.random.default_rng(0)
    sources = Collection.from_arrays(list(rng.normal(size=(10, 50, n_features))))
    samples = sources[0].X[:5], sources[1].X[:7]
    if name == "MetaRatioEstimator":
        estimator = MetaRatioEstimator(
            episodes=Pairs(n_support=5), training=Training(max_steps=5), progress=False, random_state=0
        ).pretrain(sources)
    else:
        estimator = RuLSIF()
    estimator.fit(*samples).predict(sources[2].X)  # what the first call loads is not the rows' doing

    # Block by block: making the input must not itself set the peak.
    X = np.empty((n_rows, n_features))
    for row in range(0, n_rows, 10_000):
        X[row : row + 10_000] = rng.normal(size=X[row : row + 10_000].shape)
    before = peak_bytes()
    started = time.perf_counter()
    ratio = estimator.predict(X)
    record = {
        "estimator": name,
        "rows": n_rows,
        "features": n_features,
        "input_gb": round(X.nbytes / 1e9, 2),
        "beyond_input_gb": round((peak_bytes() - before) / 1e9, 3),
        "rows_per_second": round(len(ratio) / (time.perf_counter() - started)),
        **circumstances(torch.device("cpu")),
    }
    sys.stdout.write(json.dumps(record) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=256)
    parser.add_argument("--estimator", choices=["MetaRatioEstimator", "RuLSIF"], help="by default both")
    args = parser.parse_args()
    if args.estimator:
        measure(args.estimator, args.rows, args.features)
        return
    # A process never forgets its peak, so each estimator gets one of its own.
    for name in ("MetaRatioEstimator", "RuLSIF"):
        sizes = ["--rows", str(args.rows), "--features", str(args.features)]
        subprocess.run([sys.executable, __file__, "--estimator", name, *sizes], check=True)


if __name__ == "__main__":
    main()
