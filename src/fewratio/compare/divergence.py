"""The ratio model of a comparison: held-out ratios, and their divergence with a lower limit."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, stdtrit

from fewratio.core.blocks import in_blocks
from fewratio.core.shapes import Floats, Numbers
from fewratio.estimators.base import RatioEstimator
from fewratio.estimators.classifier.kernel_logistic import MAX_COLUMNS, KernelFeatures, balance, fit_logistic
from fewratio.estimators.quantities import relative_pearson_divergence
from fewratio.estimators.samples import fit_copy, in_common_units
from fewratio.testing.permutations import ROUNDING
from fewratio.testing.row_units import mark_smaller

_N_FOLDS = 5
# The inverse penalties of the logistic regressions, the most cautious first (docs/decisions/0011).
_CS = 0.1, 1.0, 16.0
# Kernel features of normal scores, of unchanged columns, and of whitened columns (with narrow kernels).
_MAPS: tuple[dict[str, Any], ...] = {"is_ranked": True}, {}, {"is_whitened": True, "width": 0.5}
# Up to this many rows, there are also variants on unchanged columns.
_FEW = 1_000
_CONFIDENCE = 0.95
# A divergence up to this is 0.
_ROUNDING = 1e-12


class CrossFit(NamedTuple):
    """The ratios and the divergence of a comparison.

    Attributes
    ----------
    ratios : ndarray of shape (n,)
        The ratio at all rows.
    divergence : float
        The relative Pearson divergence of these ratios; at least 0.
    at_least : float
        An approximate 95 % lower limit for the true divergence; 0 if no rows could be held out.
    is_held_out : bool
        Whether the ratio of each row was estimated from other rows.
    variant : int
        The variant of the model that was chosen in most folds.
    """

    ratios: Floats
    divergence: float
    at_least: float
    is_held_out: bool
    variant: int


class Model(Protocol):
    """A ratio model with one or several variants that can be fitted to some of the rows."""

    def fit(self, kept: NDArray[np.bool_]) -> Sequence[Any]:
        """Fit all variants to the rows in `kept`."""
        ...

    def predict_rows(self, fitted: Any, rows: Numbers) -> Floats:
        """Return the ratio of a fitted variant at rows that the model knows by their numbers."""
        ...

    def predict(self, fitted: Any, X: Floats) -> Floats:
        """Return the ratio of a fitted variant at other rows."""
        ...


class LogisticModel:
    """Kernel logistic regressions on normal scores, whitened columns and unchanged columns.

    Each has three penalties, unless `only` names the features and the inverse penalty to use. Normal scores are robust
    to outliers, but ignore gaps between values, which matter most with few rows.

    The features are computed once from all rows, without their labels. The divergence of held-out rows is still at
    most the true one on average: given the rows and the ratio, the labels are random.
    """

    def __init__(
        self,
        rows: Floats,
        is_first: NDArray[np.bool_],
        rng: np.random.Generator,
        only: tuple[int, float] | None = None,
    ) -> None:
        self._is_first, self._signs = is_first, np.where(is_first, 1.0, -1.0)
        numbers = [0, 1] if len(rows) <= _FEW else [0]
        # Fewer rows than columns cannot show how columns are correlated.
        numbers += [2] if 1 < rows.shape[1] <= min(MAX_COLUMNS, len(rows) - 1) else []
        self.variants = [(number, C) for number in numbers for C in _CS]
        if only is not None:
            numbers = [only[0] if only[0] in numbers else 0]
            self.variants = [(numbers[0], only[1])]
        self._maps = {number: KernelFeatures(rows, rng, **_MAPS[number]) for number in numbers}
        self._features = {number: make(rows) for number, make in self._maps.items()}
        # Each fit starts where the one before ended: they share most rows.
        self._starts: dict[tuple[int, float], Floats] = {}

    def fit(self, kept: NDArray[np.bool_]) -> list[tuple[int, Floats]]:
        """Fit all variants to the rows in `kept`; return the number of their features, and the coefficients."""
        weights, found = balance(self._is_first[kept]), list[tuple[int, Floats]]()
        of_kept = {number: features[kept] for number, features in self._features.items()}
        for number, C in self.variants:
            before = found[-1][1] if found and found[-1][0] == number else None
            start = self._starts.get((number, C), before)
            coef = self._starts[number, C] = fit_logistic(C, of_kept[number], self._signs[kept], weights, start)
            found.append((number, coef))
        return found

    def predict_rows(self, fitted: tuple[int, Floats], rows: Numbers) -> Floats:
        """Return the ratio of a fitted variant at rows that the model knows by their numbers."""
        return 2 * expit(self._features[fitted[0]][rows] @ fitted[1])

    def predict(self, fitted: tuple[int, Floats], X: Floats) -> Floats:
        """Return the ratio of a fitted variant at other rows."""
        return 2 * expit(self._maps[fitted[0]].weigh(X, fitted[1]))


class EstimatorModel:
    """The user's estimator; at alpha = 0.5, the average of its fits in both directions."""

    def __init__(self, estimator: RatioEstimator, rows: Floats, is_first: NDArray[np.bool_], alpha: float) -> None:
        self._estimator, self._rows, self._is_first, self._alpha = estimator, rows, is_first, alpha

    def fit(self, kept: NDArray[np.bool_]) -> list[tuple[RatioEstimator, ...]]:
        """Fit to the rows in `kept`."""
        first, second = self._rows[kept & self._is_first], self._rows[kept & ~self._is_first]
        forward = fit_copy(self._estimator, first, second)
        return [(forward, fit_copy(self._estimator, second, first)) if self._alpha == 0.5 else (forward,)]

    def predict_rows(self, fitted: tuple[RatioEstimator, ...], rows: Numbers) -> Floats:
        """Return the ratio at rows that the model knows by their numbers."""
        return self.predict(fitted, self._rows[rows])

    def predict(self, fitted: tuple[RatioEstimator, ...], X: Floats) -> Floats:
        """Return the ratio at other rows."""
        ratio = np.asarray(fitted[0]._ratio(X), dtype=np.float64)
        # Swapping the samples turns r into 2 - r.
        return ratio if len(fitted) == 1 else (ratio + 2 - fitted[1]._ratio(X)) / 2


@dataclass(eq=False, repr=False)
class Held(RatioEstimator):
    """A trained estimator that sees constants in some columns, which it needs but should not compare.

    Parameters
    ----------
    estimator : RatioEstimator
    kept : int ndarray
        The numbers of the columns that it sees unchanged; the rows contain only these.
    values : ndarray of shape (n_features,)
        The constants that it sees in the other columns.
    alpha : float
        Relative parameter of the ratio, that of the estimator.
    """

    estimator: RatioEstimator
    kept: Numbers
    values: Floats
    alpha: float
    has_sources = True

    @classmethod
    def of(cls, estimator: RatioEstimator, pooled: Floats, kept: Numbers) -> "Held":
        """Fix the columns that are not kept at the mean of all rows."""
        values = pooled.mean(0)
        seen = np.tile(values, (len(pooled), 1))
        seen[:, kept] = pooled[:, kept]
        alpha = float(estimator.get_params().get("alpha", 0.0))
        return cls(in_common_units(estimator, seen), kept, values, alpha)

    def _fit(self, X_nu: Floats, X_de: Floats) -> None:
        self.estimator = fit_copy(self.estimator, self._complete(X_nu), self._complete(X_de))
        self.ratio_nu_, self.ratio_de_ = self.estimator.ratio_nu_, self.estimator.ratio_de_

    def _ratio(self, X: Floats) -> NDArray[Any]:
        return self.estimator._ratio(self._complete(X))

    def _both_divergences(self, rows: Floats, first: Numbers, second: Numbers) -> Floats:
        return self.estimator._both_divergences(self._complete(rows), first, second)

    def _for_many_pairs(self) -> RatioEstimator:
        return replace(self, estimator=self.estimator._for_many_pairs())

    def _complete(self, X: Floats) -> Floats:
        rows = np.tile(self.values, (len(X), 1))
        rows[:, self.kept] = X
        return rows


def cross_fit(
    model: Model,
    pooled: Floats,
    is_first: NDArray[np.bool_],
    used: Numbers,
    blocks: Numbers | None,
    alpha: float,
    rng: np.random.Generator,
) -> CrossFit:
    """Estimate the ratio at each row from other rows, and the divergence.

    The rows are split into folds, and each fit leaves out two folds. The ratio at the rows of a fold is the mean over
    the fits of one variant that left it out, moved towards 1 (or away from it) by a factor. The variant and the factor
    of a fold are those that do best at the rows of the other folds, in the fits that left out both. So the rows of a
    fold choose nothing for their own fold, and the divergence is at most the true one on average. If it is negative,
    all ratios are 1.

    Parameters
    ----------
    model : Model
        A model for the rows in `used`.
    pooled : ndarray of shape (n, d)
        All rows.
    is_first : bool ndarray of shape (n,)
        Which rows are in the first sample.
    used : int ndarray of shape (n_used,)
        The rows to fit to, as returned by `select_rows`. Other rows get the ratio of a fit to all of these.
    blocks : int ndarray of shape (n,) or None
        The block number of each row; blocks are not split between folds.
    alpha : float
        Relative parameter of the ratio.
    rng : numpy Generator
        Draws the folds.
    """
    # By default each row is a block.
    blocks = np.arange(len(pooled)) if blocks is None else np.unique(blocks, return_inverse=True)[1]
    folds, n_folds = _deal_folds(is_first[used], blocks[used], rng)
    highest = 1 / alpha if alpha else np.inf
    everyone = np.ones(len(used), dtype=np.bool_)
    ratios, choices = np.ones(len(pooled)), [(0, 1.0)]
    if n_folds > 1:
        ratios[used], choices = _predict_held_out(model, is_first[used], folds, n_folds, alpha)
    else:
        ratios[used] = model.predict_rows(model.fit(everyone)[0], np.arange(len(used)))
    is_other = np.ones(len(pooled), dtype=np.bool_)
    is_other[used] = False
    if is_other.any():
        variant = int(np.median([variant for variant, _ in choices]))
        fitted = model.fit(everyone)[variant]
        factor = float(np.median([factor for _, factor in choices]))
        ratios[is_other] = 1 + factor * (in_blocks(lambda X: model.predict(fitted, X), pooled[is_other]) - 1)
    ratios = ratios.clip(0, highest)
    best = int(np.bincount([variant for variant, _ in choices]).argmax())
    divergence = relative_pearson_divergence(ratios[is_first], ratios[~is_first], alpha)
    if divergence <= _ROUNDING:
        return CrossFit(np.ones(len(pooled)), 0.0, 0.0, n_folds > 1, best)
    at_least = _limit_below(ratios, is_first, blocks, alpha) if n_folds > 1 else 0.0
    return CrossFit(ratios, divergence, at_least, n_folds > 1, best)


def measure_parts(
    rows: Floats,
    is_first: NDArray[np.bool_],
    blocks: Numbers | None,
    columns: Sequence[slice],
    only: tuple[int, float],
    seed: int,
) -> tuple[float, list[tuple[float, float]]]:
    """Return the divergence of all columns, and for each column, of it alone and of all others.

    It is 0 if ratios of 1 fit as well. All divergences come from one variant of the logistic model and the same folds.
    Each fit leaves out one fold; a factor, chosen at the other folds, moves the ratios towards 1.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        The rows, as returned by `select_rows`.
    is_first : bool ndarray of shape (n,)
    blocks : int ndarray of shape (n,) or None
        The block number of each row; blocks are not split between folds.
    columns : sequence of slice
        The features of each column.
    only : (int, float)
        The variant of `LogisticModel`.
    seed : int
        Seeds folds and kernels, which are the same for all columns.
    """
    blocks = np.arange(len(rows)) if blocks is None else blocks
    folds, n_folds = _deal_folds(is_first, blocks, np.random.default_rng(seed))

    def measure(part: Floats) -> float:
        model, ratios = LogisticModel(part, is_first, np.random.default_rng(seed), only), np.ones(len(part))
        for fold in range(n_folds):
            held_out = np.flatnonzero(folds == fold)
            ratios[held_out] = model.predict_rows(model.fit(folds != fold)[0], held_out)
        moved = ratios.copy()
        for fold in range(n_folds if n_folds > 2 else 0):
            others = folds != fold
            _, factor = _choose(ratios[None, others], is_first[others], 0.5)
            moved[~others] = 1 + factor * (ratios[~others] - 1)
        moved = moved.clip(0, 2)
        found = relative_pearson_divergence(moved[is_first], moved[~is_first], 0.5)
        # Smaller divergences are rounding errors.
        return found if found > ROUNDING**2 else 0.0

    found = []
    for place in columns:
        others = np.delete(rows, place, axis=1)
        found.append((measure(rows[:, place]), measure(others) if others.shape[1] else 0.0))
    return measure(rows), found


def _deal_folds(is_first: NDArray[np.bool_], blocks: Numbers, rng: np.random.Generator) -> tuple[Numbers, int]:
    """Split blocks into folds with rows of both samples; return the fold of each row and the number of folds."""
    is_first = mark_smaller(is_first)
    _, first_row, unit = np.unique(blocks, return_index=True, return_inverse=True)
    # Number blocks by their first row, not by their label.
    unit = np.argsort(np.argsort(first_row))[unit]
    n_units = len(first_row)
    has_first, has_second = (np.bincount(unit, weights=mask, minlength=n_units) > 0 for mask in (is_first, ~is_first))
    n_folds = min(_N_FOLDS, int(has_first.sum()), int(has_second.sum()))
    order = rng.permutation(n_units)
    # Blocks of the first sample only, of both, of the second only: the blocks of each sample are consecutive.
    order = order[np.argsort(has_second[order] * 2 - has_first[order] * 1, kind="stable")]
    fold_of_unit = np.empty(n_units, dtype=np.intp)
    fold_of_unit[order] = np.arange(n_units) % n_folds
    return fold_of_unit[unit], n_folds


def _predict_held_out(
    model: Model, is_first: NDArray[np.bool_], folds: Numbers, n_folds: int, alpha: float
) -> tuple[Floats, list[tuple[int, float]]]:
    """Return the held-out ratio at the model's rows, and the variant and factor of each fold."""
    left_out = list(combinations(range(n_folds), 2)) if n_folds > 2 else [(0,), (1,)]
    found: dict[tuple[int, int], Floats] = {}
    for pair in left_out:
        fitted = model.fit(~np.isin(folds, pair))
        for fold in pair:
            rows = np.flatnonzero(folds == fold)
            found[fold, sum(pair) - fold] = np.stack([model.predict_rows(variant, rows) for variant in fitted])
    ratios, choices = np.ones(len(folds)), []
    for fold in range(n_folds):
        variant, factor = 0, 1.0
        if n_folds > 2:
            others = [other for other in range(n_folds) if other != fold]
            held_out = np.concatenate([found[other, fold] for other in others], axis=1)
            marks = np.concatenate([is_first[folds == other] for other in others])
            variant, factor = _choose(held_out, marks, alpha)
        mean = np.mean([each[variant] for (at, _), each in found.items() if at == fold], axis=0)
        ratios[folds == fold] = 1 + factor * (mean - 1)
        choices.append((variant, factor))
    return ratios, choices


def _choose(ratios: Floats, is_first: NDArray[np.bool_], alpha: float) -> tuple[int, float]:
    """Choose the variant r and the factor s >= 0 whose divergence, of 1 + s (r - 1), is the largest."""
    first, second = ratios[:, is_first] - 1, ratios[:, ~is_first] - 1
    slope = (1 - alpha) * (first.mean(1) - second.mean(1))
    curve = alpha * np.square(first).mean(1) + (1 - alpha) * np.square(second).mean(1)
    # The divergence is s slope - s^2 curve / 2.
    factor = slope.clip(0) / np.where(curve > 0, curve, 1)
    variant = int(np.argmax(factor * slope))
    return variant, float(factor[variant])


def _limit_below(ratios: Floats, is_first: NDArray[np.bool_], blocks: Numbers, alpha: float) -> float:
    """Return an approximate 95 % lower limit for the true divergence from ratios of held-out rows.

    It is Student's limit for a difference of means, over blocks. To each sample one block is added at which the ratio
    is as wrong as possible: equal values have no deviation, but a rare other value may not have been drawn. If the
    samples are separated, the limit is near that of the rule of three.
    """
    worst = (1 - alpha) / 2 * (1 / alpha if alpha else float(ratios.max())) ** 2
    terms = np.where(is_first, ratios - alpha * ratios**2 / 2, (1 - alpha) * ratios**2 / 2)
    limit, variance, sums = -0.5, 0.0, np.zeros(blocks.max() + 1)
    least_blocks = len(sums)
    for sample, sign, wrong in ((is_first, 1, 0.0), (~is_first, -1, worst)):
        n_rows, n_blocks = int(sample.sum()), int((np.bincount(blocks[sample]) > 0).sum())
        n_more = n_rows / n_blocks
        mean = (terms[sample].sum() + n_more * wrong) / (n_rows + n_more)
        limit += sign * mean
        deviations = np.bincount(blocks[sample], weights=terms[sample] - mean, minlength=len(sums))
        sums += sign * deviations / (n_rows + n_more)
        variance += (n_more * (wrong - mean) / (n_rows + n_more)) ** 2
        least_blocks = min(least_blocks, n_blocks)
    variance = (variance + float(sums @ sums)) * (least_blocks + 1) / least_blocks
    return max(0.0, float(limit - stdtrit(least_blocks, _CONFIDENCE) * variance**0.5))
