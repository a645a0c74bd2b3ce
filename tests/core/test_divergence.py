"""Divergences: batches, padding and blocks give what each pair gives alone."""

import math

import pytest
import torch

from fewratio.core.divergence import kullback_leibler_divergence, mmd2
from fewratio.estimators.networks.pair import Pair
from tests.strategies import normal


def discrepancy(pair, sigma, biased=False):
    return mmd2(pair.rows, pair.shares, sigma, biased)


@pytest.mark.parametrize("biased", [True, False])
def test_a_padded_batch_is_a_loop_over_pairs(biased):
    nu, de = normal(0, 4, 6, 3), normal(1, 4, 5, 3)
    n_nu, n_de = [2, 6, 3, 5], [5, 2, 4, 3]
    masks = [torch.arange(rows.shape[1]) < torch.tensor(n)[:, None] for rows, n in ((nu, n_nu), (de, n_de))]
    sigma = torch.tensor([0.5, 1.0, 2.0, 4.0], dtype=torch.float64)
    batch = discrepancy(Pair(nu, de, *masks), sigma, biased)
    alone = [discrepancy(Pair(nu[i, : n_nu[i]], de[i, : n_de[i]]), sigma[i].item(), biased) for i in range(4)]
    torch.testing.assert_close(batch, torch.stack(alone))


def test_blocks_of_rows_make_the_whole():
    pair = Pair(normal(0, 1000, 20, 3), normal(1, 1000, 15, 3))  # too many for all rows at once
    whole = [discrepancy(Pair(*part), 1.0) for part in zip(pair.nu.split(100), pair.de.split(100), strict=True)]
    torch.testing.assert_close(discrepancy(pair, 1.0), torch.cat(whole))


def test_one_row_has_no_unbiased_estimate():
    pair = Pair(normal(0, 1, 2), normal(1, 3, 2))
    assert math.isnan(discrepancy(pair, 1.0))
    assert discrepancy(pair, 1.0, biased=True) >= 0


def test_the_kullback_leibler_divergence_is_a_mean_over_the_numerator():
    ratio = torch.tensor([2.0, 0.5], dtype=torch.float64)
    assert kullback_leibler_divergence(ratio).item() == pytest.approx(0, abs=1e-12)
    ratio[0] = 0
    assert kullback_leibler_divergence(ratio).isfinite()
