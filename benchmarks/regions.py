"""How often regions, relations and groups are named without reason, how often regions are found, and their cost.

Writes JSON lines:

python benchmarks/regions.py planted --draws 100 >> results/benchmarks/regions.jsonl
python benchmarks/regions.py null --draws 400 >> results/benchmarks/regions.jsonl
python benchmarks/regions.py relations --draws 1000 >> results/benchmarks/regions.jsonl
python benchmarks/regions.py cost >> results/benchmarks/regions.jsonl
python benchmarks/regions.py groups --draws 400 >> results/benchmarks/regions.jsonl
python benchmarks/regions.py groups --draws 500 --seed 1 >> results/benchmarks/regions.jsonl

``planted``: ten uniform columns, 600 rows per table. A square of the first two holds 5 % of one table and 20 % of the
other; where it is changes with each draw. The first region is right if its intersection with the square is at
least 0.7 of their union, counted in rows; ``interval_holds`` is how often the interval of its ratio has the true one,
that of many more rows. ``null``: tables with ties, categories and gaps. ``relations``: 40 and 60
rows with ties, categories and gaps, whose columns are related in the same way in both tables; ``named`` is the share of
draws with a relation. In the second record means and shares differ. ``cost``: processor seconds of the comparison, and
of `result.regions` after it, where three columns differ in mean or spread, so that there are several regions.
``groups``: three groups of such a null table, with 99 permutations; how often all together, a group, a pair or a column
has a p-value up to 0.05, and how often the answer names a group.
"""

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import numpy as np

from fewratio import compare_datasets
from fewratio.compare.comparison import ComparisonResult
from fewratio.compare.divergence import CrossFit
from fewratio.compare.relations import describe_relations
from fewratio.estimators.samples import default_estimator, read_samples
from fewratio.testing import LEVEL, two_sample_test
from fewratio_bench.records import circumstances

SIDE = 0.05**0.5
# Rows that show the true shares of a region.
MANY = 20_000
SIZES = (2_000, 30), (50_000, 30), (2_000, 500)


def leave_out_model() -> None:
    """Make no model in comparisons: it is slow, and no p-value or region depends on it."""
    nothing: Any = {"divergence": 0.0, "at_least": 0.0, "is_held_out": True, "variant": 0}
    patch(
        "fewratio.compare.comparison.cross_fit", lambda _, rows, *__: CrossFit(ratios=np.ones(len(rows)), **nothing)
    ).start()


def plant(rng: np.random.Generator, low: Any, share: float, n: int = 600) -> Any:
    """Draw a table of which a share of the rows is in a square."""
    X = rng.uniform(size=(n, 10))
    n_inside = round(share * n)
    while (is_wrong := is_inside(X[n_inside:], low)).any():
        X[n_inside:][is_wrong, :2] = rng.uniform(size=(int(is_wrong.sum()), 2))
    X[:n_inside, :2] = low + SIDE * rng.uniform(size=(n_inside, 2))
    return X


def is_inside(X: Any, low: Any) -> Any:
    """Whether rows are in the square."""
    return ((X[:, :2] >= low) & (X[:, :2] < low + SIDE)).all(1)


def holds(region: Any, X: Any) -> Any:
    """Whether rows are in a region of numbers."""
    is_in = np.ones(len(X), dtype=bool)
    for each in region.conditions:
        values = X[:, each.column]
        is_in &= (each.low is None or values > each.low) & (each.high is None or values <= each.high)
    return is_in


def measure_planted(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Count draws in which the first region is the square."""
    rng = np.random.default_rng(args.seed)
    overlaps, n_first, n_named, held = [], 0, [], []
    for _ in range(args.draws):
        low = rng.uniform(0, 1 - SIDE, 2)
        tables = [plant(rng, low, share) for share in (0.2, 0.05)]
        result = compare_datasets(*tables, n_permutations=1)
        n_named.append(len(result.regions))
        overlap = 0.0
        if result.regions:
            counts = np.zeros(2)
            for X, rows in zip(tables, result.rows(result.regions[0]), strict=True):
                found, truth = np.isin(np.arange(len(X)), rows), is_inside(X, low)
                counts += (found & truth).sum(), (found | truth).sum()
            overlap = counts[0] / counts[1]
            n_first += {each.column for each in result.regions[0].conditions} == {0, 1}
            region = result.regions[0]
            shares = [holds(region, plant(rng, low, share, MANY)).mean() for share in (0.2, 0.05)]
            held.append(region.ratio_low <= shares[0] / shares[1] <= region.ratio_high)
        overlaps.append(overlap)
    yield {
        "what": "planted",
        "draws": args.draws,
        "right": float((np.array(overlaps) >= 0.7).mean()),
        "right_columns": n_first / args.draws,
        "interval_holds": float(np.mean(held)),
        "mean_overlap": round(float(np.mean(overlaps)), 3),
        "regions_per_draw": float(np.mean(n_named)),
    }


def draw_mixed(rng: np.random.Generator, n: int) -> Any:
    """Draw a table with ties, categories and gaps."""
    import pandas as pd

    return pd.DataFrame(
        {
            "number": rng.normal(size=n),
            "count": rng.poisson(1, n),
            "category": rng.choice(list("abcdefg"), n),
            "gaps": np.where(rng.uniform(size=n) < 0.2, np.nan, rng.normal(size=n)),
            "skewed": rng.exponential(size=n),
        }
    )


def measure_null(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Count draws in which a region is named though nothing differs."""
    rng = np.random.default_rng(args.seed)
    for sizes in ((150, 150), (40, 160), (12, 12)):
        n_named = 0
        for _ in range(args.draws):
            tables = draw_mixed(rng, sizes[0]), draw_mixed(rng, sizes[1])
            n_named += bool(compare_datasets(*tables, n_permutations=1, random_state=int(rng.integers(2**31))).regions)
        yield {"what": "null", "rows": sizes, "draws": args.draws, "named": n_named / args.draws}


def draw_related(rng: np.random.Generator, n: int, shift: float) -> Any:
    """Draw a table with ties, categories and gaps whose columns are related; a shift changes means and shares."""
    import pandas as pd

    share = 1 / 3 + shift / 5
    groups = rng.choice(3, n, p=[share, 1 / 3, 2 / 3 - share])
    number = groups + rng.normal(size=n) + shift
    total = number + rng.normal(size=n)
    return pd.DataFrame(
        {
            "group": np.array(["a", "b", "c"])[groups],
            "number": number,
            "total": np.where(rng.uniform(size=n) < 0.1, np.nan, total),
            "count": rng.poisson(np.exp(groups / 2)),
            "kind": np.where(rng.uniform(size=n) < 0.3 + 0.2 * groups, "x", "y"),
        }
    )


def measure_relations(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Count draws in which a relation is named though none differs."""
    rng = np.random.default_rng(args.seed)
    for shift in (0.0, 0.8):
        n_named, n_differ = 0, 0
        for _ in range(args.draws):
            tables = draw_related(rng, 40, 0), draw_related(rng, 60, shift)
            # As `compare_datasets` does it, without the model, which takes longer.
            samples = read_samples(default_estimator(), {"A": tables[0], "B": tables[1]}, {})
            rows = np.concatenate([table.numbers for table in samples.tables], dtype=np.float64)
            codes = samples.category_codes
            levels = {place: codes[label] for place, label in enumerate(samples.columns) if label in codes}
            columns = [place for _, place in samples.columns.values()]
            test = two_sample_test(rows, np.arange(len(rows)) < 40, columns, 99, rng, levels=levels)
            if test.p_value <= LEVEL:
                n_differ += 1
                n_named += bool(describe_relations(samples, test.pairs, test.pair_p_values, LEVEL))
        shares = {"named": n_named / args.draws, "differ": n_differ / args.draws}
        yield {"what": "relations", "rows": [40, 60], "shift": shift, "draws": args.draws, **shares}


def measure_cost(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Time regions of tables of several sizes."""
    rng = np.random.default_rng(args.seed)
    for n, d in SIZES:
        A, B = rng.normal(size=(n, d)), rng.normal(size=(n, d))
        B[:, 0] += 0.5
        B[:, 1] *= 1.5
        B[:, 2] -= 0.3
        start = time.process_time()
        result: ComparisonResult = compare_datasets(A, B, n_permutations=1)
        between = time.process_time()
        n_regions = len(result.regions)
        seconds = {"comparison_s": round(between - start, 2), "regions_s": round(time.process_time() - between, 2)}
        yield {"what": "cost", "rows": [n, n], "columns": d, "regions": n_regions, **seconds}


def measure_groups(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Count draws in which groups differ though nothing does."""
    rng = np.random.default_rng(args.seed)
    sizes, found = (8, 15, 30), []
    for _ in range(args.draws):
        table = draw_mixed(rng, sum(sizes)).assign(group=rng.permutation(np.repeat(list("abc"), sizes)))
        result = compare_datasets(table, by="group", n_permutations=99, random_state=int(rng.integers(2**31)))
        pairs, columns, groups = (
            min(getattr(each, name) for each in held) <= 0.05
            for held, name in (
                (result.pairs, "adjusted_p_value"),
                (result.columns, "p_value"),
                (result.groups, "p_value"),
            )
        )
        found.append((result.p_value <= 0.05, groups, pairs, columns, result.most_different is not None))
    names = "all together", "any group", "any pair", "any column", "named"
    shares = dict(zip(names, np.mean(found, axis=0).round(4).tolist(), strict=True))
    yield {"what": "groups", "rows": sizes, "draws": args.draws, **shares}


MEASURES = {
    "planted": measure_planted,
    "null": measure_null,
    "relations": measure_relations,
    "cost": measure_cost,
    "groups": measure_groups,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=list(MEASURES))
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.what != "cost":
        leave_out_model()
    for record in MEASURES[args.what](args):
        print(json.dumps({**record, "seed": args.seed, **circumstances()}), flush=True)


if __name__ == "__main__":
    main()
