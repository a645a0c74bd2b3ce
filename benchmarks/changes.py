"""Change points of synthetic series: ours beside the kernel search of ruptures, on its own two families.

The same series for both, all of one seed. Twice: at the true number of changes (ours: the highest peaks), and with the
number chosen by one rule for both, permutation at a level of 0.05: a threshold of our scores, and a penalty of theirs
that the gain of one best split exceeds in so many of the shuffled series. A change counts as found within 5 rows of a
true one (ruptures' `precision_recall`). Means over series are reported.

    pip install -e '.[peers-changes]'
    python benchmarks/changes.py
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fewratio import detect_changes
from fewratio_bench.records import circumstances

try:
    from ruptures import KernelCPD, pw_constant, pw_normal
    from ruptures.metrics import precision_recall
except ImportError:
    # Its series are what is measured on, so nothing runs without it but --help.
    KernelCPD = None

Array = NDArray[np.float64]

N_ROWS, N_CHANGES, MARGIN = 300, 4, 5
LEVEL, N_PERMUTATIONS = 0.05, 59
WINDOWS = (20, 30, 40)
CHOSEN_WINDOW = 30


def constant(noise: float) -> Callable[[int], tuple[Array, list[int]]]:
    return lambda seed: pw_constant(N_ROWS, 1, N_CHANGES, noise_std=noise, seed=seed)


FAMILIES: dict[str, Callable[[int], tuple[Array, list[int]]]] = {
    "pw_constant, noise 1": constant(1.0),
    "pw_constant, noise 3": constant(3.0),
    "pw_normal": lambda seed: pw_normal(N_ROWS, N_CHANGES, seed=seed),
}


def highest_peaks(series: Array, window: int) -> list[int]:
    found = detect_changes(series, window, threshold=-1e9)  # every peak
    order = np.argsort(-found.scores[found.points])[:N_CHANGES]
    return sorted(found.points[order].tolist())


def above_threshold(series: Array, seed: int) -> list[int]:
    found = detect_changes(
        series, CHOSEN_WINDOW, n_permutations=N_PERMUTATIONS, level=LEVEL, random_state=np.random.default_rng(seed)
    )
    return found.points.tolist()


# A new object every time: its kernel cost keeps the width of the series that it has seen first.


def kernel_search(series: Array) -> list[int]:
    return KernelCPD("rbf", min_size=2).fit(series).predict(n_bkps=N_CHANGES)[:-1]


def best_gain(series: Array) -> float:
    """By how much the best single split lowers the cost."""
    search = KernelCPD("rbf", min_size=2).fit(series)
    split = search.predict(n_bkps=1)[0]
    cost = search.cost
    return float(cost.error(0, len(series)) - cost.error(0, split) - cost.error(split, len(series)))


def penalised_search(series: Array, seed: int) -> list[int]:
    rng = np.random.default_rng(seed)
    gains = np.sort([best_gain(rng.permutation(series)) for _ in range(N_PERMUTATIONS)])
    penalty = gains[-round(LEVEL * (N_PERMUTATIONS + 1))]
    return KernelCPD("rbf", min_size=2).fit(series).predict(pen=penalty)[:-1]


METHODS: dict[tuple[str, str], Callable[[Array, int], list[int]]] = {
    **{
        (f"fewratio, window {window}", "true"): lambda series, seed, window=window: highest_peaks(series, window)
        for window in WINDOWS
    },
    ("ruptures KernelCPD rbf", "true"): lambda series, seed: kernel_search(series),
    (f"fewratio, window {CHOSEN_WINDOW}", "permutation"): above_threshold,
    ("ruptures KernelCPD rbf", "permutation"): penalised_search,
}


def f1(truth: list[int], found: list[int]) -> float:
    precision, recall = precision_recall(truth, [*found, N_ROWS], margin=MARGIN)
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--series", type=int, default=20, help="series of a family")
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    args = parser.parse_args()
    n_series = args.series
    if KernelCPD is None:
        parser.error("ruptures is not installed; pip install 'fewratio[peers-changes]'")
    torch.set_num_threads(1)
    for family in args.families:
        draw = FAMILIES[family]
        for (method, number), find in METHODS.items():
            scores, counts, seconds = [], [], []
            for seed in range(n_series):
                series, truth = draw(seed)
                started = time.perf_counter()
                found = find(series, seed)
                seconds.append(time.perf_counter() - started)
                scores.append(f1(truth, found))
                counts.append(len(found))
            record: dict[str, Any] = {
                "family": family,
                "method": method,
                "number_of_changes": number,
                "f1": round(float(np.mean(scores)), 3),
                "standard_error": round(float(np.std(scores, ddof=1) / np.sqrt(n_series)), 3),
                "mean_number": round(float(np.mean(counts)), 1),
                "seconds": round(float(np.median(seconds)), 3),
                "rows": N_ROWS,
                "true_number": N_CHANGES,
                "series": n_series,
                "seeds": [0, n_series - 1],
                "threads": 1,
                **circumstances(torch.device("cpu")),
            }
            sys.stdout.write(json.dumps(record) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
