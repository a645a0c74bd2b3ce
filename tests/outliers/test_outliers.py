"""Outliers: the contract, the sign, the thresholds and what they promise, explanations, PyOD's view."""

from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from fewratio import KLIEP, AutoRatioEstimator, Collection, InlierOutlierDetector, RuLSIF, UniversalRatioEstimator
from fewratio.core.units import column_scaling
from fewratio.errors import InputError, LeftOutWarning, ParameterError
from fewratio.estimators import NotFittedError
from fewratio.outliers import outlier_score as normality_module
from fewratio.outliers.outlier_score import score_rows
from tests.levels import LEVEL, N_DRAWS, assert_level_is_kept
from tests.strategies import few, meta_estimator, quick, seeds

FAILING = {
    "check_methods_subset_invariance": "the score depends on the whole batch, which is the ratio's denominator",
    "check_outliers_train": "the threshold belongs to the batch, so there is no offset_ after fit",
}
OWN_REFERENCE = "of a table that is its own reference no row is flagged where false discoveries are limited"


def expected_failures(detector):
    own = {"check_outliers_fit_predict": OWN_REFERENCE} if detector.contamination is None else {}
    return FAILING | own


def planted(seed, n_normal=30, n_batch=40, n_outliers=3, d=2, shift=6.0):
    """Known normals, a batch whose last rows are outliers, and which those are."""
    rng = np.random.default_rng(seed)
    batch = rng.normal(size=(n_batch, d))
    batch[n_batch - n_outliers :] += shift
    return rng.normal(size=(n_normal, d)), batch, np.arange(n_batch) >= n_batch - n_outliers


@parametrize_with_checks(
    [InlierOutlierDetector(), InlierOutlierDetector(contamination=0.1)], expected_failed_checks=expected_failures
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


# ---------------------------------------------------------------- scores


@pytest.mark.parametrize("estimator", [None, RuLSIF(0.1, sigma="cv", reg="cv"), KLIEP()])
def test_planted_rows_have_the_lowest_scores(estimator):
    normals, batch, outlier = planted(0)
    scores = InlierOutlierDetector(estimator, random_state=0).fit(normals).score_samples(batch)
    assert scores.shape == (40,)
    assert roc_auc_score(~outlier, scores) > 0.97


def test_the_score_is_the_ratio_of_the_normals_to_the_batch():
    normals, batch, _ = planted(1)
    expected = RuLSIF().fit(normals, batch).ratio_de_
    assert np.array_equal(InlierOutlierDetector(RuLSIF()).fit(normals).score_samples(batch), expected)


def test_scores_are_the_same_in_any_order_and_without_a_seed():
    normals, batch, _ = planted(1)
    # Values that occur again and again are as far from several centres.
    batch[:, 0] = batch[:, 0].round()
    rng = np.random.default_rng(0)
    expected = InlierOutlierDetector().fit(normals).score_samples(batch)
    for _ in range(3):
        order = rng.permutation(len(batch))
        found = InlierOutlierDetector().fit(rng.permutation(normals)).score_samples(batch[order])
        np.testing.assert_allclose(found, expected[order], rtol=1e-12)


def test_the_score_sees_what_is_far_and_what_is_dense_among_the_normals():
    rng = np.random.default_rng(0)
    normals, usual = rng.normal(size=(400, 2)), rng.normal(size=(300, 2))
    far, dense = np.array([[7.0, -7.0]]), rng.normal(0, 0.05, (60, 2))
    scores = score_rows(normals, np.concatenate([usual, far, dense])).rows
    assert scores[:300].min() > scores[300]
    assert roc_auc_score(np.arange(360) < 300, np.delete(scores, 300)) > 0.8


def test_the_ratio_counts_by_how_much_the_batch_differs_from_the_normals():
    rng = np.random.default_rng(0)
    normals, alike = rng.normal(size=(300, 3)), rng.normal(size=(200, 3))
    for batch, low, high in ((alike, 0.0, 0.4), (alike + np.array([3.0, 0, 0]), 0.8, 1.0), (normals[:1], 0.0, 0.6)):
        assert low <= normality_module._Score(normals, batch, np.zeros(300))._difference.found <= high


def test_a_wild_value_hides_no_outlier():
    normals, batch, outlier = planted(1)
    batch[0, 0] = 1e12
    scores = score_rows(normals, batch).rows
    assert scores.argmin() == 0
    assert roc_auc_score(~outlier[1:], scores[1:]) > 0.97


@pytest.mark.slow
@given(st.integers(4, 7), st.integers(1, 4), st.booleans(), seeds)
@few
def test_no_normal_scores_lower_than_left_out_if_it_changes_places_with_a_row(n, m, rounded, seed):
    # This is why p-values by scores that were left out are valid.
    rng = np.random.default_rng(seed)
    normals, rows = rng.normal(size=(n, 2)), rng.normal(0.5, 1, (m, 2))
    if rounded:
        normals, rows = normals.round(), rows.round()
    codes = rng.integers(0, 4, n + m)
    lowest = score_rows(normals, rows, [codes]).lowest
    for i in range(n):
        for j in range(m):
            others, judged, changed = normals.copy(), rows.copy(), codes.copy()
            others[i], judged[j], changed[[i, n + j]] = rows[j], normals[i], codes[[n + j, i]]
            assert score_rows(others, judged, [changed]).rows[j] >= lowest[i] - 1e-9


def test_of_many_normals_some_are_left_out(monkeypatch):
    monkeypatch.setattr(normality_module, "_MAX_NORMALS", 50)
    normals, batch, outlier = planted(1, n_normal=120)
    scores, left_out, lowest = score_rows(normals, batch)
    assert len(left_out) == len(lowest) == 50
    assert roc_auc_score(~outlier, scores) > 0.97


@pytest.mark.parametrize("rows", [np.zeros((3, 2)), np.array([[0.0, 1.0]])], ids=["constant", "single"])
def test_degenerate_rows_have_scores(rows):
    for normals in (rows, rows[:1], np.concatenate([rows, rows])):
        assert np.isfinite(score_rows(normals, rows).rows).all()


def test_the_universal_network_is_warned_of():
    normals, batch, _ = planted(1)
    for estimator in (AutoRatioEstimator(), UniversalRatioEstimator()):
        with pytest.warns(UserWarning, match="is not made to find outliers"):
            InlierOutlierDetector(estimator).fit(normals).score_samples(batch)
    many, batch, _ = planted(1, n_normal=400, n_batch=400)
    # The classifier is used, so there is no warning, which would be an error.
    InlierOutlierDetector(AutoRatioEstimator(random_state=0)).fit(many).score_samples(batch)


def test_the_users_estimator_stays_unfitted():
    normals, batch, _ = planted(1)
    estimator = RuLSIF()
    InlierOutlierDetector(estimator).fit(normals).predict(batch)
    assert vars(estimator) == vars(RuLSIF())


def test_one_normal_row_will_do():
    _, batch, outlier = planted(2, n_outliers=1)
    detector = InlierOutlierDetector().fit([[0.0, 0.0]])
    scores = detector.score_samples(batch)
    assert scores[outlier][0] <= np.median(scores)
    assert set(detector.predict(batch)) <= {-1, 1}
    with pytest.raises(InputError, match="X_inlier had one row"):
        detector.p_values(batch)


@pytest.mark.parametrize("kind", [np.asarray, lambda X: pd.DataFrame(X, columns=["a", "b"]), lambda X: X.tolist()])
def test_a_batch_may_be_one_row(kind):
    normals, batch, _ = planted(3)
    detector = InlierOutlierDetector().fit(kind(normals))
    usual, outlier = (detector.score_samples(kind(batch[[row]])) for row in (0, -1))
    assert usual > outlier
    assert detector.predict(kind(batch[-1:])).tolist() == [-1]


def test_a_pretrained_estimator_keeps_what_it_has_learned():
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(40, 2)) + (np.arange(40) < 4)[:, None] * 6 for _ in range(8)]
    sources = Collection.from_arrays(arrays, outliers=[np.arange(40) < 4] * 8)
    learned = meta_estimator(
        episodes="inliers", n_support=5, n_support_de=20, width=16, max_steps=30, device="cpu", random_state=0
    )
    with pytest.raises(NotFittedError, match="pretrain"):
        InlierOutlierDetector(learned).fit(arrays[0])
    learned.pretrain(sources)
    normals, batch, _ = planted(4)
    detector = InlierOutlierDetector(learned).fit(normals[:5])
    assert np.array_equal(detector.score_samples(batch), learned.fit(normals[:5], batch).ratio_de_)
    with pytest.raises(InputError, match="X_inlier has 3 columns but the source collection has 2"):
        detector.fit(np.ones((4, 3)))


@pytest.mark.slow
def test_threads_may_share_a_detector():
    normals, *_ = planted(9)
    batches = [planted(seed, n_batch=25 + seed)[1] for seed in range(8)]
    for options in ({}, {"false_discovery_rate": 0.5}):
        detector = InlierOutlierDetector(**options, random_state=0).fit(normals)
        before = joblib.hash(vars(detector))
        reads = (detector.score_samples, detector.decision_function, detector.p_values)
        calls = [(read, batch) for _ in range(4) for read in reads for batch in batches]
        expected = [read(batch) for read, batch in calls]
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda call: call[0](call[1]), calls))
        for mine, alone in zip(found, expected, strict=True):
            np.testing.assert_array_equal(mine, alone)
        assert joblib.hash(vars(detector)) == before


# ---------------------------------------------------------------- thresholds


@given(st.integers(2, 60), st.sampled_from([0.1, 0.25, 0.5]), seeds)
@quick
def test_a_contamination_is_the_share_that_is_flagged(n, share, seed):
    batch = np.random.default_rng(seed).normal(size=(n, 2))
    predicted = InlierOutlierDetector(KLIEP(), contamination=share).fit(batch[: n // 2 + 1]).predict(batch)
    # With percentiles between rows, and rows of one score at the threshold, it can only be fewer.
    assert (predicted == -1).sum() <= np.ceil(share * n)


@pytest.mark.parametrize(
    ("n_normal", "options", "rule"),
    [
        (10, {"contamination": 0.2}, "contamination"),
        # Of 40 rows a single one can be flagged where 40 / rate normals, less one, are known.
        (199, {"false_discovery_rate": 0.2}, "false discovery rate"),
        (198, {"false_discovery_rate": 0.2}, "false positive rate"),
        (10, {}, "false positive rate"),
        (399, {}, "false discovery rate"),
        (399, {"false_discovery_rate": None}, "false positive rate"),
        (398, {"estimator": RuLSIF(), "false_discovery_rate": 0.2}, "false discovery rate"),
        (397, {"estimator": RuLSIF(), "false_discovery_rate": 0.2}, "false positive rate"),
    ],
)
def test_predictions_are_signs_of_decisions_under_every_rule(n_normal, options, rule):
    normals, batch, outlier = planted(5, n_normal=n_normal, n_outliers=8, shift=7.0)
    detector = InlierOutlierDetector(**options, random_state=0).fit(normals)
    assert detector.threshold_rule(batch) == detector.detect(batch).rule == rule
    predicted = detector.predict(batch)
    assert np.array_equal(predicted, np.where(detector.decision_function(batch) < 0, -1, 1))
    assert (predicted[outlier] == -1).mean() > 0.8
    assert (predicted[~outlier] == -1).mean() < 0.2


@pytest.mark.parametrize("estimator", [None, RuLSIF()], ids=str)
def test_a_batch_of_nothing_but_outliers_is_flagged_and_said_to_be(estimator):
    rng = np.random.default_rng(0)
    normals, batch = rng.normal(size=(40, 3)), rng.normal(4, 1, (60, 3))
    detector = InlierOutlierDetector(estimator, random_state=0).fit(normals)
    with pytest.warns(UserWarning, match="of 60 rows are flagged: most of the batch is unlike the normals"):
        predicted = detector.predict(batch)
    assert (predicted == -1).mean() > 0.9
    # Nine rows are too few to say so, and every warning more would be an error.
    detector.predict(batch[:9])


def test_a_batch_of_nothing_but_outliers_is_flagged_by_a_constant_column():
    rng = np.random.default_rng(0)
    normals, batch = (
        pd.DataFrame({"set": [value] * n, "noise": rng.normal(size=n), "site": site})
        for value, n, site in ((1.0, 60, "north"), (5.0, 20, "south"))
    )
    detector = InlierOutlierDetector().fit(normals)
    result = detector.detect(batch)
    assert [each.column for each in result.non_overlapping] == ["set", "site"]
    assert result.is_outlier.all()


def test_only_its_kind_decides_whether_a_column_is_used():
    """Or a normal row and one of the batch could not change places, as p-values take it."""
    rng = np.random.default_rng(0)
    normals, batch = (
        pd.DataFrame({"x": rng.normal(size=n), "site": site, "day": pd.date_range(start, periods=n)})
        for n, site, start in ((60, "north", "2024-01-01"), (20, "south", "2024-06-01"))
    )
    with pytest.warns(LeftOutWarning, match=r"'day' \(date of a row\).*keep="):
        detector = InlierOutlierDetector().fit(normals)
    assert detector.encoding_.names == ("x", "site")
    for rows in (batch, batch.assign(site="north"), batch.assign(day=normals["day"][:20])):
        assert detector.detect(rows).samples.encoding is detector.encoding_
    assert detector.detect(batch).is_outlier.all()
    assert not detector.detect(batch.assign(site="north")).is_outlier.all()
    # Dates that are measurements can be kept, and are judged like numbers.
    kept = InlierOutlierDetector().fit(normals, keep="day")
    assert kept.encoding_.names == ("x", "site", "day")
    assert kept.detect(batch.assign(site="north")).is_outlier.all()


@pytest.mark.parametrize("estimator", [None, RuLSIF()], ids=str)
@pytest.mark.parametrize("options", [{}, {"contamination": 0.2}, {"false_discovery_rate": None}], ids=str)
def test_outliers_are_the_rows_with_scores_below_the_threshold(estimator, options):
    rng = np.random.default_rng(0)
    for seed in range(5):
        detector = InlierOutlierDetector(estimator, random_state=seed, **options).fit(rng.normal(size=(200, 2)))
        batch = np.concatenate([rng.normal(size=(7, 2)), rng.normal(4, 1, size=(3, 2))])
        result = detector.detect(batch)
        np.testing.assert_array_equal(result.is_outlier, result.scores < result.threshold)
        np.testing.assert_array_equal(result.margins, detector.decision_function(batch))


@pytest.mark.parametrize("n_normal", [5, 10, 30])
def test_the_rule_of_thumb_flags_few_rows_of_clean_batches(n_normal):
    shares = []
    for seed in range(40):
        normals, batch, _ = planted(seed, n_normal=n_normal, n_outliers=0, d=4)
        shares.append((InlierOutlierDetector().fit(normals).decision_function(batch) < 0).mean())
    assert np.mean(shares) < 0.05


def test_two_normals_are_too_few_to_flag_anything():
    _, batch, _ = planted(2)
    assert (InlierOutlierDetector().fit(batch[:2]).predict(batch) == 1).all()


@pytest.mark.parametrize("options", [{}, {"contamination": 0.2}, {"false_discovery_rate": 0.3}])
def test_the_threshold_is_where_decisions_change_sign(options):
    normals, batch, _ = planted(5, n_normal=30)
    detector = InlierOutlierDetector(**options, random_state=0).fit(normals)
    margins = detector.decision_function(batch)
    np.testing.assert_allclose(detector.score_samples(batch) - detector.threshold(batch), margins)


def test_flagged_rows_are_those_of_benjamini_and_hochberg():
    normals, batch, _ = planted(6, n_normal=60, n_outliers=10, shift=2.5)
    detector = InlierOutlierDetector(false_discovery_rate=0.2, random_state=1).fit(normals)
    p_values = np.sort(detector.p_values(batch))
    below = np.flatnonzero(p_values <= 0.2 * np.arange(1, 41) / 40)
    assert len(below)
    flagged = detector.p_values(batch) <= p_values[below[-1]]
    assert np.array_equal(detector.predict(batch) == -1, flagged)


def test_the_false_discovery_rate_is_held_and_outliers_are_found():
    rate, shares, found = 0.2, [], []
    for seed in range(60):
        normals, batch, outlier = planted(seed, n_normal=60, n_outliers=8, shift=4.0)
        detector = InlierOutlierDetector(false_discovery_rate=rate, random_state=seed).fit(normals)
        flagged = detector.predict(batch) == -1
        shares.append((flagged & ~outlier).sum() / max(1, flagged.sum()))
        found.append(flagged[outlier].mean())
    assert np.mean(shares) < rate + 2 * np.std(shares) / np.sqrt(60)
    assert np.mean(found) > 0.6


@pytest.mark.slow
@pytest.mark.parametrize(("estimator", "n_normal"), [(None, 19), (RuLSIF(), 38)], ids=str)
def test_p_values_of_normal_rows_are_no_smaller_than_uniform(estimator, n_normal):
    p_values = []
    for seed in range(N_DRAWS):
        normals, batch, _ = planted(seed, n_normal=n_normal, n_batch=1, n_outliers=0)
        p_values += InlierOutlierDetector(estimator, random_state=seed).fit(normals).p_values(batch).tolist()
    assert min(p_values) >= 1 / 20
    assert_level_is_kept(np.array(p_values) <= LEVEL + 1e-9)


@pytest.mark.slow
def test_p_values_hold_where_categories_are_new_and_columns_related():
    p_values = []
    for seed in range(N_DRAWS):
        rng = np.random.default_rng(seed)
        size = rng.normal(size=21)
        rows = pd.DataFrame(
            {"size": size, "mass": size + rng.normal(0, 0.1, 21), "kind": rng.choice(list("aaaaabcd"), 21)}
        )
        p_values += InlierOutlierDetector().fit(rows[:19], keep="kind").p_values(rows[19:20]).tolist()
    assert_level_is_kept(np.array(p_values) <= LEVEL + 1e-9)


@pytest.mark.slow
def test_clean_batches_are_flagged_no_more_often_than_the_rate_allows():
    rejections = []
    for seed in range(N_DRAWS):
        normals, batch, _ = planted(seed, n_normal=400, n_batch=10, n_outliers=0)
        result = InlierOutlierDetector(false_discovery_rate=LEVEL).fit(normals).detect(batch)
        rejections.append(result.is_outlier.any())
    assert result.rule == "false discovery rate"
    assert_level_is_kept(rejections)


def test_the_same_seed_gives_the_same():
    normals, batch, _ = planted(7, n_normal=300, n_batch=80)
    first, second = (InlierOutlierDetector(random_state=3).fit(normals) for _ in range(2))
    assert np.array_equal(first.p_values(batch), second.p_values(batch))
    free = InlierOutlierDetector().fit(normals)
    assert np.array_equal(free.score_samples(batch), free.score_samples(batch))


# ---------------------------------------------------------------- explanations and PyOD


def test_an_explanation_names_the_nearest_normals_and_the_column():
    rng = np.random.default_rng(0)
    normals = pd.DataFrame(rng.normal(0, [1, 10, 0.1], (30, 3)), columns=["x", "y", "z"])
    row = normals.iloc[[4]].copy()
    row["z"] += 1.0
    explanation = InlierOutlierDetector().fit(normals).explain(row, n_neighbours=1)
    assert explanation.columns[0] == "z"
    deviations = (row.to_numpy()[0] - normals.to_numpy()) / column_scaling([normals.to_numpy()])[1]
    distances = np.linalg.norm(deviations, axis=1)
    assert explanation.neighbours.tolist() == [distances.argmin()]
    assert explanation.distances == pytest.approx([distances.min()])
    assert abs(explanation.differences[0]) == pytest.approx(abs(deviations[distances.argmin(), 2]))
    assert explanation.to_dict()["columns"][0] == "z"
    assert "differs most, in deviations, in columns z (+" in repr(explanation)


def test_an_explanation_takes_one_row():
    detector = InlierOutlierDetector().fit([[0.0, 1.0]])
    assert detector.explain([1.0, 1.0]).neighbours.tolist() == [0]
    with pytest.raises(InputError, match="x has 2 rows"):
        detector.explain([[0.0, 1.0], [2.0, 1.0]])
    with pytest.raises(ParameterError, match="n_neighbours is 0"):
        detector.explain([0.0, 1.0], n_neighbours=0)


@pytest.mark.parametrize("n_normal", [20, 48])
def test_pyod_users_find_the_same_with_the_other_sign(n_normal):
    normals, batch, outlier = planted(8, n_normal=n_normal, n_outliers=8, shift=7.0)
    detector = InlierOutlierDetector(false_discovery_rate=0.2, random_state=0).fit(normals)
    view = detector.as_pyod()
    labels = view.fit_predict(batch)
    assert np.array_equal(labels == 1, detector.predict(batch) == -1)
    assert np.array_equal(labels, view.labels_)
    assert np.array_equal(labels, view.predict(batch))
    assert np.array_equal(view.decision_scores_ > view.threshold_, labels == 1)
    assert np.allclose(view.threshold_ - view.decision_scores_, detector.decision_function(batch))
    assert np.array_equal(view.decision_function(batch), view.decision_scores_)
    assert roc_auc_score(outlier, view.decision_scores_) > 0.97


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"estimator": 3}, "estimator is 3"),
        ({"estimator": RuLSIF}, "estimator is the class RuLSIF"),
        ({"contamination": 0.6}, "'contamination'"),
        ({"false_discovery_rate": 0}, "'false_discovery_rate'"),
    ],
)
def test_wrong_parameters_are_named(options, message):
    with pytest.raises(ParameterError, match=message):
        InlierOutlierDetector(**options).fit([[0.0]])


def test_wrong_tables_are_named():
    detector = InlierOutlierDetector()
    with pytest.raises(NotFittedError, match=r"fit\(X_inlier\)"):
        detector.predict([[0.0]])
    with pytest.raises(NotFittedError, match=r"fit\(X_inlier\)"):
        detector.as_pyod()
    with pytest.raises(InputError, match="X_inlier"):
        detector.fit([[np.inf]])
    with pytest.raises(InputError, match="X has 2 columns but X_inlier has 1"):
        detector.fit([[0.0], [1.0]]).score_samples([[0.0, 1.0]])


def test_a_clone_has_the_parameters():
    detector = clone(InlierOutlierDetector(RuLSIF(0.1), 0.2))
    assert (detector.estimator.alpha, detector.contamination) == (0.1, 0.2)


def test_the_picture_explains_the_most_anomalous_rows():
    rng = np.random.default_rng(0)
    normals = pd.DataFrame(rng.normal(size=(90, 2)), columns=["depth", "width"])
    batch = pd.DataFrame(np.vstack([rng.normal(size=(60, 2)), [[0.0, 8.0]]]), columns=normals.columns)
    detector = InlierOutlierDetector().fit(normals)
    picture = detector.detect(batch).plot(n_shown=3)
    scores, reasons = picture.spec["hconcat"]
    columns, rows = (each["from"]["data"]["values"] for each in reasons["transform"])
    assert [each["row"] for each in columns] == ["width", "depth"]
    assert len(rows) == 3
    assert rows[0]["column"] == "60"
    n_outliers = (detector.predict(batch) == -1).sum()
    assert picture.spec["title"]["text"] == f"{n_outliers} of 61 rows are outliers"
    counts = pd.DataFrame(scores["data"]["values"]).groupby("sample")["value"].sum()
    assert counts.to_dict() == {"not flagged": 61 - n_outliers, "outlier": n_outliers}


@pytest.mark.parametrize("n_normal", [50, 99, 300, 1000])
def test_more_normals_do_not_hide_a_gross_outlier(n_normal):
    rng = np.random.default_rng(0)
    normals, batch = rng.normal(size=(n_normal, 5)), rng.normal(size=(40, 5))
    batch[17] = 30
    assert InlierOutlierDetector().fit(normals).predict(batch)[17] == -1
