"""Ranks are uniform and independent, the wealth is as if every start were counted by itself, and bets find changes."""

import numpy as np
import pytest
from scipy.stats import kstest, norm

from fewratio.monitor.betting import _N_BETS, SHIFTS, RankBets, share_of_start
from fewratio.monitor.scores import N_BINS, count_bins, find_bins, learn_scores, make_edges, sum_products


def make_bets(known, is_two=False):
    edges = make_edges(known[: len(known) // 5])[None]
    counts = count_bins(edges, known[len(known) // 5 :, None])
    return RankBets(counts, np.array([round(known.mean() * 0.8 * len(known)) if is_two else -1.0])), edges


def test_shares_of_starts_sum_to_one():
    shares = np.exp(share_of_start(np.arange(100_000)))
    assert shares.sum() == pytest.approx(1 - 1 / (1 + np.log1p(100_000) / 8))
    assert (np.diff(shares) < 0).all()


@pytest.mark.parametrize("draw", ["normal", "two values", "many ties"])
def test_ranks_of_exchangeable_rows_are_uniform_and_independent(draw):
    """Over many short streams: each rank, and the products of a rank with the next."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(200):
        rows = {
            "normal": lambda: rng.normal(size=32),
            "two values": lambda: (rng.random(32) < 0.2).astype(float),
            "many ties": lambda: rng.integers(3, size=32).astype(float),
        }[draw]()
        bets, edges = make_bets(rows[:20])
        found.append(bets.bet(find_bins(edges, rows[20:, None]), rng.random((12, 1)))[0][:, 0])
    found = np.array(found)
    assert all(kstest(ranks, "uniform").pvalue > 0.001 for ranks in found.T)
    assert np.abs(np.corrcoef(found.T) - np.eye(12)).max() < 4 / 200**0.5


def test_the_wealth_is_that_of_all_starts_one_by_one():
    rng = np.random.default_rng(1)
    bets, edges = make_bets(rng.normal(size=50))
    ranks, evidence = bets.bet(find_bins(edges, rng.normal(size=(30, 1))), rng.random((30, 1)))
    gains = SHIFTS * norm.ppf(ranks) - SHIFTS**2 / 2
    expected = np.zeros(len(SHIFTS))
    for start in range(30):
        expected += np.exp(share_of_start(np.array(start)) + gains[start:].sum(0)) / _N_BETS
    assert np.exp(bets.wealth[0, : len(SHIFTS)]) == pytest.approx(expected)
    assert evidence[-1] == pytest.approx(bets.evidence)


@pytest.mark.parametrize("size", [1, 7])
def test_blocks_do_not_matter(size):
    rng = np.random.default_rng(2)
    known, bins, ties = rng.normal(size=60), None, rng.random((21, 1))
    whole, edges = make_bets(known)
    bins = find_bins(edges, rng.normal(size=(21, 1)))
    parts, _ = make_bets(known)
    expected = whole.bet(bins, ties)
    found = [parts.bet(bins[i : i + size], ties[i : i + size]) for i in range(0, 21, size)]
    for place in range(2):
        assert np.concatenate([each[place] for each in found]) == pytest.approx(expected[place])


def test_two_values_that_change_are_found():
    rng = np.random.default_rng(3)
    bets, edges = make_bets((rng.random(500) < 0.1).astype(float), is_two=True)
    calm = bets.bet(find_bins(edges, (rng.random((30, 1)) < 0.1).astype(float)), rng.random((30, 1)))[1]
    changed = bets.bet(find_bins(edges, (rng.random((30, 1)) < 0.6).astype(float)), rng.random((30, 1)))[1]
    assert calm.max() < np.log(10)
    assert changed[-1] > np.log(1000)
    assert bets.is_higher(0)


def test_rows_without_a_score_change_nothing():
    bets, edges = make_bets(np.arange(50.0))
    before = {name: getattr(bets, name).copy() for name in bets.kept}
    bets.bet(find_bins(edges, np.full((3, 1), np.nan)), np.full((3, 1), 0.5))
    for name, array in before.items():
        assert np.array_equal(getattr(bets, name), array)


@pytest.mark.parametrize("values", [np.zeros(5), np.full(5, 1e300), np.arange(1000.0), np.array([np.nan, 1.0])])
def test_every_value_has_a_bin_and_repeated_ones_have_their_own(values):
    edges = make_edges(values)[None]
    bins = find_bins(edges, np.array([[-1e308], [0.0], [values[-1]], [1e308]]))
    assert (np.diff(bins, axis=0) >= 0).all()
    assert bins.min() >= 0
    assert bins.max() < N_BINS
    assert bins[2] % 2 == 1


def test_learned_scores_are_higher_for_rows_like_the_window():
    rng = np.random.default_rng(4)
    known, mixture = rng.normal(size=(500, 3)), np.array([[1, 0.9, 0], [0, 0.4, 0], [0, 0, 1]])
    shift, _ = learn_scores(sum_products(known), rng.normal(size=(64, 3)) + 0.5)
    _, covariance = learn_scores(sum_products(known), rng.normal(size=(64, 3)) @ mixture)
    fresh = rng.normal(size=(500, 3))
    assert shift(fresh + 0.5).mean() > shift(fresh).mean() + shift(fresh).std() / 2
    assert covariance(fresh @ mixture).mean() > covariance(fresh).mean() + covariance(fresh).std() / 4
