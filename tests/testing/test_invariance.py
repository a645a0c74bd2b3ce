"""Units, origins, orders, constant columns and the sign of zero change no answer, also where something is drawn."""

import numpy as np
import pytest

from fewratio import (
    ClassifierRatio,
    InlierOutlierDetector,
    RuLSIF,
    compare_all,
    compare_datasets,
    detect_changes,
    importance_weights,
)
from fewratio.estimators import Telescoping

CHANGES = {
    "columns in another order": lambda X: X[:, [2, 0, 1]],
    "twice": lambda X: 2 * X,
    "a thousand times": lambda X: 1000 * X,
    "shifted": lambda X: X + np.array([3.0, -40.0, 0.7]),
    "negative zeros": lambda X: np.where(X == 0, -0.0, X),
    "a constant column more": lambda X: np.insert(X, 1, 0.1, axis=1),
    "lists": lambda X: X.tolist(),
}
# For large samples, which take longer.
AT_ONCE = {
    "all at once": lambda X: np.insert(
        1000 * np.where(X == 0, -0.0, X)[:, [2, 0, 1]] + np.array([3.0, -40.0, 0.7]), 1, 0.1, axis=1
    )
}


def samples(n_first, n_second):
    rng = np.random.default_rng(0)
    A, B = rng.normal(0, 1, (n_first, 3)), rng.normal(0.5, [1, 2, 1], (n_second, 3))
    # Zeros, which may have a sign.
    return tuple(np.where(np.abs(X) < 0.1, 0.0, X) for X in (A, B))


def comparison(A, B):
    result = compare_datasets(A, B, n_permutations=19, random_state=0)
    return (
        result.divergence,
        result.at_least,
        np.sort(result.null_distribution),
        result.p_value,
        result.ratios_a,
        result.ratios_b,
    )


def chosen_comparison(A, B):
    estimator = RuLSIF(sigma="cv", reg=[0.01, 1.0], cv=3)
    result = compare_datasets(A[:20], B[:15], estimator=estimator, n_permutations=9, random_state=0)
    return result.divergence, np.sort(result.null_distribution), result.ratios_b


def weights(A, B):
    return (importance_weights(A, B, random_state=0).weights,)


def outliers(A, B):
    detector = InlierOutlierDetector(false_discovery_rate=0.3, random_state=0).fit(A)
    return detector.score_samples(B), detector.p_values(B), detector.predict(B)


def changes(A, B):
    result = detect_changes(np.concatenate([A[:50], B[:50]]), window=15, n_permutations=19, level=0.05, random_state=0)
    return result.scores, result.threshold, result.points


def all_pairs(A, B, third=None):
    result = compare_all([A, B, A[:40] if third is None else third], n_permutations=9, n_rows=60, random_state=0)
    return result.divergences, result.p_values


APPLICATIONS = (
    comparison,
    pytest.param(chosen_comparison, marks=pytest.mark.slow),
    weights,
    outliers,
    changes,
    all_pairs,
)


@pytest.mark.filterwarnings("ignore:The smallest p-value")
@pytest.mark.filterwarnings("ignore:.* rows are flagged. most of the batch")
# Past 300 rows the default estimator draws its centres.
@pytest.mark.parametrize("sizes", [(20, 20), (190, 170)], ids=str)
@pytest.mark.parametrize("application", APPLICATIONS, ids=lambda application: application.__name__)
def test_only_the_data_matter(application, sizes):
    A, B = samples(*sizes)
    expected = application(A, B)
    for name, change in (CHANGES if sizes == (20, 20) else AT_ONCE).items():
        for found, known in zip(application(change(A), change(B)), expected, strict=True):
            np.testing.assert_allclose(found, known, rtol=1e-6, atol=1e-7, err_msg=name)


@pytest.mark.filterwarnings("ignore:The smallest p-value")
def test_rows_may_come_in_any_order():
    A, B = samples(190, 170)
    first, second = np.random.default_rng(1).permutation(len(A)), np.random.default_rng(2).permutation(len(B))
    for found, known in zip(all_pairs(A, B, A[:40]), all_pairs(A[first], B[second], A[:40]), strict=True):
        np.testing.assert_allclose(found, known, rtol=1e-6, atol=1e-7)
    p_values = outliers(A, B)[1]
    np.testing.assert_allclose(outliers(A[first], B[second])[1], p_values[second], rtol=1e-6)


def mirrored(n, seed, shift):
    """Whole numbers, each column in another order; with any row that whose first two values are exchanged."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.permutation(n) for _ in range(3)]).astype(float) + shift
    return np.concatenate([X, X[:, [1, 0, 2]]])


def detect(A, B, X):
    return InlierOutlierDetector().fit(A).score_samples(np.concatenate([X, B]))[: len(X)]


def estimate(estimator):
    return lambda A, B, X: estimator.fit(A, B).predict(X)


@pytest.mark.parametrize(
    "answer",
    [
        estimate(RuLSIF(sigma="cv", reg="cv", random_state=0)),
        estimate(RuLSIF(sigma="cv", cv=3, random_state=0)),
        estimate(RuLSIF(centres=10, random_state=0)),
        estimate(Telescoping(random_state=0)),
        estimate(ClassifierRatio(random_state=0)),
        detect,
    ],
    ids=["RuLSIF, leave-one-out", "RuLSIF, folds", "RuLSIF, centres", "Telescoping", "ClassifierRatio", "detector"],
)
def test_ties_do_not_let_the_order_of_rows_or_columns_matter(answer):
    A, B = mirrored(9, 0, 0.0), mirrored(11, 1, 2.0)
    X, expected = A[:5], answer(A, B, A[:5])
    for order in ([0, 1, 2], [2, 0, 1]):
        found = answer(A[::-1][:, order], np.roll(B, 7, axis=0)[:, order], X[:, order])
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_constant_column_is_no_part_of_a_difference():
    A, B = samples(30, 30)
    B = B + 1
    expected = {each.column: each for each in compare_datasets(A, B, n_permutations=19, random_state=0).columns}
    wider = (np.column_stack([X, np.full(len(X), 0.1)]) for X in (A, B))
    for each in compare_datasets(*wider, n_permutations=19, random_state=0).columns:
        alone = expected[each.column].alone if each.column < 3 else 0.0
        assert each.alone == pytest.approx(alone, abs=1e-12)
