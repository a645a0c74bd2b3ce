"""The test of several samples: exact, and as the two-sample test sees each of them."""

import numpy as np
import pytest

from fewratio.testing.several_samples import adjust_by_holm, several_samples_test
from tests.levels import N_DRAWS, assert_level_is_kept

COLUMNS = [slice(0, 1), slice(1, 2), slice(2, 3)]


def draw(seed, sizes=(5, 9, 14)):
    rng = np.random.default_rng(seed)
    rows = np.round(rng.normal(size=(sum(sizes), 3)), 1)
    rows[:, 2] = rows[:, 2] > 1
    return rows, rng.permutation(np.repeat(np.arange(len(sizes)), sizes)), rng


def test_the_shifted_sample_and_its_column_are_found():
    rows, labels, rng = draw(0, (12, 30, 40))
    rows[labels == 1, 1] += 2
    found = several_samples_test(rows, labels, COLUMNS, 199, rng)
    assert found.p_value == found.sample_p_values[1] == found.column_p_values[1, 1] == 1 / 200
    assert found.column_p_values[:, [0, 2]].min() > 0.05
    assert found.n_tested == 82


def test_order_of_rows_and_numbers_of_samples_do_not_matter():
    rows, labels, _ = draw(1)
    found = several_samples_test(rows, labels, COLUMNS, 99, np.random.default_rng(0))
    order, numbers = np.random.default_rng(2).permutation(len(rows)), np.array([2, 0, 1])
    again = several_samples_test(rows[order], numbers[labels[order]], COLUMNS, 99, np.random.default_rng(0))
    assert again.p_value == found.p_value
    np.testing.assert_array_equal(again.sample_p_values[numbers], found.sample_p_values)
    np.testing.assert_array_equal(again.column_p_values[numbers], found.column_p_values)


def test_labels_change_within_blocks_only():
    rows, _, rng = draw(3, (4, 4, 4))
    labels, blocks = np.tile([0, 1, 2], 4), np.repeat(np.arange(4), 3)
    # All rows of a block are equal: no permutation within blocks changes anything.
    rows = np.repeat(rows[::3], 3, axis=0)
    assert several_samples_test(rows, labels, COLUMNS, 49, rng, blocks=blocks).p_value == 1
    rows[:, 0] += 5 * labels
    assert several_samples_test(rows, labels, COLUMNS, 199, rng, blocks=blocks).p_value <= 0.05


@pytest.mark.parametrize(
    ("labels", "blocks", "smallest"),
    [
        # 90 ways, of which 6 only change names.
        ([0, 0, 1, 1, 2, 2], None, 6 / 90),
        # Three ways in each block.
        ([0, 0, 1, 1, 2, 2], [0, 0, 0, 1, 1, 1], 1 / 9),
        # Whole blocks change samples.
        ([0, 0, 1, 1, 2, 2, 2, 2], [0, 0, 1, 1, 2, 2, 3, 3], 2 / 12),
    ],
)
def test_the_smallest_p_value_is_counted(labels, blocks, smallest):
    rows = np.random.default_rng(0).normal(size=(len(labels), 3))
    blocks = None if blocks is None else np.array(blocks)
    found = several_samples_test(rows, np.array(labels), COLUMNS, 99, np.random.default_rng(0), blocks=blocks)
    assert found.smallest_p_value == pytest.approx(smallest)


@pytest.mark.slow
def test_level_of_groups_and_columns():
    found = []
    for seed in range(N_DRAWS):
        rows, labels, rng = draw(seed)
        test = several_samples_test(rows, labels, COLUMNS, 19, rng, levels={2: rows[:, 2].astype(int)})
        found.append((test.p_value, test.sample_p_values.min(), test.column_p_values.min()))
    for p_values in np.transpose(found):
        assert_level_is_kept(p_values <= 0.05)


def test_holm_agrees_with_its_definition():
    p_values = np.random.default_rng(0).uniform(size=7) ** 3
    for level in (0.01, 0.05, 0.2):
        # Reject the smallest as long as it is at most the level divided by how many are left.
        left = sorted(p_values)
        while left and left[0] <= level / len(left):
            left.pop(0)
        assert (adjust_by_holm(p_values) <= level).sum() == len(p_values) - len(left)
