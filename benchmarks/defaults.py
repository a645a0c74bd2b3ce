r"""Is the default as good as the best of what one could choose? J by family, number of sources and rows per sample.

The ways: the default with sources; the same with one unit for all columns, and with the deviation of each; without
sources; the closed form alone. With 0 sources: the default, one unit, and deviations. Where a family has groups, the
sources name theirs, and targets are of another group.
`rescaled` multiplies columns by exp(N(0, 2)) first, which deviations and the closed form do not see.
One JSON line per family, split, number of sources, rows per sample, with the errors (Eq. 8) of all pairs for each way.
`--gaps` prints in how many cells the default is within 0.01, or two paired standard errors, of the best way.
`--all-sources` measures the default alone with all sources: J of many pairs, by family, split and rows per sample.
`--one-row` measures factors of the network's log-ratio at one row per sample without sources: J by family and in all.

    python benchmarks/defaults.py --first 8 --splits 5 --jobs 16 > results/benchmarks/defaults.jsonl
    python benchmarks/defaults.py --gaps
    python benchmarks/defaults.py --all-sources --families Mnist-r Isolet --splits 10 \
        > results/benchmarks/all_sources.jsonl
    python benchmarks/defaults.py --one-row > results/benchmarks/one_row.jsonl
"""

import argparse
import json
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import joblib
import numpy as np
import torch

from everyday.families import FAMILIES, split_family, split_with_groups
from fewratio import AutoRatioEstimator, ClassifierRatio, Collection, DiscriminantRatioEstimator
from fewratio.estimators.mixtures import auto
from fewratio_bench.records import circumstances

RECORDS = Path(__file__).parents[1] / "results" / "benchmarks" / "defaults.jsonl"
SIZES, ALL = (1, 3, 5, 10, 30), 1000
DEFAULT, COMMON, COLUMNS, WITHOUT, CLOSED_FORM = "default", "common unit", "column units", "no sources", "closed form"
_N_PAIRS, _MANY_PAIRS, _N_QUERY = 8, 100, 50
FACTORS = (1.0, 1.5, 2.0, 3.0)

Pair = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def draw_pairs(targets: list[np.ndarray], size: int, rng: np.random.Generator, n_pairs: int = _N_PAIRS) -> list[Pair]:
    """Draw pairs of targets, one in ten or more of a dataset with itself: two samples, and query rows of both."""
    found = []
    for a, b in rng.permutation(list(product(range(len(targets)), repeat=2))):
        # Four rows are left to judge by at least.
        if min(len(targets[a]), len(targets[b])) < (1 + (a == b)) * size + 4 * (1 + (a == b)):
            continue
        first = rng.permutation(targets[a])
        second = first[size:] if a == b else rng.permutation(targets[b])
        rest = (second[size::2], second[size + 1 :: 2]) if a == b else (first[size:], second[size:])
        found.append((first[:size], second[:size], *(rows[:_N_QUERY] for rows in rest)))
    return found[:n_pairs]


def error(estimator: Any, pair: Pair) -> float:
    """Give the squared error of Eq. 8 at alpha = 0.5."""
    nu, de, at_nu, at_de = pair
    estimator.fit(nu, de)
    of_nu, of_de = estimator.predict(at_nu), estimator.predict(at_de)
    return float(np.square(of_nu).mean() / 4 + np.square(of_de).mean() / 4 - of_nu.mean())


@contextmanager
def shared_classifiers() -> Iterator[None]:
    """Let the ways share classifiers of the same samples."""
    fit, known = ClassifierRatio._fit, {}

    def _fit(self: Any, X_nu: np.ndarray, X_de: np.ndarray) -> None:
        key = repr(self.get_params()), X_nu.shape, X_nu.tobytes(), X_de.tobytes()
        if key not in known:
            fit(self, X_nu, X_de)
            known[key] = dict(vars(self))
        vars(self).update(known[key])

    with patch.object(ClassifierRatio, "_fit", _fit):
        yield


def cell_records(family: str, split: int, n_sources: int) -> list[dict[str, Any]]:
    """Measure all ways with so many sources of one split."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    with shared_classifiers():
        return [record for rescaled in (False, True) for record in way_records(family, split, n_sources, rescaled)]


def way_records(family: str, split: int, n_sources: int, rescaled: bool) -> Iterator[dict[str, Any]]:
    """Measure all ways with so many sources, with columns as they are or multiplied."""
    sources, groups, targets = split_with_groups(family, split, rescaled)
    # All are measured once, not again by their number.
    if n_sources != ALL and len(sources) <= n_sources:
        return
    ways: dict[str, Any] = {
        DEFAULT: AutoRatioEstimator(random_state=0),
        COMMON: AutoRatioEstimator(scale="none", random_state=0),
    }
    if n_sources:
        collection = Collection.from_arrays(sources[:n_sources], groups=groups[:n_sources])
        for estimator in ways.values():
            estimator.pretrain(collection)
    if n_sources:
        ways[WITHOUT] = AutoRatioEstimator(random_state=0)
    if not rescaled:
        ways[COLUMNS] = AutoRatioEstimator(scale="columns", random_state=0)
    if n_sources and not rescaled:
        ways[COLUMNS].pretrain(collection)
        ways[CLOSED_FORM] = DiscriminantRatioEstimator().pretrain(collection)
    for size in SIZES:
        pairs = draw_pairs(targets, size, np.random.default_rng([split, size]))
        if len(pairs) < 4:
            continue
        errors = {way: [round(error(estimator, pair), 4) for pair in pairs] for way, estimator in ways.items()}
        n_used = min(n_sources, len(sources))
        known = {"family": family, "split": split, "n_sources": n_used, "is_all": n_sources == ALL}
        yield known | {"rescaled": rescaled, "n_support": size, "errors": errors}


def all_sources_records(family: str, split: int) -> list[dict[str, Any]]:
    """Measure the default with all sources of one split."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    sources, targets = split_family(family, split)
    default = AutoRatioEstimator(random_state=0).pretrain(Collection.from_arrays(sources))
    found = []
    for size in SIZES[:3]:
        pairs = draw_pairs(targets, size, np.random.default_rng([split, size]), _MANY_PAIRS)
        J = float(np.mean([error(default, pair) for pair in pairs]))
        known = {"family": family, "split": split, "n_sources": len(sources), "n_support": size}
        found.append(known | {"pairs": len(pairs), "J": round(J, 4)})
    return found


def one_row_records(families: list[str], splits: range) -> Iterator[dict[str, Any]]:
    """Give J with one row per sample and no sources, for each factor of the network's log-ratio."""
    warnings.simplefilter("ignore")
    of_families = []
    for family in families:
        errors = []
        for split in splits:
            for pair in draw_pairs(split_family(family, split)[1], 1, np.random.default_rng([split, 1])):
                with_factors = []
                for factor in FACTORS:
                    auto._SHARPER = factor
                    with_factors.append(error(AutoRatioEstimator(random_state=0), pair))
                errors.append(with_factors)
        of_families.append(np.mean(errors, axis=0))
        yield one_row_record(family, errors)
    yield one_row_record("all", of_families)


def one_row_record(family: str, errors: Any) -> dict[str, Any]:
    """Give the mean of each factor, and the standard error of its difference from none."""
    apart = np.subtract(errors, np.array(errors)[:, :1])
    of_apart = apart.std(0, ddof=1) / len(apart) ** 0.5
    found = {
        f"J at factor {factor:g}": round(float(J), 4) for factor, J in zip(FACTORS, np.mean(errors, 0), strict=True)
    }
    return (
        {"family": family, "n": len(apart)}
        | found
        | {
            f"error of {factor:g} less 1": round(float(each), 4)
            for factor, each in zip(FACTORS[1:], of_apart[1:], strict=True)
        }
    )


def print_gaps() -> None:
    """Print J of all ways by family and number of sources, and how often the default is behind.

    The best way of a cell is lucky too: it is also picked on other splits than those that it is compared on.
    """
    cells: dict[tuple[Any, ...], dict[str, dict[int, list[float]]]] = defaultdict(lambda: defaultdict(dict))
    plain: dict[tuple[Any, ...], dict[str, list[float]]] = {}
    for record in map(json.loads, RECORDS.read_text().splitlines()):
        n_sources, split = "all" if record["is_all"] else record["n_sources"], record["split"]
        key = record["family"], n_sources, record["n_support"]
        errors = record["errors"]
        if not record["rescaled"]:
            plain[*key, split] = errors
        else:
            # Others do not depend on units, but for rounding.
            errors = plain[*key, split] | errors
        for way, values in errors.items():
            cells[record["rescaled"], *key][way][split] = values
    for has_sources, rescaled in product((True, False), (False, True)):
        found = []
        for (is_rescaled, *key), errors in cells.items():
            if is_rescaled == rescaled and bool(key[1]) == has_sources:
                means = {way: _mean(splits, splits) for way, splits in errors.items()}
                best = min(means, key=means.__getitem__)
                without = WITHOUT if WITHOUT in errors else DEFAULT
                same, without = (dict.fromkeys(errors[DEFAULT], way) for way in (best, without))
                others = {split: _pick(errors, split) for split in same}
                found.append((key, means, *(_is_behind(errors, each) for each in (same, others, without))))
        _, _, *counts = zip(*found, strict=True)
        behind, behind_others, worse = map(sum, counts)
        name = f"{'with' if has_sources else 'without'} sources, {'rescaled' if rescaled else 'as they are'}"
        sys.stdout.write(
            f"\n{name}: the default is behind the best way by 0.01 and two standard errors in {behind} of {len(found)} "
            f"cells, in {behind_others} where the best way is picked on other splits; worse than without sources in "
            f"{worse}.\n"
        )
        for way in found[0][1]:
            shown = [f"{np.mean([means[way] for key, means, *_ in found if key[2] == size]):.3f}" for size in SIZES]
            sys.stdout.write(f"{way:>14}: {' / '.join(shown)}\n")
        for key, means, is_behind, *_ in found:
            if is_behind:
                sys.stdout.write(f"  {key} {' '.join(f'{way} {value:.3f}' for way, value in means.items())}\n")


def _mean(errors: dict[int, list[float]], splits: Iterable[int]) -> float:
    return float(np.mean([value for split in splits for value in errors[split]]))


def _pick(errors: dict[str, dict[int, list[float]]], left_out: int) -> str:
    """Return the best way on all splits but one."""
    splits = [split for split in errors[DEFAULT] if split != left_out]
    return min(errors, key=lambda way: _mean(errors[way], splits))


def _is_behind(errors: dict[str, dict[int, list[float]]], ways: dict[int, str]) -> bool:
    """Return whether the default is behind a way per split by 0.01 and by two standard errors of the paired gap."""
    apart = np.concatenate([np.subtract(errors[DEFAULT][split], errors[way][split]) for split, way in ways.items()])
    return bool(apart.mean() > max(0.01, 2 * apart.std(ddof=1) / len(apart) ** 0.5))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--families", nargs="+", choices=list(FAMILIES), default=list(FAMILIES))
    parser.add_argument("--sources", type=int, nargs="+", default=[0, 2, 5, 10, 20, 40, ALL])
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--first", type=int, default=0, help="number of the first split")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--gaps", action="store_true", help="print how far behind the default is by the records")
    parser.add_argument("--all-sources", action="store_true", help="measure the default alone, with all sources")
    parser.add_argument("--one-row", action="store_true", help="measure factors at one row per sample, no sources")
    args = parser.parse_args()
    if args.gaps:
        return print_gaps()
    splits = range(args.first, args.first + args.splits)
    if args.one_row:
        for record in one_row_records(args.families, splits):
            sys.stdout.write(json.dumps(record | circumstances()) + "\n")
        return None
    if args.all_sources:
        tasks = [joblib.delayed(all_sources_records)(family, split) for split, family in product(splits, args.families)]
    else:
        cells = product(splits, args.families, args.sources)
        tasks = [joblib.delayed(cell_records)(family, split, n) for split, family, n in cells]
    parallel = joblib.Parallel(args.jobs, return_as="generator_unordered")
    where = circumstances(torch.device("cpu"))
    for found in parallel(tasks):
        for record in found:
            sys.stdout.write(json.dumps(record | where) + "\n")
        sys.stdout.flush()
    return None


if __name__ == "__main__":
    main()
