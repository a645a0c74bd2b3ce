"""Errors of one cell: they are found among many columns, whatever the units and the order."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

from fewratio import InlierOutlierDetector
from fewratio.outliers import strange_cells
from fewratio.outliers.strange_cells import StrangeCells, rate_gaps, rate_new_categories


def related(n, seed, d=20):
    """Rows whose columns x and y are nearly equal, beside columns of noise and a category."""
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(rng.normal(size=(n, d)), columns=[f"noise {k}" for k in range(d)])
    x = rng.normal(size=n)
    return rows.assign(x=x, y=x + rng.normal(0, 0.1, n), kind=rng.choice(["north", "south"], n))


def rank(normals, batch, row):
    scores = InlierOutlierDetector().fit(normals).score_samples(batch)
    return int((scores < scores[row]).sum())


@pytest.mark.parametrize(
    "error", [{"x": 9.0, "y": 9.0}, {"x": 1.5, "y": -1.5}, {"kind": "nroth"}], ids=["value", "relation", "category"]
)
@pytest.mark.parametrize("n_normal", [30, 300])
def test_an_error_of_one_cell_is_among_the_first_twentieth(error, n_normal):
    normals, batch = related(n_normal, 0), related(100, 1)
    for column, value in error.items():
        batch.loc[7, column] = value
    assert rank(normals, batch, 7) < 5


def test_cells_are_outside_the_range_of_the_other_normals():
    pooled = np.array([[0.0], [1.0], [3.0], [2.0], [5.0]])
    cells = StrangeCells(pooled, 3, np.arange(5))
    np.testing.assert_array_equal(cells(pooled[3:])[:, 0], [0, 2])
    # Of each normal it is the range of the others.
    np.testing.assert_array_equal(cells(pooled[:3], are_normals=True)[:, 0], [1, 0, 2])


def test_columns_that_repeat_each_other_and_very_many_columns_do_no_harm(monkeypatch):
    normals, batch = related(30, 0), related(40, 1)
    batch.loc[3, "x"] = 30.0
    twice = [rows.assign(again=2 * rows["x"], constant=1.0) for rows in (normals, batch)]
    assert rank(*twice, 3) == 0
    monkeypatch.setattr(strange_cells, "_MOST_COLUMNS", 2)
    assert rank(normals, batch, 3) == 0


def test_a_new_category_is_strange_unless_most_are_new():
    seldom = np.array([0] * 30 + [1])
    names = np.append(np.arange(30), 30)
    rated = rate_new_categories([seldom, names], n_normals=20)
    assert rated[-1, 0] > 5
    assert rated[-1, 1] == 0
    assert not rated[:-1, 0].any()
    # A quarter of the normals have a category of their own; new ones of the batch do not make each other usual.
    often_new = np.array([*range(1, 16), *[0] * 70, *range(16, 19)])
    rated = rate_new_categories([often_new], n_normals=60)
    np.testing.assert_allclose(rated[-3:], np.sqrt(1 / (1 / 88 + 15 / 60) - 1))
    np.testing.assert_allclose(rate_new_categories([often_new[15:]], n_normals=45)[-3:], np.sqrt(72))


def test_encoded_batches_are_scored_alike_where_no_category_is_new():
    normals, batch = related(30, 0), related(20, 1)
    detector = InlierOutlierDetector().fit(normals)
    encoded = detector.encoding_.encode(batch)
    np.testing.assert_allclose(detector.score_samples(encoded), detector.score_samples(batch))


def test_cells_that_look_like_errors_are_listed_in_words_flagged_or_not():
    normals, batch = related(60, 0, d=3), related(100, 1, d=3)
    batch.loc[7, "kind"], batch.loc[8, "noise 1"] = "nroth", -40.0
    batch.loc[9, ["x", "y"]] = 1.5, -1.5
    result = InlierOutlierDetector(contamination=0.01).fit(normals).detect(batch)
    low, high = normals["noise 1"].min(), normals["noise 1"].max()
    assert result.reasons[7] == "kind nroth was never seen (did you mean north?)"
    assert result.reasons[8] == f"noise 1 -40 is far below all normal rows ({low:.4g} to {high:.4g})"
    assert {result.reasons[9]} <= {
        "x 1.5 is far above what y and other columns predict", "y -1.5 is far below what x and other columns predict"
    }  # fmt: skip
    assert not result.is_outlier[[7, 8, 9]].all()
    first = result.to_dict()["errors"][0]
    assert (first["row"], first["column"], first["kind"], first["value"]) == (8, "noise 1", "outside", -40.0)
    assert first["deviations"] > 10


def test_deviations_are_counted_as_the_guide_says():
    rng = np.random.default_rng(0)
    normals, batch = rng.normal(size=(40, 2)), rng.normal(size=(30, 2))
    batch[4, 0] = 50
    first = InlierOutlierDetector().fit(normals).detect(batch).errors[0]
    column = np.concatenate([normals, batch])[:, 0]
    low, high = np.quantile(column, [0.05, 0.95])
    width = high - low
    expected = (50 - normals[:, 0].max()) / column.clip(low - width, high + width).std()
    assert (first.row, first.column) == (4, 0)
    assert first.deviations == pytest.approx(expected)


def test_a_batch_that_has_shifted_as_a_whole_is_said_to_be():
    rng = np.random.default_rng(0)
    normals, batch = rng.normal(size=(300, 3)), 100 * rng.normal(3, 1, (200, 3))
    batch[:4] *= 50
    result = InlierOutlierDetector().fit(normals).detect(batch)
    assert "the table may have shifted as a whole" in result.shift
    assert "Without such a shift, 0%" not in result.shift
    assert result.detector._beyond_shift(result.samples.tables[0], {}) < 0.1
    assert InlierOutlierDetector().fit(normals).detect(rng.normal(size=(200, 3))).shift is None


def test_clean_batches_list_no_cell_of_a_row_that_is_not_flagged():
    n_listed = n_rows = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        shapes = [rng.standard_t(3, 130), np.exp(rng.normal(size=130)), rng.integers(0, 4, 130), rng.poisson(1, 130)]
        codes = [f"k{code}" for code in rng.zipf(1.7, 130)]
        table = pd.DataFrame({**{f"x{k}": each for k, each in enumerate(shapes)}, "code": codes})
        result = InlierOutlierDetector().fit(table[:30]).detect(table[30:])
        n_listed += len({error.row for error in result.errors if not result.is_outlier[error.row]})
        n_rows += 100
    assert n_listed <= 0.002 * n_rows


def test_a_gap_has_a_p_value_that_clean_columns_keep():
    rng = np.random.default_rng(0)
    for draw in (rng.normal, rng.standard_exponential, rng.uniform):
        smallest = [rate_gaps(draw(size=20), draw(size=80)).min() for _ in range(200)]
        assert np.mean(np.array(smallest) <= 0.1) <= 0.1
    # Three rows with the same fault do not hide each other.
    found = rate_gaps(rng.normal(size=30), np.append(rng.normal(size=97), [40.0, 41, 43]))
    assert (found[-3:] < 0.001).all()
    assert (found[:-3] > 0.05).all()
    assert (rate_gaps(np.full(30, 4.0), np.repeat([4.0, 6, 8], 10)) == 1).all()


def test_the_share_beyond_a_shift_is_small_in_a_clean_batch_with_discrete_columns():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=350), "y": rng.normal(size=350)})
    table["rain"], table["kind"] = (
        np.where(rng.random(350) < 0.5, 0, rng.exponential(size=350)),
        rng.choice(list("ab"), 350),
    )
    batch = table[200:].assign(x=lambda rows: 100 * rows["x"] + 300)
    result = InlierOutlierDetector().fit(table[:200]).detect(batch)
    assert "the table may have shifted as a whole" in result.shift
    assert "would be flagged (of normal rows about 4 %)" in result.shift
    assert result.detector._beyond_shift(result.samples.tables[0], result._levels) < 0.06


@pytest.mark.parametrize(
    ("n_strange", "said"),
    [
        (1, "1 of 31 rows is an outlier (chance alone would flag about one)"),
        (3, "4 of 33 rows are outliers (1 of them"),
    ],
)
def test_the_answer_counts_outliers_and_names_the_row_of_an_error(n_strange, said):
    rng = np.random.default_rng(0)
    batch = np.vstack([rng.normal(size=(30, 2)) / 2, [[9.0, 0], [0, 9], [-9, 9]][:n_strange]])
    result = InlierOutlierDetector().fit(rng.normal(size=(40, 2))).detect(batch)
    report = result._report()
    assert report.answer.startswith(said)
    n_cells = len(result.errors)
    assert f"{n_cells} cell{'s' * (n_cells > 1)} to check, listed below." in report.answer
    (listed,) = [section for section in report.sections if section.title == "Cells to check"]
    assert str(result.errors[0].row) in str(listed.blocks)
    assert "9 is far above all normal rows" in str(listed.blocks)


def test_a_thousandth_of_a_positive_value_is_listed_though_it_is_near_the_others():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"price": np.exp(rng.normal(8, 1, 150)), "size": rng.normal(size=150)})
    table.loc[100, "price"] /= 1000
    result = InlierOutlierDetector(contamination=0.01).fit(table[:50]).detect(table[50:].reset_index(drop=True))
    assert not result.is_outlier[50]
    assert result.reasons[50].startswith(f"price {table['price'][100]:.4g} is far below all normal rows")


def test_a_number_far_outside_is_a_reason_though_the_category_is_new_too():
    normals, batch = related(60, 0).assign(engines=2.0), related(60, 1).assign(engines=2.0)
    batch.loc[5, "kind"], batch.loc[5, "engines"] = "glider", 275.0
    errors = InlierOutlierDetector().fit(normals).detect(batch).errors
    assert {error.text for error in errors if error.row == 5} == {
        "kind glider was never seen", "engines 275 is far above all normal rows (2)"
    }  # fmt: skip


def test_a_category_that_is_missing_is_said_to_be():
    normals, batch = related(60, 0), related(60, 1)
    batch.loc[5, "kind"] = None
    result = InlierOutlierDetector().fit(normals).detect(batch)
    assert result.reasons[5] == "kind is missing; all normal rows have it"


def test_rows_beyond_all_normals_are_not_expected_to_be_normal():
    rng = np.random.default_rng(0)
    normals, batch = rng.normal(size=(800, 3)), rng.normal(size=(300, 3))
    batch[:8] += 50
    result = InlierOutlierDetector().fit(normals).detect(batch)
    assert result.rule == "false positive rate"
    n_others = int(result.is_outlier[8:].sum())
    assert result.is_outlier[:8].all()
    # Not 12, which is 4 % of all rows, as if none were an outlier.
    assert abs(result.expected_false - n_others) < 3


@pytest.mark.parametrize(("shift", "rank"), [(0.8, 3), (1.2, 350)])
def test_a_shift_of_the_batch_hides_no_broken_relation(shift, rank):
    rng = np.random.default_rng(3)
    normals = rng.normal(size=(700, 1)) + 0.2 * rng.normal(size=(700, 2))
    batch = shift + 0.5 * rng.normal(size=(350, 1)) + 0.2 * rng.normal(size=(350, 2))
    # Each cell is where most normals are, and few rows of the batch.
    batch[100] = -1.0, 1.0
    result = InlierOutlierDetector().fit(normals).detect(batch)
    assert list(result.order).index(100) < rank
    # However large the shift, the row is named.
    assert [error.row for error in result.errors] == [100]


def test_rows_of_another_kind_have_no_errors_in_single_cells():
    rng = np.random.default_rng(0)
    normals, batch = rng.normal(size=(30, 6)), rng.normal(size=(40, 6))
    batch[:3] += 9
    batch[3, 2] = 60.0
    result = InlierOutlierDetector().fit(normals).detect(batch)
    assert result.is_outlier[:4].all()
    assert [(error.row, error.column) for error in result.errors] == [(3, 2)]
    # Their strangest cells are still the reason.
    assert "is far above all normal rows" in result.reasons[0]


def test_a_batch_that_has_shifted_has_no_errors_but_those_apart_from_its_rows():
    data = load_breast_cancer(as_frame=True)
    benign, malignant = (data.data[data.target == kind] for kind in (1, 0))
    for n_normals in (5, 10, 40):
        for seed in range(3):
            drawn = benign.sample(n_normals, random_state=seed), malignant.sample(20, random_state=seed)
            result = InlierOutlierDetector().fit(drawn[0]).detect(drawn[1])
            assert len(result.errors) <= 4
            assert not (result.shift and result.errors)
