"""A logistic regression that separates two samples, with few rows or many."""

from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular
from scipy.special import expit, ndtri
from sklearn.base import BaseEstimator, ClassifierMixin

from fewratio.core.draws import deal
from fewratio.core.kernels import check_squares, distances_within, gaussian_kernel, median_width
from fewratio.core.shapes import Floats
from fewratio.core.threads import one_thread
from fewratio.core.units import ColumnScaling, column_scaling, rank_knots

# Values are clipped at this many deviations.
_FARTHEST = 5.0
# Prior variances of the log odds from each kind of features at C = 1. Chosen on random pairs and the tables of the
# development half (benchmarks/answers.py --only prior tables), without a record of the search.
_OF_COLUMNS, _OF_NORM, _OF_KERNEL = 0.5, 0.03, 4.0
_N_CENTRES = 100
# With more columns, there are no linear terms, only the kernels.
MAX_COLUMNS = 200
_JITTER = 1e-6
# Added to the variances of whitened columns, in mean variances, since columns determined by others leave only rounding.
_LEAST_VARIANCE = 1e-3
# Newton steps, and the expected decrease of the loss below which a step is the last.
_MAX_STEPS, _LEAST_DECREASE = 50, 1e-6
# With two rows per class, folds do not help to choose the penalty.
_N_FOLDS, _LEAST_FOLDS = 5, 3
# The inverse penalties to choose from, and the gain in nats that is needed to use another one than 1.
_CS, _LEAST_GAIN = (0.05, 0.2, 1.0, 4.0, 16.0), 1.0


class KernelFeatures:
    """Features of a logistic regression: columns, the distance from the middle, and Gaussian kernels.

    Columns are in robust units, or whitened: uncorrelated, each with unit variance. The kernels are centred on a
    hundred of the rows and whitened (Nystroem's method), so that their number does not change their total weight.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        The rows of both samples.
    rng : numpy Generator
        Draws the centres; rows should be in the order of `row_order`.
    is_whitened : bool
        Whether to whiten the columns.
    width : float
        The width of the kernels in median distances between the centres.
    is_ranked : bool
        Whether to replace columns by the normal scores of their ranks, so that outliers do not affect the units.
    """

    def __init__(
        self,
        rows: Floats,
        rng: np.random.Generator,
        is_whitened: bool = False,
        width: float = 1.0,
        is_ranked: bool = False,
    ) -> None:
        # Drop constant columns, since the number of columns matters; but keep at least one.
        self._varies = rows.max(0) > rows.min(0)
        self._varies[0] |= not self._varies.any()
        varying = rows.compress(self._varies, axis=1)
        self._scores: list[tuple[Floats, Floats]] = []
        if is_ranked:
            for column in varying.T:
                values, ranks = rank_knots(column)
                self._scores.append((values, ndtri(ranks)))
            varying = self._rank(varying)
        # Use medians, since a single outlier moves the mean.
        self._scaling = ColumnScaling(np.median(varying, axis=0), column_scaling([varying])[1])
        self._whitening: Floats | None = None
        if is_whitened:
            standard = self._standardise(rows)
            variances, axes = np.linalg.eigh(np.atleast_2d(np.cov(standard, rowvar=False, bias=True)))
            least = _LEAST_VARIANCE * (variances.mean() or 1.0)
            self._whitening = axes / np.sqrt(variances.clip(0) + least)
        standard = self._standardise(rows)
        self._centres = standard[np.sort(rng.permutation(len(standard))[:_N_CENTRES])]
        self._width = width * float(median_width(distances_within(self._centres)))
        kernel = self._kernel(self._centres)
        self._factor = cholesky(kernel + _JITTER * kernel.diagonal().max() * np.eye(len(kernel)), lower=True)

    def __call__(self, X: Floats) -> Floats:
        """Return the features of rows; the last one is 1."""
        *parts, kernel = self._parts(X)
        whitened = solve_triangular(self._factor, kernel.T, lower=True).T
        return np.concatenate([*parts, whitened, np.ones((len(X), 1))], axis=1)

    def weigh(self, X: Floats, coef: Floats) -> Floats:
        """Return the features times coefficients, without storing the features of all rows."""
        columns, norms, kernel = self._parts(X)
        n_columns, n_others = columns.shape[1], columns.shape[1] + 1
        of_kernel = solve_triangular(self._factor, coef[n_others:-1], lower=True, trans=1)
        return columns @ coef[:n_columns] + norms[:, 0] * coef[n_columns] + kernel @ of_kernel + coef[-1]

    def _parts(self, X: Floats) -> tuple[Floats, Floats, Floats]:
        rows = self._standardise(X)
        n_columns = rows.shape[1]
        columns = _OF_COLUMNS**0.5 * rows[:, : n_columns if n_columns <= MAX_COLUMNS else 0]
        norms = (np.square(rows).mean(1, keepdims=True) - 1) * (_OF_NORM * n_columns) ** 0.5
        return columns, norms, self._kernel(rows)

    def _rank(self, varying: Floats) -> Floats:
        """Return the normal scores of varying columns, or the columns themselves if they are not ranked."""
        if not self._scores:
            return varying
        return np.stack([np.interp(each, *known) for each, known in zip(varying.T, self._scores, strict=True)], axis=1)

    def _standardise(self, X: Floats) -> Floats:
        rows = self._scaling(self._rank(X.compress(self._varies, axis=1))).clip(-_FARTHEST, _FARTHEST)
        return rows if self._whitening is None else rows @ self._whitening

    def _kernel(self, rows: Floats) -> Floats:
        kernel = _OF_KERNEL * gaussian_kernel(rows, self._centres, self._width)
        return kernel if rows.shape[1] <= MAX_COLUMNS else kernel + _OF_COLUMNS * rows @ self._centres.T


class KernelLogisticRegression(ClassifierMixin, BaseEstimator):
    """Logistic regression on `KernelFeatures`, with equal weight for both classes.

    Parameters
    ----------
    C : float, optional
        Inverse penalty, as in scikit-learn; by default chosen by the likelihood of held-out folds.
    random_state : int or None
        Draws the centres and the folds; rows should be in the order of `row_order`.

    Attributes
    ----------
    C_ : float
        The inverse penalty that was used.
    classes_ : ndarray
        0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.arange(6.0)[:, None], np.array([0, 0, 0, 1, 1, 1])
    >>> KernelLogisticRegression(1.0).fit(X, y).predict_proba(X[:1]).round(2)
    array([[0.87, 0.13]])
    """

    classes_ = np.array([0, 1])

    def __init__(self, C: float | None = None, random_state: int | None = None) -> None:
        self.C = C
        self.random_state = random_state

    def fit(self, X: Floats, y: NDArray[np.int64]) -> Self:
        """Learn to separate rows of class 1 from those of class 0."""
        check_squares(X)
        rng = np.random.default_rng(self.random_state)
        self._features = KernelFeatures(X, rng)
        weights, signs = balance(y == 1), np.where(y == 1, 1.0, -1.0)
        features = self._features(X)
        self.C_ = self._choose_penalty(features, signs, weights, rng) if self.C is None else float(self.C)
        self.coef_ = fit_logistic(self.C_, features, signs, weights)
        return self

    def decision_function(self, X: Floats) -> Floats:
        """Return the log odds of class 1."""
        return self._features.weigh(X, self.coef_)

    def predict_proba(self, X: Floats) -> Floats:
        """Return the probabilities of both classes."""
        log_odds = self.decision_function(X)
        return expit(np.stack([-log_odds, log_odds], axis=1))

    def predict(self, X: Floats) -> NDArray[np.int64]:
        """Return the likelier class."""
        return (self.decision_function(X) > 0).astype(np.int64)

    def _choose_penalty(self, features: Floats, signs: Floats, weights: Floats, rng: np.random.Generator) -> float:
        """Choose the inverse penalty by the likelihood of held-out folds."""
        classes = [signs == 1, signs == -1]
        n_folds = min(_N_FOLDS, *(int(each.sum()) for each in classes))
        if n_folds < _LEAST_FOLDS:
            return 1.0
        fold, likelihood = np.empty(len(signs), dtype=np.intp), np.zeros(len(_CS))
        for each in classes:
            fold[each] = deal(int(each.sum()), n_folds, rng)
        for k in range(n_folds):
            kept, out, start = fold != k, fold == k, None
            for i, C in enumerate(_CS):
                start = fit_logistic(C, features[kept], signs[kept], weights[kept], start)
                likelihood[i] -= weights[out] @ np.logaddexp(0, -signs[out] * (features[out] @ start))
        gains = likelihood - likelihood[_CS.index(1.0)]
        return _CS[int(gains.argmax())] if gains.max() > _LEAST_GAIN else 1.0


def balance(is_first: NDArray[np.bool_]) -> Floats:
    """Return weights that balance two samples, with the total of two equal samples of the same accuracy."""
    n_first, n_second = int(is_first.sum()), int((~is_first).sum())
    together = 2 / (1 / n_first + 1 / n_second)
    return np.where(is_first, together / n_first, together / n_second)


@one_thread()
def fit_logistic(C: float, features: Floats, signs: Floats, weights: Floats, start: Floats | None = None) -> Floats:
    """Return the coefficients of a logistic regression; the last feature, which is 1, has no penalty.

    It uses Newton's method, with half steps if a full step goes too far. scikit-learn's version warns if all rows are
    equal, and takes a second to import.
    """
    penalty = np.full(features.shape[1], 1 / C)
    penalty[-1] = 0

    def loss(coef: Floats, margins: Floats) -> float:
        return float(weights @ np.logaddexp(0, -margins) + penalty @ coef**2 / 2)

    coef = np.zeros(len(penalty)) if start is None else start
    margins = signs * (features @ coef)
    value = loss(coef, margins)
    for _ in range(_MAX_STEPS):
        wrong = expit(-margins)
        gradient = penalty * coef - features.T @ (weights * signs * wrong)
        # The product of a matrix with its transpose takes half the time.
        weighted = features * np.sqrt(weights * wrong * (1 - wrong))[:, None]
        hessian = weighted.T @ weighted
        # If rows are equal, constant features have no curvature.
        hessian[np.diag_indices(len(coef))] += penalty + _JITTER**2 * hessian.trace() + np.finfo(np.float64).tiny
        step = cho_solve(cho_factor(hessian, check_finite=False), gradient, check_finite=False)
        decrease = float(gradient @ step)
        for _ in range(_MAX_STEPS):
            nearer = coef - step
            margins = signs * (features @ nearer)
            if (new_value := loss(nearer, margins)) <= value:
                coef, value = nearer, new_value
                break
            step = step / 2
        # The error of a step is about the square of the previous one.
        if decrease < _LEAST_DECREASE or coef is not nearer:
            break
    return coef
