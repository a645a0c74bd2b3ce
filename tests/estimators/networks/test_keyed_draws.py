"""Random numbers by counter: the published generator, uniform, and the same whatever is drawn beside them."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fewratio.estimators.networks.training.keyed_draws import fold, ranks, uniform
from tests.strategies import quick

keys = st.integers(-(2**63), 2**63 - 1)
MASK = 2**64 - 1


def splitmix64(state):
    """Steele, Lea and Flood's generator in unbounded integers."""
    z = state & MASK
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


@quick
@given(key=keys)
def test_numbers_are_splitmix64s(key):
    # torch's 64-bit integers wrap round, unbounded ones do not: equality means that no overflow does harm.
    expected = [(splitmix64(key + i * 0x9E3779B97F4A7C15) >> 40) / 2**24 for i in range(1, 6)]
    assert uniform(torch.tensor(key), 5).tolist() == expected


def test_first_numbers_of_seed_zero_are_the_published_ones():
    published = (0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F)
    assert uniform(torch.tensor(0), 3).tolist() == [(value >> 40) / 2**24 for value in published]


@quick
@given(key=keys, data=keys)
def test_fold_gives_new_keys(key, data):
    folded = fold(torch.tensor(key), data)
    assert folded.dtype == torch.int64
    assert folded.item() != key
    assert folded.item() == fold(torch.tensor(key), torch.tensor(data)).item()
    # One bit of either argument turns about half of the bits: fewer than ten of 64 has probability 1e-9.
    neighbours = (fold(torch.tensor(key ^ 1), data), fold(torch.tensor(key), data ^ 1))
    assert all(bin((folded ^ other).item() & MASK).count("1") >= 10 for other in neighbours)


def test_the_same_numbers_for_a_key_whatever_the_batch_and_the_count():
    seeds = torch.tensor([[3, 5, 7], [11, 13, 17]])
    batch = uniform(fold(seeds, 4), 9)
    for row in range(2):
        for column in range(3):
            alone = uniform(fold(seeds[row, column], 4), 5)
            assert torch.equal(batch[row, column, :5], alone)
    steps = fold(seeds[0], torch.arange(4).unsqueeze(-1))
    assert torch.equal(steps[2], fold(seeds[0], 2))


def key_of_first_bits(bits):
    """Run splitmix64 backwards: the key whose first 64 bits are these."""
    z = unshift(bits, 31) * pow(0x94D049BB133111EB, -1, 2**64) & MASK
    z = unshift(z, 27) * pow(0xBF58476D1CE4E5B9, -1, 2**64) & MASK
    key = (unshift(z, 30) - 0x9E3779B97F4A7C15) & MASK
    return torch.tensor(key if key < 2**63 else key - 2**64)


def unshift(y, by):
    x = y
    for _ in range(64 // by):
        x = y ^ (x >> by)
    return x


def test_the_largest_number_is_just_below_one_and_the_smallest_is_zero():
    largest, smallest = uniform(key_of_first_bits(MASK), 1), uniform(key_of_first_bits(0), 1)
    assert largest.dtype == torch.float32
    assert largest.item() == 1 - 2**-24
    assert smallest.item() == 0


@pytest.mark.parametrize(
    "draws",
    [
        lambda n: uniform(torch.tensor(0), n),
        lambda n: uniform(torch.arange(n), 1)[:, 0],
        lambda n: uniform(fold(torch.tensor(0), torch.arange(n)), 1)[:, 0],
        lambda n: uniform(
            fold(fold(torch.tensor(0), torch.arange(n // 4)).unsqueeze(-1), torch.arange(4)), 1
        ).flatten(),
    ],
    ids=["one key", "keys in a row", "steps in a row", "roles of steps"],
)
def test_numbers_are_uniform_and_neighbours_independent(draws):
    n = 40_000
    cells = (draws(n) * 16).long().numpy()
    counts = np.bincount(cells, minlength=16)
    pairs = np.bincount(16 * cells[:-1] + cells[1:], minlength=256)
    # The numbers are fixed, so a fair generator passes for good; 1e-3 leaves room for one unlucky key among these.
    assert stats.chisquare(counts).pvalue > 1e-3
    assert stats.chisquare(pairs).pvalue > 1e-3


def test_streams_of_different_seeds_steps_and_roles_are_uncorrelated():
    seed, step, role = torch.arange(5).view(-1, 1, 1), torch.arange(5).view(-1, 1), torch.arange(4)
    streams = uniform(fold(fold(seed, step), role), 4000).reshape(100, 4000)
    correlation = np.corrcoef(streams.numpy())
    off = correlation[np.triu_indices(100, 1)]
    # 4950 correlations with standard error 4000^-1/2: none beyond 5 standard errors, and together of that size.
    assert abs(off).max() < 5 * 4000**-0.5
    assert off.std() == pytest.approx(4000**-0.5, rel=0.05)


def test_ranks_are_distinct_and_every_order_is_as_likely():
    drawn = ranks(torch.arange(6000), 3)
    assert (drawn.sort(-1).values.diff(dim=-1) > 0).all()
    _, counts = drawn.argsort(-1).unique(dim=0, return_counts=True)
    assert len(counts) == 6
    # 1000 expected of each, standard deviation 29.
    assert (counts - 1000).abs().max() < 120
    assert (ranks(torch.arange(50), 1024).sort(-1).values.diff(dim=-1) > 0).all()
