"""Applications and estimators on tables of numbers, categories, dates and gaps; units; the level of the test."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from fewratio import (
    Collection,
    InlierOutlierDetector,
    InputError,
    ParameterError,
    RuLSIF,
    compare_all,
    compare_datasets,
    detect_changes,
    importance_weights,
)
from fewratio.errors import FewRatioWarning
from tests.mixed import mixed

A, B = mixed(24, 0, lot="old"), mixed(22, 1, shift=2.0, lot="new")
USED = {"size", "price", "colour", "day"}


def test_two_tables_are_compared_column_by_column():
    result = compare_datasets(A, B, n_permutations=99, random_state=0)
    assert result.p_value == 0.01
    assert result.non_overlapping == [("lot", "old", "new", 1.0, 46, 46)]
    assert {difference.column for difference in result.columns} == {*USED, "lot"}
    assert [each.column for each in result.columns[:2]] == ["lot", "size"]
    assert result.columns[1].effect < -1
    rest = result.without_non_overlapping
    assert rest.names == result.names
    assert f" Without lot, the tables differ very strongly (divergence {rest.divergence:.2g}" in result.verdict
    assert repr(result).startswith("ComparisonResult(A and B: 24 rows and 22 rows; lot alone separates all rows; ")
    assert list(result.samples.tables[0].row_names[:2]) == ["r0-0", "r0-1"]
    by = compare_datasets(pd.concat([A, B]), by="lot", n_permutations=99, random_state=0)
    assert by.names == ("lot = old", "lot = new")
    assert by.non_overlapping == []
    assert by.without_non_overlapping is None
    assert by.statistic == pytest.approx(rest.statistic)
    assert by.divergence == pytest.approx(rest.divergence)
    polars = compare_datasets(pl.from_pandas(A), pl.from_pandas(B), n_permutations=99, random_state=0)
    assert polars.statistic == pytest.approx(result.statistic)


@pytest.mark.parametrize("shift", [4, 5, 20])
def test_a_large_difference_is_one_in_any_container(shift):
    """Columns that do not overlap were left out of data frames, and a shift of 5 deviations gave p = 0.6."""
    rng = np.random.default_rng(shift)
    arrays = rng.normal(size=(30, 3)), rng.normal(size=(30, 3)) + np.array([0, shift, 0])
    frames = [pd.DataFrame(rows, columns=list("xyz")) for rows in arrays]
    found, expected = (compare_datasets(*pair, random_state=0) for pair in (frames, arrays))
    assert found.p_value == expected.p_value == 0.001
    assert found.divergence == expected.divergence > 0.35
    assert [each.column for each in found.non_overlapping] == ["y"]
    assert [each.column for each in expected.non_overlapping] == [1]
    assert found.without_non_overlapping.p_value == expected.without_non_overlapping.p_value > 0.05


def test_a_table_that_was_split_by_a_column_it_still_has():
    rng = np.random.default_rng(0)
    tips = pd.DataFrame({"bill": rng.gamma(3, 5, 120), "day": rng.choice(["Fri", "Sat", "Sun"], 120)})
    tips["smoker"] = ["Yes"] * 60 + ["No"] * 60
    result = compare_datasets(tips[:60], tips[60:], random_state=0)
    assert (result.p_value, result.columns[0].column) == (0.001, "smoker")
    without = compare_datasets(tips[:60].drop(columns="smoker"), tips[60:].drop(columns="smoker"), random_state=0)
    assert result.without_non_overlapping.p_value == without.p_value > 0.05
    assert result.to_dict()["without_non_overlapping"] == {"p_value": without.p_value, "divergence": without.divergence}
    with pytest.warns(UserWarning, match=r"too thin to rely on\. .* choose drop=\['smoker'\]"):
        weights = importance_weights(tips[:60], tips[60:], random_state=0)
    assert weights.overlap < 0.05
    assert weights.summary.startswith("smoker alone separates all rows, and no weights can make up for that")


def test_durations_and_times_are_described_in_their_units():
    """They were dates in 1970."""
    rng = np.random.default_rng(0)

    def flights(n, delay, hour):
        start = pd.Timestamp("2024-01-01") + pd.to_timedelta((hour + rng.normal(0, 1, n)) % 24, unit="h")
        return pd.DataFrame({"delay": pd.to_timedelta(rng.gamma(9, delay / 9, n), unit="min"), "arrival": start.time})

    result = compare_datasets(flights(60, 10, 23.5), flights(60, 30, 0.5), random_state=0)
    delay, arrival = sorted(result.columns, key=lambda each: each.kind)
    assert (delay.kind, arrival.kind) == ("duration", "time of day")
    assert (delay.p_value, arrival.p_value) == (0.001, 0.001)
    assert "min ± " in delay.first
    assert arrival.first.startswith("23:")
    assert arrival.second.startswith("00:")
    # An hour later, of a deviation of one hour.
    assert arrival.effect == pytest.approx(-1, abs=0.4)
    assert "1970" not in f"{result._report().sections}"


def test_a_changed_floor_is_a_difference():
    """Whole numbers in steps of one count rows only if they are called so."""
    low, high = (pd.DataFrame({"floor": range(start, start + 12)}) for start in (1, 13))
    rng = np.random.default_rng(0)
    tables = low.assign(p=rng.normal(size=12)), high.assign(p=rng.normal(size=12))
    with pytest.warns(FewRatioWarning, match="'floor' counts rows from one dataset to the next"):
        result = compare_datasets(*tables, random_state=0)
    assert result.p_value == 0.001
    assert result.non_overlapping == [("floor", "1 to 12", "13 to 24", 1.0, 24, 24)]


@pytest.mark.parametrize("name", ["body mass index", "air_quality_index", "UV index"])
def test_a_jump_of_an_index_is_a_change(name):
    rng = np.random.default_rng(0)
    series = pd.DataFrame({name: np.r_[rng.integers(28, 33, 40), rng.integers(98, 103, 40)], "p": rng.normal(size=80)})
    assert detect_changes(series, random_state=0).points.tolist() == [40]


def test_a_column_divides_one_table():
    three = pd.concat([A, B, mixed(9, 2, lot="third")])
    with pytest.raises(ParameterError, match="B and by are both given"):
        compare_datasets(A, B, by="lot")
    result = compare_all(Collection.from_frame(three, "lot"))
    assert result.names == ("old", "new", "third")
    assert result.nearest("third", 1)[0][0] == "old"


def test_normal_rows_are_those_where_a_condition_holds():
    table = mixed(40, 3).assign(status=["ok"] * 30 + ["unknown"] * 10)
    table.loc[table.index[-2:], "price"] = 99_000.0
    detector = InlierOutlierDetector(random_state=0).fit(table, normal_if="status == ok")
    batch = table[30:].drop(columns="status")
    assert set(np.argsort(detector.score_samples(batch))[:2]) == {8, 9}
    assert detector.row_names_[0] == "r3-0"
    by_hand = InlierOutlierDetector(random_state=0).fit(table[:30].drop(columns="status"))
    np.testing.assert_allclose(by_hand.score_samples(batch), detector.score_samples(batch))


def test_weights_favour_rows_like_the_target():
    # Sizes differ by so many deviations that the samples hardly meet.
    with pytest.warns(UserWarning, match="too thin"):
        weights = importance_weights(A, B, random_state=0)
    assert weights.samples.non_overlapping[0].column == "lot"
    size = A["size"].fillna(10)
    assert np.average(size, weights=weights) > size.mean()


@pytest.mark.slow
def test_a_series_of_all_kinds_of_columns_has_its_change():
    series = pd.concat([mixed(30, 4), mixed(30, 5, shift=4.0)])
    result = detect_changes(series, window=12, n_permutations=99, random_state=0, keep="day")
    assert len(result.points) == 1
    assert abs(int(result.points[0]) - 30) <= 2
    assert result.row_names[30] == "r5-0"


def test_an_estimator_takes_mixed_frames_and_remembers_them():
    estimator = RuLSIF(scale="columns").fit(A[["size", "colour", "day"]], B[["day", "size", "colour"]])
    assert estimator.feature_names_in_.tolist() == ["size", "colour", "day"]
    ratio = estimator.predict(A[["colour", "day", "size"]])
    assert ratio.mean() > estimator.predict(B[["size", "colour", "day"]]).mean()
    restored = pickle.loads(pickle.dumps(estimator))
    np.testing.assert_array_equal(restored.predict(A[["size", "colour", "day"]]), ratio)
    assert clone(estimator).get_params() == estimator.get_params()
    strange = A[["size", "colour", "day"]].assign(colour="violet", size=None)
    assert np.isfinite(estimator.predict(strange)).all()
    with pytest.raises(InputError, match="missing: 'day'"):
        estimator.predict(A[["size", "colour"]])


# ---------------------------------------------------------------- units


def comparison(A, B):
    result = compare_datasets(A, B, n_permutations=19, random_state=0)
    p_values = [column.p_value for column in sorted(result.columns)]
    return result.divergence, result.ratios_a, np.sort(result.null_distribution), p_values


def outliers(A, B):
    return (InlierOutlierDetector(random_state=0).fit(A).decision_function(B),)


def changes(A, B):
    result = detect_changes(pd.concat([A, B]), window=10, n_permutations=19, level=0.05, keep="day")
    return result.scores, result.threshold


def weights(A, B):
    with pytest.warns(UserWarning, match="too thin"):
        return (importance_weights(A, B, random_state=0).weights,)


@pytest.mark.parametrize(
    "application",
    [comparison, outliers, pytest.param(changes, marks=pytest.mark.slow), weights],
    ids=lambda each: each.__name__,
)
def test_the_unit_of_a_column_does_not_matter(application):
    expected = application(A, B)
    for factor in (1000, 1 / 7):
        in_other_units = (frame.assign(price=frame["price"] * factor) for frame in (A, B))
        for found, known in zip(application(*in_other_units), expected, strict=True):
            np.testing.assert_allclose(found, known, rtol=1e-6, atol=1e-8)
    changed = application(A.assign(price=A["price"] * 1000), B)
    assert not np.allclose(changed[0], expected[0])


# ---------------------------------------------------------------- the test


@pytest.mark.slow
def test_the_level_is_that_of_the_test():
    # Under the null the p-value of 19 permutations is one of 1/20, 2/20 ... with equal chance; ties only raise it.
    p_values = []
    for seed in range(100):
        rows = mixed(16, seed).sample(frac=1, random_state=seed)
        p_values.append(compare_datasets(rows[:7], rows[7:], n_permutations=19, random_state=seed).p_value)
    for level in (0.1, 0.25, 0.5):
        # Four deviations of a binomial share.
        share, deviation = np.mean(np.array(p_values) <= level), np.sqrt(level * (1 - level) / len(p_values))
        assert abs(share - level) < 4 * deviation


def test_booleans_differ_in_their_shares():
    first, second = (pd.DataFrame({"on": [True] * n + [False] * (10 - n), "x": range(10)}) for n in (2, 8))
    (found,) = [each for each in compare_datasets(first, second, n_permutations=0).columns if each.column == "on"]
    assert (found.first, found.second) == ("True 20 %", "True 80 %")


def test_means_have_the_digits_that_tell_them_apart():
    first, second = (pd.DataFrame({"year": [2007, 2008, 2008, 2009 + late]}) for late in (0, 1))
    (found,) = compare_datasets(first, second, n_permutations=0).columns
    assert (found.first, found.second) == ("2008.00 ± 0.71", "2008.25 ± 1.09")


def test_rows_judged_may_have_the_column_of_the_condition():
    frame = A.assign(status=["ok"] * 20 + ["new"] * 4)
    detector = InlierOutlierDetector().fit(frame, normal_if="status == ok")
    later = frame[20:]
    np.testing.assert_array_equal(detector.score_samples(later), detector.score_samples(later.drop(columns="status")))


def test_rows_without_a_group_are_left_out_with_a_warning():
    frame = pd.concat([A, B]).reset_index(drop=True)
    frame.loc[[0, 30], "lot"] = None
    with pytest.warns(UserWarning, match="2 rows of A without 'lot' are left out"):
        result = compare_datasets(frame, by="lot", n_permutations=0)
    assert (len(result.ratios_a), len(result.ratios_b)) == (len(A) - 1, len(B) - 1)


@pytest.mark.slow
def test_many_categories_beside_numbers_are_compared_before_they_are_pooled():
    rng = np.random.default_rng(0)
    names = np.array([f"plane {i}" for i in range(300)])
    # Each plane flies three times, all in one table or all in the other.
    planes = np.repeat(names, 3)
    tables = [
        pd.DataFrame(rng.normal(size=(450, 4))).rename(columns="x{}".format).assign(plane=planes[part])
        for part in (slice(450), slice(450, 900))
    ]
    with pytest.warns(UserWarning, match="plane has 300 values in about 3 rows each"):
        found = compare_datasets(*tables, random_state=0)
    assert found.p_value == 0.001
    assert [each.column for each in found.columns if each.p_value <= 0.05] == ["plane"]
    assert found.non_overlapping[0].column == "plane"
    assert found.without_non_overlapping.p_value > 0.05


def test_what_is_missing_is_said_beside_the_means():
    rng = np.random.default_rng(0)
    tables = [pd.DataFrame({"time": rng.normal(mean, 1, 200), "other": rng.normal(size=200)}) for mean in (0, 0.2)]
    tables[1].loc[:79, "time"] = np.nan
    time = compare_datasets(*tables, random_state=0).columns[0]
    assert (time.column, time.missing_first, time.missing_second) == ("time", 0, 0.4)
    assert "±" in time.first
    assert "missing" not in time.first
    assert abs(time.effect) < 0.5


def test_a_changed_relation_is_named_with_both_correlations():
    rng = np.random.default_rng(0)
    tables = [pd.DataFrame(rng.normal(size=(80, 4)), columns=list("abcd")) for _ in range(2)]
    for table, sign in zip(tables, (1, -1), strict=True):
        table["c"] = sign * table["a"] + 0.5 * table["c"]
    found = compare_datasets(*tables, random_state=0)
    assert [relation.columns for relation in found.relations] == [("a", "c")]
    assert found.relations[0].first > 0.7
    assert found.relations[0].second < -0.7
    assert list(found.to_dict()["relations"][0]["columns"]) == ["a", "c"]
    assert "a and c are related differently: rank correlation 0." in found.to_html()
    charts = next(section for section in found._report().sections if section.title == "Relations").blocks[1].charts
    assert [chart.caption[:20] for chart in charts] == ["A: rank correlation ", "B: rank correlation "]
    assert [chart.description for chart in charts] == ["80 dots: c by a in A.", "80 dots: c by a in B."]
    assert charts[0].spec == {**charts[1].spec, "mark": charts[0].spec["mark"]}
    # Neither is seen alone, nor without the other.
    parts = {column.column: (column.alone, column.without) for column in found.columns}
    assert max(parts["a"]) < 0.02 > max(parts["c"])
    assert parts["b"][1] > 0.2 < parts["d"][1]
    assert {column.column for column in found.joint_columns} == {"a", "c"}
    same = compare_datasets(tables[0][:40], tables[0][40:], random_state=0)
    assert same.relations == []


def test_a_changed_relation_of_a_category_is_named_with_means_or_shares():
    rng = np.random.default_rng(0)
    tables, home = [], "home=city"
    for sign in (1, -1):
        city = rng.choice(["Oslo", "Rome"], 120)
        is_oslo = city == "Oslo"
        price = 10 + 2 * sign * (is_oslo - 0.5) + rng.normal(size=120)
        is_new = rng.random(120) < 0.5 + 0.35 * sign * (2 * is_oslo - 1)
        tables.append(pd.DataFrame({home: city, "price": price, "is_new": is_new, "x": rng.normal(size=120)}))
    tables[0].loc[::9, "price"] = np.nan
    found = compare_datasets(*tables, random_state=0)
    by_columns = {frozenset(each.columns): each for each in found.relations}
    # Price and is_new follow the city in the same way, so their relation stays.
    assert set(by_columns) == {frozenset((home, "price")), frozenset((home, "is_new"))}
    price = by_columns[frozenset((home, "price"))]
    where = tables[0][home] == price.where.removeprefix("home=city = ")
    expected = [f"{tables[0]['price'][each].mean():.3g}" for each in (where, ~where)]
    assert [price.inside[0], price.elsewhere[0]] == expected
    new = by_columns[frozenset((home, "is_new"))]
    assert new.inside[0].endswith("%")
    assert new.write(("May", "June")).startswith("Where ")
    first, second = (f"{mean} ({n} rows)" for mean, n in zip(price.inside, price.n_inside, strict=True))
    assert f"the mean of price is {first} in A and {second} in B, elsewhere" in found.to_html()
    assert list(found.to_dict()["relations"][0]["inside"])
    same = compare_datasets(tables[0][:60], tables[0][60:], random_state=0)
    assert same.relations == []


def test_a_category_that_only_becomes_rare_keeps_its_relation():
    rng = np.random.default_rng(0)
    tables = []
    for share in (0.5, 0.08):
        is_rain = rng.random(400) < share
        tables.append(pd.DataFrame({"rain": np.where(is_rain, "yes", "no"), "warm": rng.normal(size=400) - is_rain}))
    found = compare_datasets(*tables, random_state=0)
    assert found.p_value == 0.001
    assert found.relations == []


def test_columns_that_differ_together_are_listed_though_neither_does_alone():
    rng = np.random.default_rng(0)
    tables = [pd.DataFrame(rng.normal(size=(150, 4)), columns=["distance", "time", "x", "y"]) for _ in range(2)]
    for table, slower in zip(tables, (0, 0.15), strict=True):
        table["time"] = table["distance"] + 0.2 * table["time"] + slower
    found = compare_datasets(*tables, random_state=0)
    assert found.p_value == 0.001
    assert all(column.p_value > 0.05 for column in found.columns)
    assert {column.column for column in found.joint_columns} == {"distance", "time"}
    for text in (
        "distance *",
        "time *",
        "* its own p is above 0.05, but half of the divergence or more is lost without it",
    ):
        assert text in found.to_html()
    assert "x *" not in found.to_html()


@pytest.mark.slow
def test_many_pooled_categories_are_counted():
    rng = np.random.default_rng(0)
    planes = [rng.integers(0, 400, 300) for _ in range(2)]
    tables = [pd.DataFrame({"plane": [f"plane {i}" for i in each], "x": rng.normal(size=300)}) for each in planes]
    plane = next(each for each in compare_datasets(*tables, random_state=0).columns if each.column == "plane")
    assert plane.first == f"{len(set(planes[0]))} values, {len(set(planes[0]) - set(planes[1]))} only here"
    assert plane.effect is None


def test_times_of_day_differ_by_the_shorter_way_round_the_clock():
    rng = np.random.default_rng(0)
    late, early = (pd.to_timedelta(mean + rng.normal(size=40), unit="h") for mean in (22, 6))
    tables = [pd.DataFrame({"at": (pd.Timestamp("2024-01-01") + each).time}) for each in (late, early)]
    found = compare_datasets(*tables, n_permutations=99, random_state=0)
    assert -12 < found.columns[0].effect < -6
    assert "times of day by the shorter way round the clock" in found.to_html()


@pytest.mark.parametrize(
    ("n_tested", "n_in_kernels", "expected"),
    [
        ((23, 22), (23, 22), "23 random rows of A (of 24) and all rows of B."),
        ((24, 22), (5, 22), "all rows; its distances and kernels use 5 random rows of A (of 24) and all rows of B."),
    ],
)
def test_the_rows_that_the_test_uses_are_said_in_a_sentence(n_tested, n_in_kernels, expected):
    result = compare_datasets(A, B, n_permutations=9, random_state=0)
    assert result.rows_used is None
    found = replace(result, n_tested=n_tested, n_in_kernels=n_in_kernels).rows_used
    assert found == f"The test uses {expected}"


def test_a_lower_limit_is_rounded_down():
    result = replace(compare_datasets(A, B, n_permutations=9, random_state=0), divergence=0.498, at_least=0.4989)
    assert "at least 0.49 " in result.describe_divergence()
    assert "at least 0.49." in result.to_html()


def test_a_relation_stays_the_same_where_means_and_spreads_change():
    rng = np.random.default_rng(0)
    tables = [pd.DataFrame(rng.normal(size=(300, 2)), columns=["x", "y"]) for _ in range(2)]
    for table, scale in zip(tables, (1, 3), strict=True):
        table["y"] = scale * (table["x"] + table["y"]) + scale
    found = compare_datasets(*tables, random_state=0)
    assert found.p_value == 0.001
    assert found.relations == []


def test_far_values_do_not_hide_that_a_column_separates_the_tables():
    rng = np.random.default_rng(0)
    tables = [
        pd.DataFrame(rng.normal(size=(100, 4)), columns=list("abcd")).assign(sales=scale * rng.lognormal(3, 1.5, 100))
        for scale in (1, 1e6)
    ]
    found = compare_datasets(*tables, random_state=0)
    assert found.non_overlapping[0].column == "sales"
    assert found.divergence > 0.45
    assert (found.ratios_a > 1).mean() > 0.95
    assert (found.ratios_b < 1).mean() > 0.95


@pytest.mark.slow
def test_a_difference_in_rare_categories_is_said_not_to_be_seen_by_the_model():
    rng = np.random.default_rng(0)
    planes = [np.repeat(rng.permutation(250)[:150], 3) for _ in range(2)]
    tables = [pd.DataFrame({"plane": [f"plane {i}" for i in each], "x": rng.normal(size=450)}) for each in planes]
    found = compare_datasets(*tables, random_state=0)
    assert found.p_value == 0.001
    assert found.caution == "The model pools rare values of plane, and so misses how these differ."
    assert found.magnitude is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_columns", "said"),
    [
        (1, "The p-value of column 0 is smaller because it looks at fewer kinds of differences"),
        (2, "would count as different alone, but the test of all kinds of differences"),
    ],
)
def test_a_column_that_differs_alone_is_explained_where_the_test_finds_nothing(n_columns, said):
    found = None
    for seed in range(200):
        A, B = np.random.default_rng(seed).normal(size=(2, 30, n_columns))
        found = compare_datasets(A, B, n_permutations=199, random_state=0)
        if found.p_value > 0.05 >= found.columns[0].p_value:
            break
    assert said in found.caution


def test_means_deviations_and_missing_shares_are_numbers():
    frame = pd.DataFrame({"n": [1.0, 2.0, np.nan, 3.0], "flag": [True, False, True, True], "c": list("xyxy")})
    found = {each["column"]: each for each in compare_datasets(frame, frame, n_permutations=0).to_dict()["columns"]}
    assert found["n"]["mean_first"] == 2.0
    assert found["n"]["deviation_second"] == pytest.approx(np.std([1, 2, 3]))
    assert found["n"]["missing_first"] == 0.25
    assert (found["flag"]["mean_second"], found["c"]["mean_first"]) == (0.75, None)


def test_typical_rows_that_are_identical_are_shown_once_with_a_count():
    first = pd.DataFrame({"x": [5.0] * 30 + [0.0] * 10, "y": [1.0] * 40})
    second = pd.DataFrame({"x": [0.0] * 38 + [1.0, 2.0], "y": [1.0] * 39 + [2.0]})
    report = compare_datasets(first, second, random_state=0)._report()
    tables = [block for section in report.sections for block in section.blocks if hasattr(block, "rows")]
    typical = next(each for each in tables if each.caption == "The rows most typical of A")
    assert typical.headings[2] == "rows alike"
    assert [row[2].value for row in typical.rows] == [30]


MISSPELT = {
    "a blank": (["Ideal ", "Good"], ["Ideal", "Good"], ["'Ideal ' in cut of A (did you mean 'Ideal'?)"]),
    "case": (["Ideal", "Good"], ["ideal", "Good"], ["'Ideal' in cut of A (did you mean 'ideal'?)"]),
    "one letter": (["male", "female"], ["mal", "male", "female"], ["'mal' in cut of B (did you mean 'male'?)"]),
    "other words": (["male"], ["female"], []),
    "other numbers": (["phase 1", "phase 2"], ["phase 2", "phase 3"], []),
    "less alike than known ones": (["male", "males", "mele"], ["male", "males"], []),
    "codes": (["ALB", "BUR", "JFK"], ["LGB", "LGA", "JFK", "BUR"], []),
}


@pytest.mark.parametrize(("first", "second", "said"), MISSPELT.values(), ids=MISSPELT)
def test_categories_that_may_be_misprints_are_said(recwarn, first, second, said):
    tables = [pl.DataFrame({"cut": each * 12, "x": range(12 * len(each))}) for each in (first, second)]
    compare_datasets(*tables, n_permutations=0)
    found = [str(each.message) for each in recwarn if "did you mean" in str(each.message)]
    assert found == [f"Only one table has {each}. Where they are the same, write them alike." for each in said]


@pytest.mark.slow
def test_a_rare_category_that_differs_is_named():
    rng = np.random.default_rng(3)
    common = [rng.choice(["UA", "B6", "EV", "DL", "WN"], 1500).tolist() for _ in range(2)]
    tables = [pd.DataFrame({"carrier": [*each, *[rare] * 12]}) for each, rare in zip(common, ("F9", "AS"), strict=True)]
    (carrier,) = compare_datasets(*tables, random_state=0).columns
    assert {carrier.first, carrier.second} in ({"F9 0.8 %", "F9 0 %"}, {"AS 0 %", "AS 0.8 %"})
    assert abs(carrier.effect) == pytest.approx(2 * np.arcsin(np.sqrt(12 / 1512)))


def test_what_is_left_without_a_separating_column_is_one_number():
    rng = np.random.default_rng(0)
    first, second = (
        pd.DataFrame({"smoker": answer, "bill": rng.normal(shift, 1, 60)}) for answer, shift in (("no", 0), ("yes", 1))
    )
    result = compare_datasets(first, second, n_permutations=19)
    column = next(each for each in result.columns if each.column == "smoker")
    assert column.without == result.without_non_overlapping.divergence


def test_what_separates_the_tables_does_not_hide_what_else_differs():
    rng = np.random.default_rng(0)
    first, second = (
        pd.DataFrame({"year": year, "bill": rng.normal(shift, 1, 80), "size": rng.normal(0, 1, 80)})
        for year, shift in ((2007, 0), (2009, 2))
    )
    result = compare_datasets(first, second, n_permutations=99)
    rest = compare_datasets(first.drop(columns="year"), second.drop(columns="year"), n_permutations=99)
    assert result.set_aside == "year"
    assert [each.rule for each in result.regions] == [each.rule for each in rest.regions]
    assert "bill" in result.regions[0].rule
    assert {each.column: each.without for each in rest.columns}.items() <= {
        each.column: each.without for each in result.columns
    }.items()
    assert_array_equal(result.for_typical_rows.rows_a, rest.rows_a)
    inside = result.rows(result.regions[0])
    assert [len(each) for each in inside] == [
        round(share * 80) for share in (result.regions[0].first, result.regions[0].second)
    ]
