"""What does each constant in choosing do? The error J and the time of learning with half of it and twice as much.

Grids of candidates lose a value or get one more. Constants in learning from rows are judged by the default with 5 and
with all sources, those in learning from summaries by the closed form with summaries of 3 sources (too few to hold out)
and of all, and those of the mean without sources by the default without any. J (Eq. 8) is that of defaults.py. One JSON
line per constant and value: the mean of J less its mean with the constant as it is, the standard error over families
and splits, the share of pairs whose error changed, and the median ratio of the processor times.

With the default families it takes about 70 processor minutes, with all twelve (``--families all``) about four hours.

    python benchmarks/constants.py --jobs 16 > results/benchmarks/constants.jsonl
"""

import argparse
import json
import sys
import time
import warnings
from collections import defaultdict
from contextlib import ExitStack
from itertools import product
from typing import Any
from unittest import mock

import joblib
import numpy as np
import torch

from defaults import ALL, draw_pairs, error
from everyday.families import FAMILIES, split_family
from fewratio import AutoRatioEstimator, Collection, DiscriminantRatioEstimator
from fewratio.estimators import SourceMap
from fewratio.estimators.closed_form import discriminant, discriminant_choice, source_prior
from fewratio.estimators.mixtures import auto, source_shares
from fewratio_bench.records import circumstances

MODULES = (source_prior, discriminant_choice, discriminant, source_shares, auto)
# Small families of different kinds.
FEW_FAMILIES = ["vowels", "weather", "penguins", "donors", "cardiotocography"]
SUMMARIES = ("_SHRINKAGE_OF_FEW", "_IN_COMMON")
# Not a choice: what files were made for, and limits of memory and rounding. Private summaries: summaries.py --private.
FIXED = (
    *("SIZES", "ALPHA", "MOST_ROWS", "_ALPHAS", "CACHED_VALUES", "_KEPT_VALUES", "_MAX_ROWS", "_ROUNDING"),
    "_SHRINKAGES_OF_NOISE",
)
# Cases (way, number of sources), and rows per sample.
CASES = {
    "sources": ([("sources", 5), ("sources", ALL)], (1, 5)),
    "summaries": (list(product(("columns", "cosines"), (3, ALL))), (1, 5)),
    "without sources": ([("without sources", 0)], (1, 5, 60, 150, 250)),
}
AS_IT_IS = "", "", ""


def constants() -> dict[tuple[str, str], Any]:
    """Return every number and every grid of numbers by module and name."""
    found = {}
    for module in MODULES:
        for name, value in vars(module).items():
            is_grid = type(value) is tuple and all(isinstance(each, int | float) for each in value)
            is_value = is_grid or isinstance(value, int | float | np.ndarray)
            is_new = name.startswith("_") or name not in [known for _, known in found]
            if name.isupper() and is_value and is_new and name not in FIXED:
                found[module.__name__, name] = value
    return found


def values_of(value: Any) -> dict[str, Any]:
    """Return the values to try instead of one."""
    if isinstance(value, np.ndarray):
        return {"every second": value[::2], "those between too": np.sort([*value, *(value[1:] + value[:-1]) / 2])}
    if isinstance(value, tuple):
        more = round(value[-1] ** 2 / value[-2], 4) if value[0] else sum(value) / 2
        return {
            str(each): each for each in (value[1:], value[:-1], (*value, min(more, 1.0) if value[-1] <= 1 else more))
        }
    half, double = (max(1, value // 2), 2 * value) if isinstance(value, int) else (value / 2, 2 * value)
    # A share is at most one.
    double = min(double, 1.0) if isinstance(value, float) and value < 1 else double
    return {f"{each:.4g}": each for each in (half, double) if each != value}


def group_of(module: str, name: str) -> str:
    return "summaries" if name in SUMMARIES else "without sources" if module == auto.__name__ else "sources"


def learn(way: str, sources: list[np.ndarray]) -> Any:
    if way == "without sources":
        return AutoRatioEstimator(random_state=0)
    if way == "sources":
        return AutoRatioEstimator(random_state=0).pretrain(Collection.from_arrays(sources))
    example = np.concatenate([rows[:5] for rows in sources])
    source_map = SourceMap.from_table(example, n_components=128 if way == "cosines" else 0)
    return DiscriminantRatioEstimator().pretrain([source_map.summarise(rows) for rows in sources])


def measure(
    change: tuple[str, str, str], family: str, split: int, case: tuple[str, int], sizes: tuple[int, ...]
) -> tuple[float, list[float]]:
    """Return the processor time and the errors of all pairs, with one constant changed."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    module, name, label = change
    (way, n_sources), (sources, targets) = case, split_family(family, split)
    with ExitStack() as changed:
        if name:
            value = values_of(constants()[module, name])[label]
            # A public name is imported by others, and read there.
            places = [each for each in MODULES if each.__name__ == module or (name[0] != "_" and hasattr(each, name))]
            for place in places:
                changed.enter_context(mock.patch.object(place, name, value))
        start = time.process_time()
        estimator = learn(way, sources[:n_sources])
        learned = time.process_time()
        pairs = [pair for size in sizes for pair in draw_pairs(targets, size, np.random.default_rng([split, size]))]
        errors = [error(estimator, pair) for pair in pairs]
    return (learned if n_sources else time.process_time()) - start, errors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = constants()
    parser.add_argument("--families", nargs="+", choices=[*FAMILIES, "all"], default=FEW_FAMILIES)
    parser.add_argument("--constants", nargs="+", choices=[name for _, name in known], help="default: all")
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    families = list(FAMILIES) if "all" in args.families else args.families
    chosen = [key for key in known if args.constants is None or key[1] in args.constants]
    changes = [(*key, label) for key in chosen for label in values_of(known[key])]
    tasks = {}
    for cell in product(families, range(args.splits)):
        for group, (cases, sizes) in CASES.items():
            of_group = [change for change in changes if group_of(*change[:2]) == group]
            for case, change in product(cases, [AS_IT_IS, *of_group] if of_group else []):
                tasks[change, *cell, case] = sizes
    parallel = joblib.Parallel(args.jobs)
    done = parallel(joblib.delayed(measure)(*key, sizes) for key, sizes in tasks.items())
    measured = dict(zip(tasks, done, strict=True))
    where = circumstances(torch.device("cpu"))
    for change in changes:
        gaps, ratios, is_changed = defaultdict(list), [], []
        for (of_change, *cell), (seconds, errors) in measured.items():
            if of_change == change and errors:
                seconds_before, errors_before = measured[AS_IT_IS, *cell]
                gaps[*cell[:2]].append(np.mean(errors) - np.mean(errors_before))
                ratios.append(seconds / seconds_before)
                is_changed += [abs(a - b) > 1e-6 for a, b in zip(errors, errors_before, strict=True)]
        of_cells = [float(np.mean(each)) for each in gaps.values()]
        module, name, label = change
        record = {
            "constant": f"{module.rpartition('.')[2]}.{name}",
            "as_it_is": str(known[module, name]),
            "value": label,
        }
        record |= {"J_less": round(float(np.mean(of_cells)), 5), "cells": len(of_cells)}
        record["standard_error"] = (
            round(float(np.std(of_cells, ddof=1) / len(of_cells) ** 0.5), 5) if len(of_cells) > 1 else None
        )
        record |= {"share_changed": round(float(np.mean(is_changed)), 3), "time": round(float(np.median(ratios)), 2)}
        sys.stdout.write(json.dumps(record | where) + "\n")


if __name__ == "__main__":
    main()
