"""How often regions, relations and groups are named without reason, how often regions are found, and their cost.

Writes JSON lines:

python benchmarks/regions.py planted --draws 400 --seed 40 --jobs 16 >> results/benchmarks/regions.jsonl
python benchmarks/regions.py null --draws 1000 --seed 41 --jobs 16 >> results/benchmarks/regions.jsonl
python benchmarks/regions.py relations --draws 1000 --seed 42 --jobs 16 >> results/benchmarks/regions.jsonl
python benchmarks/regions.py groups --draws 3000 --seed 50 --jobs 16 >> results/benchmarks/regions.jsonl
python benchmarks/regions.py test-of-groups --draws 4000 --seed 90 --jobs 16 >> results/benchmarks/regions.jsonl
python benchmarks/regions.py cost >> results/benchmarks/regions.jsonl

``planted``: ten uniform columns, 600 rows per table. A square of the first two holds 5 % of one table and 20 % of the
other; where it is changes with each draw. The first region is right if its intersection with the square is at
least 0.7 of their union, counted in rows; ``interval_holds`` is how often the interval of its ratio has the true one,
that of many more rows. ``null``: tables with ties, categories and gaps. ``relations``: tables
with ties, categories and gaps whose columns are related in the same way in both; ``named`` is the share of draws with a
relation. Where ``shift`` is not 0, means and shares differ. ``cost``: processor seconds of the comparison, and
of `result.regions` after it, where three columns differ in mean or spread, so that there are several regions.
``groups``: three groups of such a null table, with 99 permutations; how often all together, a group, a pair or a column
has a p-value up to 0.05, and how often the answer names a group. ``test-of-groups``: the same by the test alone, which
takes a tenth of the time.
"""

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from typing import Any
from unittest.mock import patch

import numpy as np

from everyday.plan import run_draws
from fewratio import compare_datasets
from fewratio.compare.comparison import ComparisonResult, split_groups
from fewratio.compare.divergence import CrossFit
from fewratio.compare.relations import describe_relations
from fewratio.data.raw_table import as_raw
from fewratio.estimators.samples import default_estimator, read_samples
from fewratio.testing import LEVEL, two_sample_test
from fewratio.testing.several_samples import several_samples_test
from fewratio_bench.records import circumstances

SIDE = 0.05**0.5
# Rows that show the true shares of a region.
MANY = 20_000
SIZES = (2_000, 30), (50_000, 30), (2_000, 500)


def compare_without_model(*tables: Any, **options: Any) -> Any:
    """Compare without a model: it is slow, and no p-value or region depends on it."""
    nothing: Any = {"divergence": 0.0, "at_least": 0.0, "is_held_out": True, "variant": 0}

    def cross_fit(_: Any, rows: Any, *__: Any) -> CrossFit:
        return CrossFit(ratios=np.ones(len(rows)), **nothing)

    with patch("fewratio.compare.comparison.cross_fit", cross_fit):
        return compare_datasets(*tables, **options)


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


def find_planted(rng: np.random.Generator) -> tuple[float, bool, int, float]:
    """Return the overlap of the square with the first region, and more about it."""
    low = rng.uniform(0, 1 - SIDE, 2)
    tables = [plant(rng, low, share) for share in (0.2, 0.05)]
    result = compare_without_model(*tables, n_permutations=1)
    if not result.regions:
        return 0.0, False, 0, np.nan
    region, counts = result.regions[0], np.zeros(2)
    for X, rows in zip(tables, result.rows(region), strict=True):
        found, truth = np.isin(np.arange(len(X)), rows), is_inside(X, low)
        counts += (found & truth).sum(), (found | truth).sum()
    shares = [holds(region, plant(rng, low, share, MANY)).mean() for share in (0.2, 0.05)]
    return (
        counts[0] / counts[1],
        {each.column for each in region.conditions} == {0, 1},
        len(result.regions),
        region.ratio_low <= shares[0] / shares[1] <= region.ratio_high,
    )


def measure_planted(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Count draws in which the first region is the square."""
    found = np.array(run_draws(find_planted, args.draws, args.seed, args.jobs), dtype=float)
    overlaps, right_columns, n_named, held = found.T
    yield {
        "what": "planted",
        "draws": args.draws,
        "right": float((overlaps >= 0.7).mean()),
        "right_columns": float(right_columns.mean()),
        "interval_holds": round(float(np.nanmean(held)), 4),
        "mean_overlap": round(float(overlaps.mean()), 3),
        "regions_per_draw": float(n_named.mean()),
    }


def draw_mixed(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """Draw a table with ties, categories and gaps."""
    return {
        "number": rng.normal(size=n),
        "count": rng.poisson(1, n),
        "category": rng.choice(list("abcdefg"), n),
        "gaps": np.where(rng.uniform(size=n) < 0.2, np.nan, rng.normal(size=n)),
        "skewed": rng.exponential(size=n),
    }


def is_any_named(rng: np.random.Generator, sizes: tuple[int, int]) -> bool:
    """Return whether a region is named."""
    tables = [draw_mixed(rng, n) for n in sizes]
    return bool(compare_without_model(*tables, n_permutations=1, random_state=rng).regions)


def measure_null(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Count draws in which a region is named though nothing differs."""
    for sizes in ((150, 150), (40, 160), (12, 12)):
        named = np.mean(run_draws(is_any_named, args.draws, args.seed, args.jobs, sizes))
        yield {"what": "null", "rows": sizes, "draws": args.draws, "named": float(named)}


def draw_related(rng: np.random.Generator, n: int, shift: float) -> dict[str, Any]:
    """Draw a table with ties, categories and gaps whose columns are related; a shift changes means and shares."""
    share = 1 / 3 + shift / 5
    groups = rng.choice(3, n, p=[share, 1 / 3, 2 / 3 - share])
    number = groups + rng.normal(size=n) + shift
    total = number + rng.normal(size=n)
    return {
        "group": np.array(["a", "b", "c"])[groups],
        "number": number,
        "total": np.where(rng.uniform(size=n) < 0.1, np.nan, total),
        "count": rng.poisson(np.exp(groups / 2)),
        "kind": np.where(rng.uniform(size=n) < 0.3 + 0.2 * groups, "x", "y"),
    }


def find_relation(rng: np.random.Generator, sizes: tuple[int, int], shift: float) -> tuple[bool, bool]:
    """Return whether two tables differ, and whether a relation is named then."""
    tables = draw_related(rng, sizes[0], 0), draw_related(rng, sizes[1], shift)
    # As `compare_datasets` does it, without the model, which takes longer.
    samples = read_samples(default_estimator(), {"A": tables[0], "B": tables[1]}, {})
    rows = np.concatenate([table.numbers for table in samples.tables], dtype=np.float64)
    codes = samples.category_codes
    levels = {place: codes[label] for place, label in enumerate(samples.columns) if label in codes}
    columns = [place for _, place in samples.columns.values()]
    test = two_sample_test(rows, np.arange(len(rows)) < sizes[0], columns, 99, rng, levels=levels)
    differ = test.p_value <= LEVEL
    return differ, differ and bool(describe_relations(samples, test.pairs, test.pair_p_values, LEVEL))


def measure_relations(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Count draws in which a relation is named though none differs."""
    for sizes in ((40, 60), (20, 120)):
        for shift in (0.0, 0.8):
            found = run_draws(find_relation, args.draws, args.seed, args.jobs, sizes, shift)
            differ, named = np.mean(found, axis=0).tolist()
            shares = {"named": named, "differ": differ}
            yield {"what": "relations", "rows": sizes, "shift": shift, "draws": args.draws, **shares}


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


def draw_groups(rng: np.random.Generator, sizes: Sequence[int]) -> dict[str, Any]:
    """Draw a table of which a column names three groups that do not differ."""
    return {**draw_mixed(rng, sum(sizes)), "group": rng.permutation(np.repeat(list("abc"), sizes))}


def find_groups(rng: np.random.Generator, sizes: Sequence[int]) -> list[bool]:
    """Return whether all groups together, a group, a pair or a column differ, and whether a group is named."""
    table = draw_groups(rng, sizes)
    result = compare_datasets(table, by="group", n_permutations=99, random_state=rng)
    p_values = (
        [result.p_value],
        [each.p_value for each in result.groups],
        [each.adjusted_p_value for each in result.pairs],
        [each.p_value for each in result.columns],
    )
    return [*(min(each) <= LEVEL for each in p_values), result.most_different is not None]


def test_groups(rng: np.random.Generator, sizes: Sequence[int]) -> list[bool]:
    """Return the same for all together, a group and a column, by the test alone: no models and no pairs."""
    tables = split_groups(as_raw(draw_groups(rng, sizes), "A"), "group", None)
    samples = read_samples(default_estimator(), tables, {})
    rows = np.concatenate([table.numbers for table in samples.tables], dtype=np.float64)
    labels = np.repeat(np.arange(len(tables)), [table.n_rows for table in samples.tables])
    places = [place for _, place in samples.columns.values()]
    test = several_samples_test(rows, labels, places, 99, rng, **samples.test_options)
    return [bool(each <= LEVEL) for each in (test.p_value, test.sample_p_values.min(), test.column_p_values.min())]


def measure_groups(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Count draws in which groups differ though nothing does."""
    sizes = 8, 15, 30
    found = run_draws(find_groups, args.draws, args.seed, args.jobs, sizes)
    names = "all together", "any group", "any pair", "any column", "named"
    shares = dict(zip(names, np.mean(found, axis=0).round(4).tolist(), strict=True))
    yield {"what": "groups", "rows": sizes, "draws": args.draws, **shares}


def measure_test_of_groups(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Count draws in which the test of groups finds a difference though there is none."""
    sizes = 8, 15, 30
    found = run_draws(test_groups, args.draws, args.seed, args.jobs, sizes)
    shares = dict(
        zip(("all together", "any group", "any column"), np.mean(found, axis=0).round(4).tolist(), strict=True)
    )
    yield {"what": "test of groups", "rows": sizes, "draws": args.draws, **shares}


MEASURES = {
    "planted": measure_planted,
    "null": measure_null,
    "relations": measure_relations,
    "cost": measure_cost,
    "groups": measure_groups,
    "test-of-groups": measure_test_of_groups,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=list(MEASURES))
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    args = parser.parse_args()
    for record in MEASURES[args.what](args):
        print(json.dumps({**record, "seed": args.seed, **circumstances()}), flush=True)


if __name__ == "__main__":
    main()
