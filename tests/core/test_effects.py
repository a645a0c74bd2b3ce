import numpy as np
import pytest

from fewratio.core.effects import means_apart, shares_apart


def test_cohens_d_and_h_by_hand():
    rng = np.random.default_rng(0)
    first, second = rng.normal(2, 1, 4000), rng.normal(0, 2, 3000)
    assert means_apart(first, second) == pytest.approx(2 / np.sqrt(2.5), abs=0.05)
    assert shares_apart(np.array([1.0]), np.array([0.0])) == pytest.approx(np.pi)


def test_weights_count_in_the_mean_of_the_first_rows():
    first, second = np.array([0.0, 4.0]), np.array([0.0, 0.0, 4.0, 4.0])
    assert means_apart(first, second) == 0
    assert means_apart(first, second, np.array([0.0, 1.0])) == pytest.approx(1)


@pytest.mark.parametrize("n_rows", [3, 300])
def test_no_effect_is_larger_than_a_hundred_deviations(n_rows):
    assert means_apart(np.ones(n_rows), np.full(n_rows, 2.0)) == -100
    assert means_apart(np.linspace(9, 9.001, n_rows), np.linspace(2, 2.001, n_rows)) == 100


def test_a_small_deviation_beside_a_large_mean_counts():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=40), rng.normal(2, size=40)
    expected = means_apart(first, second)
    assert means_apart(first + 1e13, second + 1e13) == pytest.approx(expected, abs=0.01)


def test_equal_constants_have_no_effect():
    assert means_apart(np.full(20, 0.1), np.full(300, 0.1)) == 0
    assert means_apart(np.full(20, 0.1), np.full(300, 0.1 + 2e-17)) == 0
