"""A monitor: its level, its answers, what does not change them, and files."""

import re
import warnings

import numpy as np
import polars as pl
import pytest

from fewratio import DriftMonitor, RuLSIF
from fewratio.errors import FewRatioWarning, InputError, ModelFileError, ParameterError
from fewratio.monitor import MonitorState

RNG = np.random.default_rng(0)
REFERENCE = RNG.normal(size=(200, 3))
CALM, CHANGED = RNG.normal(size=(60, 3)), RNG.normal((0, 1.5, 0), size=(60, 3))


def make_table(n, seed, kinds="abc", missing=0.0):
    rng = np.random.default_rng(seed)
    size = np.where(rng.random(n) < missing, np.nan, rng.normal(10, 2, n))
    columns = {"size": size, "kind": rng.choice(list(kinds), n), "day": [f"2024-01-{i % 28 + 1:02d}" for i in range(n)]}
    return pl.DataFrame(columns | {"is_new": rng.random(n) < 0.3}).with_columns(pl.col("size").fill_nan(None))


def make_quiet(*arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return DriftMonitor(*arguments, **options)


def test_a_change_is_found_and_described():
    monitor = DriftMonitor(REFERENCE)
    calm = monitor.update(CALM)
    assert isinstance(calm, MonitorState)
    assert (calm.alarm, calm.since, calm.columns, calm.n_rows) == (False, None, [], 60)
    state = monitor.update(CHANGED, "tuesday")
    assert state.alarm
    assert 60 <= state.alarm_row < 100
    assert state.since.low <= 60 <= state.since.high
    assert [(each.column, each.change) for each in state.columns] == [("1", "higher")]
    assert state.p_value < 0.01
    assert len(state.rows) == 5
    assert "of tuesday" in state.summary
    assert not calm.alarm
    # Once raised, an alarm stays, whatever comes.
    assert monitor.update(np.tile(CALM, (5, 1))).alarm


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda rows: rows * [3, 1, 1], ("0", "wider spread")),
        (lambda rows: rows * [1, 1, 0.1], ("2", "narrower spread")),
        (lambda rows: rows - [2, 0, 0], ("0", "lower")),
    ],
)
def test_kinds_of_changes(change, said):
    state = DriftMonitor(REFERENCE).update(change(np.random.default_rng(1).normal(size=(150, 3))))
    assert (state.columns[0].column, state.columns[0].change) == said


def test_columns_that_move_together_are_found_by_learned_scores():
    rng = np.random.default_rng(2)
    monitor = DriftMonitor(rng.normal(size=(500, 4)))
    rows = rng.normal(size=(500, 4))
    rows[:, 1] = 0.95 * rows[:, 0] + 0.3 * rows[:, 1]
    state = monitor.update(rows)
    assert state.alarm
    assert "columns together" in state.summary
    assert state.since.low <= 0


@pytest.mark.parametrize("size", [1, 13, 120])
@pytest.mark.parametrize("values", ["any", "few"])
def test_the_size_of_batches_does_not_matter(size, values):
    """Few values make equal rows, which must be ties by scores that are sums, too."""
    rows, reference = np.concatenate([CALM, CHANGED]), REFERENCE
    if values == "few":
        rows, reference = np.round(rows) * [0.1, 0.3, 0.7], np.round(reference) * [0.1, 0.3, 0.7]
    whole, parts = DriftMonitor(reference), DriftMonitor(reference)
    expected = whole.update(rows)
    for start in range(0, len(rows), size):
        state = parts.update(rows[start : start + size])
    assert state.evidence == pytest.approx(expected.evidence)
    assert (state.alarm_row, state.since) == (expected.alarm_row, expected.since)
    assert state.history == pytest.approx(expected.history)
    assert parts._bets.evidence == pytest.approx(whole._bets.evidence)


def test_units_and_the_order_of_the_reference_do_not_matter():
    expected = DriftMonitor(REFERENCE).update(CHANGED).evidence
    order = np.random.default_rng(3).permutation(len(REFERENCE))
    assert DriftMonitor(REFERENCE[order]).update(CHANGED).evidence == pytest.approx(expected)
    found = DriftMonitor(64 * REFERENCE + 32).update(64 * CHANGED + 32).evidence
    assert found == pytest.approx(expected, rel=1e-3)


def test_calm_streams_rarely_alarm():
    """Far more often than promised would be seen; `benchmarks/monitor.py` measures it."""
    alarms = 0
    for seed in range(40):
        rng = np.random.default_rng([4, seed])
        alarms += DriftMonitor(rng.normal(size=(40, 2)), level=0.1).update(rng.normal(size=(64, 2))).alarm
    assert alarms <= 9


@pytest.mark.parametrize("with_estimator", [False, True])
def test_a_file_goes_on_where_it_was_left(tmp_path, with_estimator):
    estimator = RuLSIF() if with_estimator else None
    monitor, path = DriftMonitor(REFERENCE, estimator=estimator), tmp_path / "state.fewratio"
    monitor.update(CALM)
    for rows in (CHANGED[:30], CHANGED[30:]):
        monitor.save(path)
        monitor = DriftMonitor.load(path, estimator)
        state = monitor.update(rows)
    whole = DriftMonitor(REFERENCE, estimator=estimator)
    whole.update(CALM)
    expected = whole.update(CHANGED)
    assert state.evidence == pytest.approx(expected.evidence, rel=1e-9)
    assert state.to_dict()["since"] == expected.to_dict()["since"]
    assert [batch.name for batch in state.batches] == ["batch 1", "batch 2", "batch 3"]
    if with_estimator:
        with pytest.raises(ModelFileError, match="Pass the same estimator"):
            DriftMonitor.load(path)


@pytest.mark.parametrize("is_one_batch", [True, False])
def test_later_rows_that_differ_otherwise_do_not_explain_the_alarm(is_one_batch, tmp_path):
    rng = np.random.default_rng(0)
    up, down = rng.normal([2, 0, 0], 1, (64, 3)), rng.normal([-3, 0, -3], 1, (400, 3))
    monitor = DriftMonitor(rng.normal(size=(300, 3)), random_state=0)
    if is_one_batch:
        state = monitor.update(np.concatenate([up, down]))
    else:
        assert monitor.update(up).alarm
        monitor.save(tmp_path / "line.fewratio")
        state = DriftMonitor.load(tmp_path / "line.fewratio").update(down)
    assert [(each.column, each.change) for each in state.columns] == [("0", "higher")]
    assert state.since.row < 20


def test_damaged_files_are_refused(tmp_path):
    path = tmp_path / "state.fewratio"
    DriftMonitor(REFERENCE).save(path)
    payload = bytearray(path.read_bytes())
    payload[-9] ^= 1
    path.write_bytes(payload)
    with pytest.raises(ModelFileError, match="checksum"):
        DriftMonitor.load(path)


def test_mixed_tables():
    monitor = make_quiet(make_table(300, 0))
    assert not monitor.update(make_table(100, 1)).alarm
    batch = make_table(100, 2, "abx")
    state = monitor.update(batch)
    seen = batch["kind"].to_list()
    said = f"has 'x', which the reference never had, in {seen.count('x')} of {100 - seen.index('x')} rows"
    assert ("kind", said) in [(each.column, each.change) for each in state.columns]


def test_a_new_category_alarms_at_once(tmp_path):
    """Rare known categories do not weaken it, and a state file remembers it."""
    rng = np.random.default_rng(8)

    def draw(n):
        kinds = [*rng.choice(["a", "b", "c"], n - 2, p=[0.6, 0.37, 0.03]), "rare", "seldom"]
        return pl.DataFrame({"kind": kinds, "x": rng.normal(size=n)})

    monitor = make_quiet(draw(200))
    assert not monitor.update(draw(50)[:40]).alarm
    new = pl.DataFrame({"kind": ["new"] * 6, "x": rng.normal(size=6)})
    assert not monitor.update(new[:2]).alarm
    monitor.save(tmp_path / "s.fewratio")
    state = DriftMonitor.load(tmp_path / "s.fewratio").update(new[2:])
    assert state.to_dict() == monitor.update(new[2:]).to_dict()
    assert state.alarm
    assert state.columns[0][:2] == ("kind", "has 'new', which the reference never had, in 6 of 6 rows")
    assert state.since.row == 40


def test_missing_values_are_found():
    state = make_quiet(make_table(300, 0)).update(make_table(100, 2, missing=0.3))
    assert [(each.column, each.change) for each in state.columns] == [("size", "missing more often")]


def test_rare_categories_that_were_not_seen_are_no_change():
    """The share of names that only one row has is the same in the reference and later."""
    rng = np.random.default_rng(5)
    rows = [pl.DataFrame({"name": [f"n{i}" for i in rng.zipf(1.3, 150)], "x": rng.normal(size=150)}) for _ in range(2)]
    assert make_quiet(rows[0]).update(rows[1]).p_value > 0.05


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda table: table.drop("size"), "has no column 'size': it counts as missing"),
        (lambda table: table.with_columns(size=pl.lit("broken")), "counts as missing in all rows"),
        (lambda table: table.with_columns(more=pl.lit(1.0)), "has a column that the reference does not have"),
    ],
)
def test_columns_that_come_and_go(change, said):
    monitor = make_quiet(make_table(300, 0))
    with pytest.warns(FewRatioWarning, match=said):
        state = monitor.update(change(make_table(60, 1)))
    assert state.alarm == ("counts as missing" in said)


def test_a_wrong_cell_is_missing_in_its_row_alone():
    reference, batch = make_table(300, 0), make_table(40, 1)
    sizes = batch["size"].to_list()
    gap, wrong = ([*map(str, sizes[:5]), cell, *map(str, sizes[6:])] for cell in (None, "n.a."))
    state = make_quiet(reference).update(batch.with_columns(size=pl.Series(gap)))
    with pytest.warns(FewRatioWarning, match=r"holds 'n\.a\.' at row 5 .* Such cells count as missing"):
        assert make_quiet(reference).update(batch.with_columns(size=pl.Series(wrong))).evidence == state.evidence
    infinite = pl.Series([*sizes[:5], np.inf, *sizes[6:]])
    with pytest.warns(FewRatioWarning, match="infinite"):
        assert make_quiet(reference).update(batch.with_columns(size=infinite)).evidence == state.evidence


def test_whole_groups_are_watched():
    """Rows of a group share a level: as single rows they would alarm, as groups they are exchangeable."""
    rng = np.random.default_rng(6)

    def draw(n):
        machine = np.repeat(np.arange(n), 10)
        return {"x": np.repeat(rng.normal(size=n), 10) + 0.1 * rng.normal(size=10 * n), "machine": machine.astype(str)}

    reference, batch = draw(40), draw(30)
    grouped = DriftMonitor(reference, groups="machine").update(batch)
    assert grouped.n_rows == 30
    assert not grouped.alarm
    assert DriftMonitor(reference, drop="machine").update(batch).evidence > grouped.evidence


def test_an_estimator_bets_too():
    estimator = RuLSIF()
    rows = np.random.default_rng(7).normal(size=(64, 3))
    assert len(DriftMonitor(REFERENCE, estimator=estimator)._learner) == 1.5 * len(DriftMonitor(REFERENCE)._learner)
    assert DriftMonitor(REFERENCE, estimator=estimator).update(rows).n_rows == 64


@pytest.mark.parametrize("given", [None, 7, np.random.default_rng(0)])
def test_a_report_shows_the_random_state_as_it_was_given(given, tmp_path):
    monitor = DriftMonitor(REFERENCE, random_state=given)
    monitor.save(tmp_path / "s.fewratio")
    shown = given if not isinstance(given, np.random.Generator) else "Generator(PCG64)"
    assert DriftMonitor.load(tmp_path / "s.fewratio").state.settings["random_state"] == shown


def test_a_picture_and_a_report():
    monitor = DriftMonitor(REFERENCE)
    state = monitor.update(np.concatenate([CALM, CHANGED]), "monday")
    assert f"alarm at row {state.alarm_row}" in state.plot().spec["title"]["text"]
    assert "monday" in monitor.to_html()
    assert monitor.plot().spec == state.plot().spec
    assert "DriftMonitor(level=0.01): Alarm" in repr(monitor)


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: DriftMonitor(REFERENCE, level=1.5), ParameterError, "level is 1.5"),
        (lambda: DriftMonitor(REFERENCE[:5]), InputError, "reference has 5 rows"),
        (lambda: DriftMonitor(REFERENCE, groups="machine"), InputError, "no column 'machine'"),
        (lambda: DriftMonitor(REFERENCE).update(CALM[:, :2]), InputError, "has 2 columns but the reference has 3"),
        (lambda: DriftMonitor(REFERENCE, estimator=3), ParameterError, "expected a ratio estimator"),
    ],
)
def test_mistakes(call, error, said):
    with pytest.raises(error, match=said):
        call()


def test_what_was_learned_still_counts_after_a_file(tmp_path):
    # Only learned scores see that columns which were independent are equal now.
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(400, 3))
    rows[100:, 1] = rows[100:, 0] + 0.5 * rows[100:, 1]
    monitor = DriftMonitor(REFERENCE, random_state=0)
    resumed = DriftMonitor(REFERENCE, random_state=0)
    for number, batch in enumerate(np.split(rows, 8)):
        monitor.update(batch)
        resumed.update(batch)
        resumed.save(tmp_path / f"{number}.fewratio")
        resumed = DriftMonitor.load(tmp_path / f"{number}.fewratio")
        assert resumed.state.evidence == pytest.approx(monitor.state.evidence)
    assert resumed.state.alarm_row == monitor.state.alarm_row is not None


def test_calm_rows_after_an_alarm_do_not_change_what_it_was_about(tmp_path):
    rng = np.random.default_rng(0)
    monitor = DriftMonitor(dict(zip("ab", rng.normal(size=(2, 200)), strict=True)))
    shifted = monitor.update({"a": rng.normal(2, 1, 40), "b": rng.normal(size=40)})
    told = [(each.column, each.change) for each in shifted.columns]
    assert told == [("a", "higher")]
    for number in range(4):
        calm = monitor.update(dict(zip("ab", rng.normal(size=(2, 200)), strict=True)))
        assert [(each.column, each.change) for each in calm.columns] == told, number
    monitor.save(tmp_path / "state.fewratio")
    assert DriftMonitor.load(tmp_path / "state.fewratio").state.columns == calm.columns


def test_a_batch_without_a_column_of_the_reference_is_refused_and_not_counted():
    monitor = make_quiet(make_table(300, 0))
    before = monitor.state.n_rows
    with pytest.raises(InputError, match="batch has none of the reference's columns: it has 'colour', 'shape'"):
        monitor.update(pl.DataFrame({"colour": ["red"], "shape": ["round"]}))
    assert monitor.state.n_rows == before


def test_reports_write_huge_evidence_as_powers_of_ten_and_explain_drops():
    rng = np.random.default_rng(0)
    monitor = DriftMonitor(rng.normal(size=(300, 2)))
    monitor.update(rng.normal([0, 3], 1, (300, 2)))
    report = monitor.state._report()
    assert re.search(r"10[⁰¹²³⁴⁵⁶⁷⁸⁹]+ now", report.facts["Evidence"])
    text, chart = report.sections[0].blocks
    assert ("drops at once" in text.text) == bool((np.diff(monitor.state.history[:, 1]) < -5).any())
    labels = chart.spec["layer"][0]["encoding"]["y"]["axis"]["labelExpr"]
    assert '"1e+0": "1"' in labels
    assert "⁰" in labels


def test_the_farthest_rows_are_told_apart():
    rng = np.random.default_rng(0)
    monitor = DriftMonitor(rng.normal(size=(400, 2)))
    monitor.update(rng.normal(size=(100, 2)))
    table = monitor.state._report().sections[2].blocks[0]
    shares = [row[1].text for row in table.rows]
    assert len(set(shares)) == len(shares)
    assert "100.00 %" not in shares
