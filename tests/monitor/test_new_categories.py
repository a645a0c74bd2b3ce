"""Ranks by how seldom a category is are uniform and independent, and new categories have names."""

import numpy as np
import pytest
from scipy.stats import kstest

from fewratio.data.raw_table import as_raw
from fewratio.monitor.new_categories import NewCategories


def read(categories):
    return as_raw({"kind": [str(each) for each in categories]})


@pytest.mark.parametrize("draw", [lambda rng: rng.zipf(1.5, 32), lambda rng: rng.choice(3, 32, p=[0.9, 0.08, 0.02])])
def test_ranks_of_exchangeable_rows_are_uniform_and_independent(draw):
    rng, found = np.random.default_rng(0), []
    for _ in range(300):
        rows, new = draw(rng), NewCategories(["kind"])
        new.learn(read(rows[:20]))
        found.append(new.rank(new.read(read(rows[20:]), 0), rng.random((12, 1)))[:, 0])
    found = np.array(found)
    assert all(kstest(ranks, "uniform").pvalue > 0.001 for ranks in found.T)
    assert np.abs(np.corrcoef(found.T) - np.eye(12)).max() < 4 / 300**0.5


def test_rows_of_a_new_category_have_the_largest_ranks():
    new = NewCategories(["kind"])
    new.learn(read(["a"] * 50 + ["b"] * 50))
    ranks = new.rank(new.read(read(["x", "a", "x"]), 0), np.full((3, 1), 0.5))[:, 0]
    assert ranks == pytest.approx([1 - 0.5 / 101, 0.5 * 51 / 102, 1 - 1 / 103])


def test_names_are_kept_of_new_categories_only():
    new = NewCategories(["kind", "gone"])
    new.learn(as_raw({"kind": ["a", "b"], "gone": ["c", "c"]}))
    assert new.read(read(["a", "x"]), 10)[:, 1].tolist() == [-1, -1]
    new.read(read(["y", "y", None, "x", "x"]), 12)
    assert new.names == [{"x": [11, 3], "y": [12, 2], "None": [14, 1]}, {}]
    assert new.describe("kind", 17) == "has 'x', which the reference never had, in 3 of 6 rows"
