"""Changes of a series: where they are, what chance reports, and the same row by row."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from fewratio import KLIEP, RuLSIF, detect_changes
from fewratio.applications import ChangeDetector, ChangePoints
from fewratio.errors import InputError, ParameterError
from tests.strategies import quick, seeds

QUICK = dict(n_permutations=19, level=0.05, random_state=0)


def two_changes(seed=0):
    """A change of mean at 40 and one of spread at 80, in two columns."""
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(0, 1, (40, 2)), rng.normal(4, 1, (40, 2)), rng.normal(4, 0.1, (40, 2))])


def test_planted_changes_are_found():
    found = detect_changes(two_changes(), window=15, **QUICK)
    assert len(found.points) == 2
    assert np.abs(found.points - [40, 80]).max() <= 3
    assert found.p_values.tolist() == [0.05, 0.05]
    assert (found.scores[found.points] > found.threshold).all()


def test_scores_are_the_divergences_of_both_directions():
    series = two_changes()
    found = detect_changes(series, window=10, estimator=RuLSIF(), threshold=0.5)
    assert np.flatnonzero(~np.isnan(found.scores)).tolist() == list(range(10, 111))
    for position in (10, 40, 110):
        before, after = series[position - 10 : position], series[position : position + 10]
        both = RuLSIF().fit(before, after).divergence() + RuLSIF().fit(after, before).divergence()
        assert found.scores[position] == pytest.approx(both)
    assert found.p_values is None


@pytest.mark.parametrize("law", [lambda rng: rng.standard_t(2, 40), lambda rng: rng.integers(0, 2, 40)])
def test_chance_reports_a_change_no_more_often_than_the_level(law):
    level, reported = 0.1, 0
    for seed in range(30):
        series = law(np.random.default_rng(seed))
        found = detect_changes(series, window=8, n_permutations=19, level=level, step=4, random_state=seed)
        reported += len(found.points) > 0
    assert reported <= binom.ppf(0.999, 30, level)


def test_blocks_stay_together_when_rows_depend_on_each_other():
    rng = np.random.default_rng(0)
    series = np.repeat(rng.normal(size=20), 5) + rng.normal(0, 0.01, 100)
    alone, together = (detect_changes(series, window=10, block=block, **QUICK) for block in (1, 5))
    assert together.threshold > alone.threshold


@given(st.integers(2, 6), st.integers(0, 10), seeds)
@quick
def test_points_are_a_window_apart_and_inside(window, more, seed):
    series = np.random.default_rng(seed).normal(size=2 * window + more)
    found = detect_changes(series, window, threshold=-1.0)
    assert len(found.points)
    assert (np.diff(found.points) >= window).all()
    assert found.points.min() >= window
    assert found.points.max() <= len(series) - window


@given(st.integers(2, 5), st.integers(1, 3), seeds)
@quick
def test_row_by_row_gives_the_same_scores(window, n_features, seed):
    series = np.random.default_rng(seed).normal(size=(3 * window + 2, n_features))
    found = detect_changes(series, window, threshold=0.1)
    detector = ChangeDetector(window, 0.1, found.estimator)
    scores = []
    for row in series:
        detector.update(row)
        scores.append(detector.score_)
    assert np.isnan(scores[: 2 * window - 1]).all()
    assert np.allclose(scores[2 * window - 1 :], found.scores[window : len(series) - window + 1])


def test_row_by_row_a_change_is_reported_once():
    series = two_changes()[:80]
    detector = ChangeDetector(15, 0.4)
    reports = [number for number, row in enumerate(series) if detector.update(row)]
    assert len(reports) == 1
    assert 40 < reports[0] <= 55
    assert detector.changes_ == [reports[0] + 1 - 15]
    assert detector.n_rows_ == 80


@pytest.mark.parametrize(
    "kind",
    [list, pd.Series, pl.Series, torch.from_numpy, lambda x: x[:, None], lambda x: pd.DataFrame({"a": x})],
)
def test_a_series_may_be_of_any_kind(kind):
    series = two_changes()[:, 0]
    expected = detect_changes(series, window=15, threshold=0.5)
    found = detect_changes(kind(series), window=15, threshold=0.5)
    assert np.array_equal(found.points, expected.points)
    assert np.array_equal(found.scores, expected.scores, equal_nan=True)


def test_any_estimator_will_do():
    found = detect_changes(two_changes()[20:60], window=15, estimator=KLIEP(), threshold=0.1)
    assert np.abs(found.points - 20).min() <= 3


@pytest.mark.parametrize("value", [0.0, 7.5])
def test_nothing_changes_in_a_constant_series(value):
    assert len(detect_changes(np.full(30, value), window=5, **QUICK).points) == 0


def test_the_same_seed_gives_the_same():
    first, second = (detect_changes(two_changes(), window=15, **QUICK) for _ in range(2))
    assert first.to_dict() == second.to_dict()


def test_the_result_can_be_read_stored_and_drawn():
    found = detect_changes(two_changes(), window=15, threshold=0.5)
    assert isinstance(found, ChangePoints)
    assert repr(found).startswith("ChangePoints: ")
    stored = json.loads(json.dumps(found.to_dict()))
    assert stored["points"] == found.points.tolist()
    assert stored["scores"][0] is None
    axes = found.plot()
    assert len(axes.lines) == 2 + len(found.points)
    assert found.plot(axes) is axes


@pytest.mark.parametrize(
    ("series", "options", "error", "message"),
    [
        (np.zeros(9), {"window": 5}, InputError, "series has 9 rows"),
        ([0.0, np.inf] * 5, {"window": 5}, InputError, "series has 5 infinite"),
        (np.zeros(10), {"window": 0}, ParameterError, "window is 0"),
        (np.zeros(10), {"window": 2.5}, ParameterError, "window is 2.5"),
        (np.zeros(10), {"window": 5, "step": 0}, ParameterError, "step is 0"),
        (np.zeros(10), {"window": 5, "block": -1}, ParameterError, "block is -1"),
        (np.zeros(10), {"window": 5, "n_permutations": 50}, ParameterError, "a level of 0.01 needs at least 99"),
        (np.zeros(10), {"window": 5, "level": 2}, ParameterError, "level is 2"),
        (np.zeros(10), {"window": 5, "threshold": np.nan}, ParameterError, "threshold is nan"),
        (np.zeros(10), {"window": 5, "estimator": 1}, ParameterError, "estimator is 1"),
    ],
)
def test_errors_name_the_argument(series, options, error, message):
    with pytest.raises(error, match=message):
        detect_changes(series, **options)


def test_rows_with_other_columns_are_refused():
    detector = ChangeDetector(3, 0.5)
    detector.update([0.0, 1.0])
    with pytest.raises(InputError, match="row has shape"):
        detector.update(0.0)
    with pytest.raises(InputError, match="row has shape"):
        detector.update([[0.0, 1.0], [0.0, 1.0]])
    assert detector.n_rows_ == 1
