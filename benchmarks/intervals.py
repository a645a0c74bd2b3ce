"""How often do intervals hold that were learned from related datasets, and how wide are they?

The default, the closed form and networks learn from a family, and are fitted to pairs of its targets, one in ten
of a dataset with itself. Truths are known of two families of Gaussians. Of others the ratio that the default gives with
up to 100 rows per sample stands for the truth, with its log-ratio times the factor, one per family, that suits the
labels of the query rows best; and for the divergence that of Eq. 8 at these rows. Only query rows that nothing was
fitted to count. One JSON line per family, split, estimator and rows per sample.

    python benchmarks/intervals.py > results/benchmarks/intervals.jsonl
    python benchmarks/intervals.py --estimators "network, 30 steps" "network, 500 steps" \
        --families "Gaussians, one column" School donors
"""

import argparse
import json
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from everyday.families import FAMILIES, split_family
from fewratio import AutoRatioEstimator, Collection, DiscriminantRatioEstimator
from fewratio.core.true_ratio import gaussian_relative_ratio
from fewratio.data.sources.gaussian import gaussian_family
from fewratio_bench.records import circumstances

SIZES, LEVEL, ALPHA = (1, 3, 5, 10), 0.9, 0.5
ESTIMATORS: dict[str, Callable[[], Any]] = {
    "default": lambda: AutoRatioEstimator(ALPHA, random_state=0),
    "closed form": lambda: DiscriminantRatioEstimator(ALPHA),
    "network, 30 steps": lambda: _network(30),
    "network, 500 steps": lambda: _network(500),
}
# Rows to fit the reference to at most, and at least; query rows per dataset; datasets of the families with known truth.
_MOST_ROWS, _LEAST_ROWS, _N_QUERY, _N_SOURCES, _N_TARGETS = 100, 20, 30, 100, 40
# Variances of datasets' means in ten columns: from 0.8 down, half as large each time.
_LAM = 0.8 / 2.0 ** np.arange(10)
# What two ratios may differ by without a miss: below that it is rounding.
_ROUNDING = 2e-3


def _network(n_steps: int) -> Any:
    from fewratio import MetaRatioEstimator
    from fewratio.estimators.networks import Training

    training = Training(max_steps=n_steps)
    return MetaRatioEstimator(ALPHA, training=training, device="cpu", random_state=0, progress=False)


class Case(NamedTuple):
    """Rows to draw samples from, rows of both datasets to judge at, and the truth there, where it is known."""

    rows: tuple[np.ndarray, np.ndarray]
    query: np.ndarray
    ratio: np.ndarray
    divergence: float


def one_column(n_datasets: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw datasets of the paper's family: rows, means, standard deviations."""
    family = gaussian_family(n_datasets, 200, seed)
    return np.stack([each.X for each in family.collection]), family.means[:, None], family.stds[:, None]


def ten_columns(n_datasets: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw datasets N(mu, I), mu from N(0, diag(_LAM))."""
    rng = np.random.default_rng(seed)
    means = rng.normal(0, np.sqrt(_LAM), (n_datasets, 10))
    return rng.normal(means[:, None], 1, (n_datasets, 200, 10)), means, np.ones_like(means)


KNOWN = {"Gaussians, one column": one_column, "Gaussians, ten columns": ten_columns}


def known_cases(name: str, seed: int, n_pairs: int) -> tuple[list[np.ndarray], list[Case]]:
    """Give sources, and pairs of targets with their true ratios."""
    rows, means, stds = KNOWN[name](_N_SOURCES + _N_TARGETS, seed)
    found = []
    for a, b in draw_pairs(list(rows[_N_SOURCES:]), 3 * n_pairs, np.random.default_rng(seed)):
        of_pair = [each[_N_SOURCES + number] for number in (a.number, b.number) for each in (means, stds)]
        query = np.concatenate([a.query, b.query])
        many = np.random.default_rng(0).normal(of_pair[0], of_pair[1], (20_000, rows.shape[2]))
        divergence = (gaussian_relative_ratio(many, *of_pair, ALPHA).mean() - 1) / 2
        found.append(Case((a.rows, b.rows), query, gaussian_relative_ratio(query, *of_pair, ALPHA), divergence))
    return list(rows[:_N_SOURCES]), found


class Side(NamedTuple):
    """The number of a dataset, rows to fit to, and query rows."""

    number: int
    rows: np.ndarray
    query: np.ndarray


def draw_pairs(targets: list[np.ndarray], n_pairs: int, rng: np.random.Generator) -> Iterator[tuple[Side, Side]]:
    """Draw pairs of targets; of a dataset with itself, halves."""
    left = {True: max(n_pairs // 10, 1), False: n_pairs}
    for a, b in rng.permutation([(a, b) for a in range(len(targets)) for b in range(len(targets))]):
        first, second = rng.permutation(targets[a]), rng.permutation(targets[b])
        if a == b:
            first, second = first[::2], first[1::2]
        shortest = min(len(first), len(second))
        n_query = min(_N_QUERY, shortest // 3)
        if left[bool(a == b)] and shortest - n_query >= _LEAST_ROWS:
            left[bool(a == b)] -= 1
            sides = [(number, rows[n_query:], rows[:n_query]) for number, rows in ((a, first), (b, second))]
            yield Side(*sides[0]), Side(*sides[1])


def reference_cases(targets: list[np.ndarray], estimator: Any, seed: int, n_pairs: int) -> list[Case]:
    """Give pairs of targets with the ratio of many rows in place of the truth."""
    pairs, logits = list(draw_pairs(targets, n_pairs, np.random.default_rng(seed))), []
    for a, b in pairs:
        estimator.fit(a.rows[:_MOST_ROWS], b.rows[:_MOST_ROWS])
        p = np.clip(ALPHA * estimator.predict(np.concatenate([a.query, b.query])), 1e-5, 1 - 1e-5)
        logits.append(np.log(p / (1 - p)).reshape(2, -1))

    def error(factor: float) -> float:
        return float(np.mean([np.square([[1.0], [0.0]] - 1 / (1 + np.exp(-factor * each))).mean() for each in logits]))

    factor, found = minimize_scalar(error, bounds=(0.2, 5), method="bounded").x, []
    for (a, b), each in zip(pairs, logits, strict=True):
        ratio = 1 / (1 + np.exp(-factor * each)) / ALPHA
        divergence = ratio[0].mean() - (np.square(ratio).mean(1).sum() + 2) / 4
        case = Case((a.rows, b.rows), np.concatenate([a.query, b.query]), ratio.ravel(), float(divergence))
        found.append(case._replace(divergence=float(np.clip(divergence, 0, 0.5))))
    return found


def family_records(family: str, names: Sequence[str], seed: int, n_pairs: int) -> Iterator[dict[str, Any]]:
    """Measure estimators on a family."""
    if family in KNOWN:
        sources, cases = known_cases(family, seed, n_pairs)
    else:
        sources, targets = split_family(family, seed)
    learned = {name: ESTIMATORS[name]().pretrain(Collection.from_arrays(sources)) for name in names}
    if family not in KNOWN:
        default = learned.get("default") or ESTIMATORS["default"]().pretrain(Collection.from_arrays(sources))
        cases = reference_cases(targets, default, seed, n_pairs)
    for name, estimator in learned.items() if cases else ():
        for size in SIZES:
            held, widths = [], []
            for case in cases:
                nu, de = (rows[:size] for rows in case.rows)
                low, high = estimator.fit(nu, de).interval(case.query, LEVEL).T
                of_ratio = (low - _ROUNDING <= case.ratio) & (case.ratio <= high + _ROUNDING)
                least, most = estimator.divergence_interval(LEVEL)
                held.append((of_ratio.mean(), least - _ROUNDING <= case.divergence <= most + _ROUNDING))
                widths.append(((high - low).mean(), most - least))
            record = {
                "family": family,
                "seed": seed,
                "estimator": name,
                "truth": "known" if family in KNOWN else "reference",
            }
            record |= {"n_sources": len(sources), "pairs": len(cases), "n_support": size, "level": LEVEL}
            record |= {"certainty": estimator.certainty_} if estimator.certainty_ else {}
            for place, what in enumerate(("ratio", "divergence")):
                shares = [float(each[place]) for each in held]
                record |= {
                    f"{what}_held": round(float(np.mean(shares)), 4),
                    f"{what}_held_error": round(float(np.std(shares) / len(shares) ** 0.5), 4),
                    f"{what}_width": round(float(np.mean([each[place] for each in widths])), 4),
                }
            yield record


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--families", nargs="+", choices=[*KNOWN, *FAMILIES], default=[*KNOWN, *FAMILIES])
    parser.add_argument("--estimators", nargs="+", choices=ESTIMATORS, default=["default", "closed form"])
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument(
        "--pairs", type=int, default=12, help="of different targets; three times as many if truth is known"
    )
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    where = circumstances()
    for seed in range(args.splits):
        for family in args.families:
            for record in family_records(family, args.estimators, seed, args.pairs):
                sys.stdout.write(json.dumps(record | where) + "\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
