"""What a dataset is judged by: columns on the scale that suits them, and how they are related."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from fewratio import Collection, compare_all
from fewratio.many.novelty import Profiles


def related(n_datasets, n_rows=50, seed=0):
    """Three columns, of which the first two say nearly the same, at places that differ from dataset to dataset."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(n_datasets, n_rows, 1))
    rows = np.concatenate([common + 0.5 * rng.normal(size=(n_datasets, n_rows, 2)), rng.normal(size=common.shape)], 2)
    return list(rows + rng.normal(0, 2, (n_datasets, 1, 3)))


def judge(known, new, **settings):
    return compare_all({f"{i}": X for i, X in enumerate(known)}, new={"new": new}, random_state=0, **settings)


def test_features_are_those_computed_one_by_one():
    samples = related(5, 9)
    profiles = Profiles.of(samples, "abc")
    assert profiles.names[2:4] == [("c", "mean"), ("a", "deviation")]
    assert profiles.names[9:] == [(f"{pair[0]} and {pair[1]}", "correlation") for pair in ("ab", "ac", "bc")]
    within = np.concatenate([each - each.mean(0) for each in samples])
    within /= within.std(0)
    # A ridge of three columns per 45 rows: each column is regressed on the others, and on further rows.
    residuals = []
    for column in range(3):
        others = [i for i in range(3) if i != column]
        penalty = 3**0.5 * np.eye(3)[:, others]
        by = np.concatenate([within[:, others], penalty])
        slopes = np.linalg.lstsq(by, np.append(within[:, column], [0, 0, 0]))[0]
        residuals.append(within[:, column] - within[:, others] @ slopes)
    for i, sample in enumerate(samples):
        np.testing.assert_allclose(profiles.values[i, :3], sample.mean(0))
        np.testing.assert_allclose(profiles.values[i, 3:6], sample.std(0))
        np.testing.assert_allclose(
            profiles.values[i, 9:], spearmanr(sample).statistic[np.triu_indices(3, 1)], atol=1e-9
        )
        own = np.transpose(residuals)[9 * i : 9 * i + 9]
        np.testing.assert_allclose(profiles.values[i, 6:9], own.std(0))


@pytest.mark.parametrize("change", [lambda x: 2 * x.mean() - x, lambda x: np.roll(x, 7)], ids=["reversed", "broken"])
def test_a_relation_that_no_other_dataset_has_is_found(change):
    *known, new = related(20)
    assert judge(known, new).new_p_values["new"] > 0.05
    new[:, 0] = change(new[:, 0])
    found = judge(known, new)
    assert found.new_p_values["new"] == 1 / 20
    named = [(each.column, each.statistic) for each in found.new_columns("new") if each.is_outside]
    assert ("0 and 1", "correlation") in named
    assert "Farthest: 0 and 1, correlation" in found.verdict("new")


@pytest.mark.parametrize("factor", [1e3, 1e-3, 1e-6])
def test_another_unit_of_a_skewed_column_is_found_and_named_first(factor):
    rng = np.random.default_rng(1)
    sizes = np.exp(rng.normal(16, 1.6, (40, 1, 1)) + rng.normal(0, 0.2, (40, 12, 1)))
    *known, new = np.concatenate([sizes, rng.normal(60, 8, (40, 12, 1))], axis=2)
    assert judge(known, new).new_p_values["new"] > 0.05
    found = judge(known, new * [factor, 1])
    assert found.new_p_values["new"] <= 0.05
    first = found.new_columns("new")[0]
    assert (first.column, first.statistic, first.is_outside) == ("0", "mean", True)
    assert found.verdict("new").endswith("in the others.")


def test_of_many_columns_each_is_looked_at_beside_those_most_related_to_it():
    rng = np.random.default_rng(0)
    half = rng.normal(size=(20, 30, 40))
    *known, new = np.concatenate([half, half + 0.1 * rng.normal(size=half.shape)], axis=2)
    pairs = [name for name, statistic in Profiles.of([*known, new], range(80)).names if statistic == "correlation"]
    assert {f"{i} and {i + 40}" for i in range(40)} <= set(pairs)
    assert len(pairs) <= 3 * 80
    new[:, 3] *= -1
    assert judge(known, new).new_p_values["new"] == 1 / 20


def test_other_new_datasets_do_not_matter():
    *known, new = related(20)
    new[:, 0] *= -1
    alone = judge(known, new)
    both = compare_all({f"{i}": X for i, X in enumerate(known)}, new={"new": new, "other": 1e9 * new}, random_state=0)
    np.testing.assert_array_equal(alone.profiles["new"].scores, both.profiles["new"].scores)


def test_a_single_row_and_columns_without_any_difference_can_be_judged():
    known = [np.array([[float(i), 1.0]]) for i in range(20)]
    assert judge(known, np.array([[3.5, 1.0]])).new_p_values["new"] > 0.05
    assert judge(known, np.array([[900.0, 1.0]])).new_p_values["new"] == 1 / 21


def test_a_new_dataset_beyond_few_others_says_that_they_are_too_few():
    rng = np.random.default_rng(0)
    known = {f"day {number}": rng.normal(size=(20, 2)) for number in range(6)}
    result = compare_all(known, new={"today": rng.normal(9, 1, (20, 2))}, random_state=0)
    expected = "today differs more from the 6 other datasets than any of these does, but they are too few to rule out"
    assert result.verdict("today").startswith(expected)


def test_one_of_two_groups_does_not_stand_out():
    rng = np.random.default_rng(0)
    groups = {
        f"{name} {number}": rng.normal(mean, 1, (30, 2))
        for name, mean in (("low", 0), ("high", 6))
        for number in "abcd"
    }
    assert compare_all(groups, random_state=0).outstanding == ""
    assert "odd" in compare_all(groups | {"odd": rng.normal(40, 1, (30, 2))}, random_state=0).outstanding


@pytest.mark.slow
def test_a_rare_category_does_not_hide_what_is_unlike_all_others():
    rng = np.random.default_rng(0)

    def draw(n):
        kind = np.array([rng.choice(["a", "b", "c"], n, p=(0.7, 0.25, 0.05))], dtype=object).T
        return np.hstack([rng.normal(rng.normal(size=3), 1, (n, 3)).astype(object), kind])

    known = {str(number): draw(40) for number in range(40)}
    found = []
    for _ in range(8):
        rows = draw(30)
        rows[:, 0] = rows[:, 0].mean() + 4 * (rows[:, 0] - rows[:, 0].mean())
        (p_value,) = compare_all(Collection.from_arrays(known), new={"new": rows}).new_p_values.values()
        found.append(p_value <= 0.05)
    assert sum(found) >= 7
