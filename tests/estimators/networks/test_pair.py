"""Pairs: shares that sum to one per sample, whatever is padding."""

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given

from fewratio.errors import InputError
from fewratio.estimators.networks.pair import Episode, Pair
from tests.strategies import normal, pairs, quick, seeds, with_padding


@quick
@given(pair=pairs(), seed=seeds)
def test_shares_are_one_over_n_on_the_own_side_and_zero_elsewhere(pair, seed):
    n_nu, n_de = len(pair.nu), len(pair.de)
    expected = np.zeros((2, n_nu + n_de))
    expected[0, :n_nu], expected[1, n_nu:] = 1 / n_nu, 1 / n_de
    np.testing.assert_allclose(pair.shares, expected, rtol=1e-15)
    padded = with_padding(pair, seed)
    real = padded.shares.sum(0) > 0
    np.testing.assert_allclose(padded.shares[:, real], expected, rtol=1e-15)
    assert (padded.shares[:, ~real] == 0).all()
    torch.testing.assert_close(padded.rows[real], pair.rows, rtol=0, atol=0)


@quick
@given(pair=pairs(), seed=seeds)
def test_products_with_the_shares_are_the_means_of_each_side(pair, seed):
    values = normal(seed, len(pair.rows))
    nu, de = pair.shares @ values
    n_nu = len(pair.nu)
    np.testing.assert_allclose([nu, de], [values[:n_nu].numpy().mean(), values[n_nu:].numpy().mean()], atol=1e-14)


def test_tasks_of_a_batch_have_their_own_masks():
    mask = torch.tensor([[True, False, False], [True, True, True]])
    pair = Pair(torch.zeros(2, 3, 1), torch.zeros(2, 2, 1), nu_mask=mask)
    assert pair.shares.shape == (2, 2, 5)
    torch.testing.assert_close(pair.shares[:, 0, :3], torch.tensor([[1, 0, 0], [1 / 3] * 3]))
    torch.testing.assert_close(pair.shares[:, 1, 3:], torch.full((2, 2), 0.5))
    assert (pair.shares.sum(-1) == 1).all()


def test_without_masks_shares_have_no_leading_axes():
    assert Pair(torch.zeros(4, 3, 1), torch.zeros(4, 2, 1)).shares.shape == (2, 5)


def test_sides_of_a_joined_pair():
    rows = normal(0, 6, 2)
    pair = Pair(rows[:2], rows[2:])
    again = Pair.from_joined(pair.rows, pair.shares, 2)
    torch.testing.assert_close((again.nu, again.de), (rows[:2], rows[2:]), rtol=0, atol=0)


def test_repr_shows_the_shapes():
    assert repr(Pair(torch.zeros(4, 3, 2), torch.zeros(4, 5, 2))) == "Pair(nu=(4, 3, 2), de=(4, 5, 2))"


def test_pairs_are_frozen():
    pair = Pair(torch.zeros(1, 2), torch.zeros(1, 2))
    with pytest.raises(dataclasses.FrozenInstanceError):
        pair.n_nu = 2


def test_episodes_keep_their_rows_joined():
    support, query = (Pair(normal(seed, 3, 2, 1), normal(seed + 1, 3, seed + 1, 1)) for seed in (0, 2))
    episode = Episode(support, query)
    assert list(episode) == [support, query]
    torch.testing.assert_close(episode.rows, torch.cat([support.nu, support.de, query.nu, query.de], dim=1))
    again = Episode.from_joined(episode.rows, support.shares, query.shares, support.n_nu, query.n_nu)
    for mine, other in zip(again, episode, strict=True):
        for side in ("nu", "de", "shares"):
            assert torch.equal(getattr(mine, side), getattr(other, side))


def test_a_sample_without_rows_is_refused():
    with pytest.raises(InputError, match=r"^de has 0 rows of"):
        Pair(torch.zeros(3, 1), torch.zeros(0, 1))
