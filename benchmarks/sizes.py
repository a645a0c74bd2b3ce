"""When not to use the universal network: J against the number of instances, beside what else needs no sources.

Random pairs of the prior, half of them of kinds that the network was never trained on; each estimator as it comes,
RuLSIF also by cross-validation, and logistic regression without calibration. Prints one JSON line per estimator and
size: mean J over the pairs on 400 other instances per sample, beside that of the truth, and seconds per fit.

    python benchmarks/sizes.py
"""

import argparse
import json
import sys
import time
from collections.abc import Callable

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fewratio import KLIEP, AutoRatioEstimator, ClassifierRatio, RuLSIF, UniversalRatioEstimator
from fewratio.core.arrays import equal_shares
from fewratio.core.objectives import RelativeSquaredError
from fewratio.estimators import RatioEstimator
from fewratio_bench.prior import RELATIONS, SHAPES, PriorPairs, draw_pairs
from fewratio_bench.records import circumstances
from fewratio_bench.universal_training import HELD_OUT_RELATION, HELD_OUT_SHAPE

_SEED = 2 * 10**9
_N_QUERY = 400
_ALPHA = 0.5
ESTIMATORS: dict[str, Callable[[], RatioEstimator]] = {
    "auto": lambda: AutoRatioEstimator(random_state=0),
    "universal": UniversalRatioEstimator,
    "RuLSIF": lambda: RuLSIF(random_state=0),
    "RuLSIF, cv": lambda: RuLSIF(sigma="cv", reg="cv", random_state=0),
    "classifier": lambda: ClassifierRatio(random_state=0),
    "logistic regression": lambda: ClassifierRatio(
        make_pipeline(StandardScaler(), LogisticRegression()), calibrate=False, random_state=0
    ),
    "KLIEP": lambda: KLIEP(random_state=0),
}


def relative(name: str, ratio: np.ndarray) -> np.ndarray:
    """Give the relative ratio; KLIEP gives the plain one."""
    return ratio / (_ALPHA * ratio + 1 - _ALPHA) if name == "KLIEP" else ratio


def error(ratio: np.ndarray) -> float:
    shares = equal_shares(_N_QUERY, _N_QUERY, torch.empty(0, dtype=torch.float64))
    return RelativeSquaredError(_ALPHA)(torch.from_numpy(ratio).double(), shares).item()


def pairs_of(n_pairs: int, n_instances: int, columns: int, seed: int = _SEED) -> list[PriorPairs]:
    shapes = [name for name in SHAPES if name != "discrete"]
    trained = [name for name in shapes if name != HELD_OUT_SHAPE]
    relations = [name for name in RELATIONS if name not in (HELD_OUT_RELATION, "equal")]
    kinds = ((relations, trained), ([HELD_OUT_RELATION], trained), (relations, [HELD_OUT_SHAPE]))
    shares = (n_pairs - n_pairs // 2, n_pairs // 4, n_pairs // 2 - n_pairs // 4)
    return [
        draw_pairs(count, n_instances, columns, seed, relations=kind[0], shapes=kind[1])
        for kind, count in zip(kinds, shares, strict=True)
        if count
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=24)
    parser.add_argument("--columns", type=int, default=16)
    parser.add_argument("--sizes", type=int, nargs="+", default=[2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000])
    parser.add_argument("--estimators", nargs="+", choices=ESTIMATORS, default=list(ESTIMATORS))
    args = parser.parse_args()
    torch.set_num_threads(1)
    drawn = pairs_of(args.pairs, max(args.sizes) + _N_QUERY, args.columns)
    for size in args.sizes:
        for name in args.estimators:
            losses, truths, seconds = [], [], []
            for part in drawn:
                for rows, log_ratio, d in zip(part.rows.double().numpy(), part.log_ratio, part.n_columns, strict=True):
                    if log_ratio.isnan().any():
                        continue
                    X = rows[:, :, : int(d)]
                    query = np.concatenate([X[0, -_N_QUERY:], X[1, -_N_QUERY:]])
                    truth = np.exp(np.clip(log_ratio[:, -_N_QUERY:].flatten().numpy(), -60, 60))
                    started = time.perf_counter()
                    estimator = ESTIMATORS[name]().fit(X[0, :size], X[1, :size])
                    seconds.append(time.perf_counter() - started)
                    losses.append(error(relative(name, estimator.predict(query))))
                    truths.append(error(truth / (_ALPHA * truth + 1 - _ALPHA)))
            record = {
                "estimator": name,
                "instances_a_side": size,
                "J": round(float(np.mean(losses)), 4),
                "standard_error": round(float(np.std(losses, ddof=1)) / len(losses) ** 0.5, 4),
                "J of the truth": round(float(np.mean(truths)), 4),
                "seconds_a_fit": round(float(np.median(seconds)), 4),
                "pairs": len(losses),
                "seed": _SEED,
                "threads": 1,
                **circumstances(torch.device("cpu")),
            }
            sys.stdout.write(json.dumps(record) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
