"""Starts of changes: found, with ranges that contain them as often as they should."""

import numpy as np
import pytest

from fewratio import DriftMonitor
from fewratio.monitor.start import compare_normals, compare_shares, find_start, rank_among

RNG = np.random.default_rng(0)


def test_ranks_of_equal_values_are_between_those_of_their_neighbours():
    known = np.array([1.0, 2.0, 2.0, 3.0])
    ranks = rank_among(np.array([0.0, 2.0, 2.0, 4.0]), known, np.array([0.5, 0.0, 1.0, 0.5]))
    assert ranks == pytest.approx([0.1, 0.2, 0.8, 0.9])


@pytest.mark.parametrize("change", [lambda z: z + 2, lambda z: z * 4])
def test_a_change_of_values_is_located(change):
    rows = RNG.normal(size=120)
    rows[80:] = change(rows[80:])
    row, low, high = find_start(compare_normals(rank_among(rows, RNG.normal(size=1000), RNG.random(120))))
    assert low <= 80 <= high
    assert low <= row <= high
    assert high - low < 30


def test_a_change_of_a_share_is_located():
    ones = (RNG.random(120) < np.where(np.arange(120) < 80, 0.05, 0.7)).astype(float)
    row, low, high = find_start(compare_shares(ones, (RNG.random(500) < 0.05).astype(float)))
    assert low <= 80 <= high
    assert low <= row <= high < 90


@pytest.mark.slow
def test_ranges_contain_the_start_in_about_nine_of_ten_streams():
    """`benchmarks/monitor.py since` measures more."""
    found = []
    for seed in range(40):
        rng = np.random.default_rng([1, seed])
        rows = rng.normal(size=(400, 3))
        rows[200:, 1] += 1
        since = DriftMonitor(rng.normal(size=(300, 3))).update(rows).since
        found.append(since is not None and since.low <= 200 <= since.high)
    assert np.mean(found) >= 0.8


def test_what_began_before_the_rows_that_are_kept_may_have_begun_at_any_moment(monkeypatch):
    monkeypatch.setattr("fewratio.monitor.monitor._MOST_CELLS", 256)
    monitor = DriftMonitor(RNG.normal(size=(1000, 1)), level=1e-15)
    state = monitor.update(RNG.normal(size=(500, 1)) + 0.7)
    assert state.alarm_row > 128
    assert state.since.low == 0
