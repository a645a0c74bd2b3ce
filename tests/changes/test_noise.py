"""Kinds of noise that are no changes, and kinds of change that are named as what they are."""

import sys

import numpy as np
import pandas as pd
import pytest
from scipy.signal import lfilter

from fewratio import detect_changes
from fewratio.changes.kinds import describe_change
from fewratio.changes.noise import _cluster, fit_autoregressions, fit_swings
from fewratio.core.wording import write_number
from fewratio.errors import MissingPackageError, ParameterError

N = 200
TIME = np.arange(N)


def garch(rng):
    noise, variance = rng.normal(size=3 * N), 1.0
    for row, each in enumerate(noise):
        noise[row] = each * np.sqrt(variance)
        variance = 0.05 + 0.15 * noise[row] ** 2 + 0.8 * variance
    return noise


def depend(coefficient, noise):
    return lfilter([1.0], [1.0, -coefficient], noise)


NOISE = {
    "growth": lambda rng: np.exp(0.015 * TIME + 0.1 * rng.normal(size=N)),
    "rain": lambda rng: np.where(rng.random(N) < 0.2, rng.gamma(0.7, 8, N), 0.0),
    "season of the spread": lambda rng: (1 + 0.8 * np.sin(2 * np.pi * TIME / 40)) * rng.normal(size=N),
    "few rows": lambda rng: rng.normal(size=20),
    "few dependent rows": lambda rng: depend(0.5, rng.normal(size=64))[-14:],
    "strong dependence": lambda rng: depend(0.9, rng.normal(size=2 * N))[-N:],
    "random walk": lambda rng: rng.normal(size=N).cumsum(),
    "volatility that clusters": lambda rng: garch(rng)[-N:],
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", NOISE)
def test_noise_is_no_change(kind):
    found = [detect_changes(NOISE[kind](np.random.default_rng(seed))) for seed in range(100, 108)]
    assert sum(len(each.points) > 0 for each in found) <= 1
    assert all((each.scores[each.points] >= 0).all() for each in found)


def test_growth_is_compared_by_logarithms():
    found = detect_changes(NOISE["growth"](np.random.default_rng(0)))
    assert found.points.tolist() == []
    assert found.notes[0].startswith("0: logarithms are compared")
    # Through the data: in their own unit.
    assert found.levels.min() > 0


def test_a_spread_that_swings_is_noted():
    rows = garch(np.random.default_rng(1))
    found = fit_swings(fit_autoregressions(rows[:, None], np.zeros(1), []).standardised)
    assert found.saved[0] > 0
    assert found.persistence[0] > 0.8
    assert any("calm and wild" in note for note in detect_changes(rows).notes)
    assert fit_swings(np.random.default_rng(0).normal(size=(600, 1))).saved == 0


# Two series without a change in which one was found when swings and changes had equal prices.
@pytest.mark.parametrize("seed", [880143, 880203])
def test_a_spread_that_may_swing_raises_doubts_about_a_change(seed):
    assert not len(detect_changes(garch(np.random.default_rng(seed))[N : 2 * N]).points)


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_a_share_that_moves_is_found_and_named(seed):
    rows = (np.random.default_rng(seed).random(N) < np.where(TIME < N // 2, 0.05, 0.5)).astype(float)
    (change,) = detect_changes(rows).changes
    assert change["kind"] == "share"
    assert abs(change["row"] - N // 2) <= 20
    # Of all rows, not of the nearest 20.
    assert change["mean_before"] == pytest.approx(rows[: change["row"]].mean())
    assert change["mean_after"] == pytest.approx(rows[change["row"] :].mean())


def test_columns_share_a_note():
    rng = np.random.default_rng(0)
    grown = {name: np.exp(0.02 * TIME + 0.1 * rng.normal(size=N)) for name in ("gold", "silver")}
    notes = [note for note in detect_changes(pd.DataFrame(grown)).notes if "logarithms" in note]
    assert [note.partition(":")[0] for note in notes] == ["gold, silver"]


def test_the_variance_is_that_of_the_recursion():
    squares, variance, expected = np.random.default_rng(0).normal(size=30) ** 2, 1.0, []
    for square in [1.0, *squares[:-1]]:
        variance = 0.05 + 0.15 * square + 0.8 * variance
        expected.append(variance)
    np.testing.assert_allclose(_cluster(squares, 0.15, 0.95), expected)


def test_autoregressions_are_those_of_each_column():
    rng = np.random.default_rng(0)
    rows, least, points = rng.normal(size=(80, 3)).cumsum(0), np.full(3, 1e-6), [30, 50]
    together = fit_autoregressions(rows, least, points)
    for column in range(3):
        alone = fit_autoregressions(rows[:, [column]], least[:1], np.array(points)[:, None])
        np.testing.assert_allclose(alone.lengths, together.lengths[[column]])
        np.testing.assert_allclose(alone.innovations, together.innovations[:, [column]])
        np.testing.assert_allclose(alone.tails, together.tails[[column]])


CHANGES = {
    "level": lambda noise: noise + 2 * (TIME >= 100),
    "spread": lambda noise: noise * np.where(TIME < 100, 1, 3),
    "slope": lambda noise: noise + 0.2 * np.maximum(TIME - 100, 0),
    "season": lambda noise: 0.5 * noise + 3 * np.sin(2 * np.pi * TIME / 20) * (TIME < 100),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_a_change_is_named_as_what_it_is(kind):
    (change,) = detect_changes(CHANGES[kind](np.random.default_rng(5).normal(size=N))).changes
    assert change["row"] == pytest.approx(100, abs=8)
    assert change["kind"] == kind


def test_other_columns_hide_no_clear_change():
    rng = np.random.default_rng(0)
    series = rng.normal(size=(100, 11))
    series[28:, 4] -= 1.9
    (change,) = detect_changes(series).changes
    assert (change["row"], change["column"]) == (pytest.approx(28, abs=3), "4")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [11, 12])
def test_other_columns_hide_no_season_and_no_step_beside_it(seed):
    rows = np.random.default_rng(seed).normal(size=(200, 8))
    rows[:, 0] += 3 * np.sin(2 * np.pi * np.arange(200) / 37)
    rows[100:, 0] += 4
    (change,) = detect_changes(rows).changes
    assert abs(change["row"] - 100) <= 3
    assert (change["column"], change["kind"]) == ("0", "level")


def test_a_step_that_a_line_explains_too_is_noted_and_found_without_a_trend():
    series = np.random.default_rng(5).normal(size=60) + 1.2 * (np.arange(60) >= 30)
    found = detect_changes(series)
    assert found.points.tolist() == []
    assert any("trend=False" in note for note in found.notes)
    assert detect_changes(series, trend=False).points.tolist() == pytest.approx([30], abs=5)


def test_swings_may_be_changes():
    pytest.importorskip("ruptures")
    slow = np.convolve(np.random.default_rng(0).normal(size=215), np.ones(16) / 4, mode="valid")
    assert len(detect_changes(slow, swings="changes").points) > len(detect_changes(slow).points)
    with pytest.raises(ParameterError, match="cannot be tested"):
        detect_changes(slow, swings="changes", level=0.05)
    with pytest.raises(ParameterError, match="expected 'noise' or 'changes'"):
        detect_changes(slow, swings="slow")


def test_swings_need_ruptures(monkeypatch):
    monkeypatch.setitem(sys.modules, "ruptures", None)
    with pytest.raises(MissingPackageError, match=r"fewratio\[swings\]"):
        detect_changes(np.arange(40.0) % 7, swings="changes")


@pytest.mark.slow
@pytest.mark.parametrize("row", [390, 500])
def test_a_step_is_found_where_the_spread_has_a_season(row):
    # Many changes of spread explain the season too, but worse than the season and one step.
    rng, time = np.random.default_rng(5), np.arange(800)
    series = rng.normal(size=800) * (1 + 0.8 * np.sin(2 * np.pi * time / 200))
    series[row:] += 3
    found = detect_changes(series)
    assert np.abs(found.points - row).max() <= 5
    assert [each["kind"] for each in found.changes] == ["level"]


@pytest.mark.parametrize("n_categories", [2, 3])
def test_a_category_that_becomes_more_frequent_is_a_change(n_categories):
    rng = np.random.default_rng(5)
    shares = [0.7, 0.2, 0.1] if n_categories == 3 else [0.8, 0.2]
    names = list("abc"[:n_categories])
    colours = np.concatenate([rng.choice(names, 100, p=shares), rng.choice(names, 100, p=shares[::-1])])
    (point,) = detect_changes(pd.DataFrame({"colour": colours})).points
    assert abs(point - 100) <= 5


@pytest.mark.parametrize("share", [0.05, 0.5])
def test_chance_changes_no_share(share):
    for seed in range(4):
        assert not len(detect_changes((np.random.default_rng(seed).random(200) < share).astype(float)).points)


def test_a_wild_value_changes_neither_the_kind_of_a_change_nor_what_is_said():
    rows = np.random.default_rng(1).normal(size=301)
    for value in (50, 1e6):
        rows[150] = value
        found = detect_changes(rows)
        assert (found.points.tolist(), found.notes) == ([], ())
    (change,) = detect_changes(rows + 3 * (np.arange(301) >= 200)).changes
    assert (change["row"], change["kind"]) == (200, "level")


@pytest.mark.parametrize("seed", range(3))
def test_noise_begins_where_a_constant_ends(seed):
    noise = np.random.default_rng(seed).normal(size=100)
    constant = np.full(100, 3.0)
    for rows in (np.r_[constant, 3 + noise], np.r_[3 + noise, constant]):
        (change,) = detect_changes(rows).changes
        assert (change["row"], change["kind"]) == (100, "standstill")


@pytest.mark.parametrize(("options", "first"), [({}, 130), pytest.param({"level": 0.05}, 40, marks=pytest.mark.slow)])
def test_a_sensor_that_dies_or_is_stuck_is_found_to_the_row_beside_other_columns(first, options):
    rng, time = np.random.default_rng(first), np.arange(200)
    rows = rng.normal(20, 2, (200, 3))
    for value, beside in ((0.0, rows[:, 1:]), (rows[first, 0], rows[:, 2:])):
        column = np.where(time < first, rows[:, 0], value)
        found = detect_changes(np.column_stack([column, beside]), **options, random_state=0)
        (change,) = found.changes
        assert (change["row"], change["column"], change["kind"]) == (first, "0", "standstill")
        said = f"column 0 stands still at {write_number(value)}, after a mean of"
        assert describe_change(change).startswith(said)
        assert np.allclose(found.levels[first:, 0], value)


def test_a_sensor_that_was_stuck_moves_again_and_hides_no_other_change():
    rng, time = np.random.default_rng(1), np.arange(300)
    rows = rng.normal(20, 2, 300) + 8 * (time >= 220)
    rows[100:150] = rows[100]
    found = detect_changes(rows).changes
    assert [(each["row"], each["kind"]) for each in found] == [(100, "standstill"), (150, "standstill"), (220, "level")]
    assert describe_change(found[1]).endswith(f"moves again, after standing still at {write_number(rows[100])}")


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"level": 0.01}])
def test_a_standstill_beside_a_season_or_a_trend_is_the_only_change(options):
    rng, time = np.random.default_rng(0), np.arange(400)
    season, trend = 5 * np.sin(2 * np.pi * time / 25), 0.1 * time
    for moving in (season, trend):
        for stuck, value in (((time >= 200) & (time < 320), None), (time >= 250, 0.0)):
            rows = 30 + moving + rng.normal(size=400)
            rows[stuck] = rows[stuck][0] if value is None else value
            ends = [200, 320] if value is None else [250]
            found = detect_changes(rows, **options, random_state=0)
            assert [(each["row"], each["kind"]) for each in found.changes] == [(end, "standstill") for end in ends]
            assert "stands still" in describe_change(found.changes[0])
            assert value == 0 or "moves again" in describe_change(found.changes[1])


def test_growth_that_dies_is_compared_by_its_logarithms():
    time = np.arange(200)
    rows = np.exp(0.02 * time + 0.1 * np.random.default_rng(0).normal(size=200)) * (time < 140)
    found = detect_changes(rows)
    assert [(each["row"], each["kind"]) for each in found.changes] == [(140, "standstill")]
    assert describe_change(found.changes[0]).startswith("column 0 stands still at 0,")


def test_a_season_that_stops_beside_a_standstill_is_said_with_it():
    rng, time = np.random.default_rng(0), np.arange(400)
    season = 5 * np.sin(2 * np.pi * time / 25) * (time < 200) + rng.normal(size=400)
    (change,) = detect_changes(np.column_stack([season, np.where(time < 204, rng.normal(20, 2, 400), 0)])).changes
    assert change["row"] == 204
    assert {(each["column"], each["kind"]) for each in (change, *change["also"])} == {
        ("0", "season"),
        ("1", "standstill"),
    }


@pytest.mark.parametrize(("first", "second"), [(6, 0), (10, 0), (0, 6), (8, 16)])
@pytest.mark.parametrize("period", [7, 12])
def test_a_strong_season_that_stops_begins_or_grows_is_found(first, second, period):
    """With one amplitude, such a season would be as far from the rows as none."""
    time = np.arange(240)
    amplitude = np.where(time < 130, first, second)
    rows = np.random.default_rng(period).normal(size=240) + amplitude * np.sin(2 * np.pi * time / period)
    (change,) = detect_changes(rows).changes
    assert change["kind"] == "season"
    assert abs(change["row"] - 130) <= 2


def test_dry_spells_between_single_wet_days_are_no_standstills():
    for seed in range(905, 911):
        rng = np.random.default_rng(seed)
        wet = rng.random(200) < np.repeat([0.5, 0.05], [120, 80])
        found = detect_changes(np.where(wet, rng.gamma(0.8, 5, 200), 0.0).round(1)).changes
        assert not any(each["kind"] == "standstill" for each in found)


def test_zeros_at_night_and_dry_days_are_no_standstills():
    rng, hours = np.random.default_rng(0), np.arange(240)
    sun = np.maximum(0, np.sin(2 * np.pi * hours / 24)) * rng.uniform(0.8, 1, 240)
    rain = rng.gamma(1, 5, 400) * (rng.random(400) < 0.2)
    assert not any(each["kind"] == "standstill" for rows in (sun, rain) for each in detect_changes(rows).changes)


@pytest.mark.parametrize("size", [7, pytest.param(20, marks=pytest.mark.slow)])
def test_low_weekends_are_a_season_beside_which_a_step_is_a_level(size):
    rng, day = np.random.default_rng(size), np.arange(196)
    rows = 50 - size * (day % 7 >= 5) + rng.normal(size=196)
    assert not detect_changes(rows).changes
    (change,) = detect_changes(rows + 3 * (day >= 100)).changes
    assert abs(change["row"] - 100) <= 3
    assert change["kind"] == "level"


@pytest.mark.slow
def test_a_share_is_found_in_zeros_and_ones_as_in_names():
    found = 0
    for seed in range(6):
        ones = np.random.default_rng(seed).random(200) < np.where(np.arange(200) < 100, 0.3, 0.7)
        numbers, names = (detect_changes(rows).points for rows in (ones.astype(int), np.where(ones, "yes", "no")))
        assert len(numbers) == len(names)
        found += len(numbers) == 1
    assert found >= 5


def test_slow_swings_that_are_no_changes_are_noted_with_the_option_that_marks_them():
    rows = np.random.default_rng(3).normal(size=N).cumsum()
    found = detect_changes(pd.DataFrame({"price": rows}))
    assert found.points.tolist() == []
    (note,) = [each for each in found.notes if "swings='changes'" in each]
    assert note.startswith("price: each row is much like the one before")
    calm = np.random.default_rng(0).normal(size=N)
    assert not any("swings=" in note for note in detect_changes(calm).notes)
    pytest.importorskip("ruptures")
    marked = detect_changes(rows, swings="changes")
    assert len(marked.points)
    assert marked.notes == ()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_season_of_twelve_months_may_have_any_shape(seed):
    rng = np.random.default_rng(seed)
    rows = np.resize(rng.normal(0, 4, 12), N) + rng.normal(size=N)
    assert detect_changes(rows).points.tolist() == []
    (change,) = detect_changes(rows + 2.5 * (TIME >= 100)).changes
    assert (change["row"], change["kind"]) == (pytest.approx(100, abs=3), "level")


def test_counts_that_grow_have_no_changes():
    rngs = [np.random.default_rng(seed) for seed in range(12)]
    found = [detect_changes(rng.poisson(np.exp(np.arange(200) / 80))) for rng in rngs]
    assert sum(len(each.points) > 0 for each in found) <= 1
    assert any("square roots are compared" in note for note in found[0].notes)


def test_a_step_of_counts_is_said_in_counts():
    counts = np.random.default_rng(0).poisson(np.where(np.arange(200) < 100, 5, 12))
    (change,) = detect_changes(counts).changes
    assert change["kind"] == "level"
    assert (change["level_before"], change["level_after"]) == pytest.approx((5, 12), abs=1)
