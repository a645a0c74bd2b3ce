"""The divergence of two samples, with an interval, from rows that were held out."""

import numpy as np
from numpy.typing import NDArray

from fewratio.core.draws import deal
from fewratio.core.shapes import Floats
from fewratio.estimators.classifier.kernel_logistic import KernelLogisticRegression

# The inverse penalty of the classifier (docs/decisions/0011).
_C = 0.3
_N_FOLDS = 5
# The normal quantile of a 90 % interval.
_QUANTILE = 1.645


def estimate_divergence(rows: Floats, is_first: NDArray[np.bool_], rng: np.random.Generator) -> list[float]:
    """Estimate the relative Pearson divergence of two samples at alpha = 0.5.

    The ratio is that of a classifier: twice the probability of the first sample, both counted alike.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Both samples.
    is_first : bool ndarray of shape (n,)
        Which rows are in the first one.
    rng : numpy Generator
        Deals the rows to folds.

    Returns
    -------
    list of three float
        The mean of what the ratio gives on the rows that it was fitted to, which is too much on average, and on rows
        that were held out, which is too little; not negative. And the ends of an interval for the divergence.
    """
    everyone = np.ones(len(rows), dtype=np.bool_)
    fitted, _ = _divergence(_ratios(rows, is_first, everyone, everyone), is_first)
    n_folds = min(_N_FOLDS, int(is_first.sum()), int((~is_first).sum()))
    if n_folds < 2:
        return [float(np.clip(fitted, 0, 0.5)), 0.0, 0.5]
    folds, ratios = np.empty(len(rows), dtype=np.intp), np.empty(len(rows))
    for sample in (is_first, ~is_first):
        folds[sample] = deal(int(sample.sum()), n_folds, rng)
    for fold in range(n_folds):
        ratios[folds == fold] = _ratios(rows, is_first, folds != fold, folds == fold)
    held_out, error = _divergence(ratios, is_first)
    gap = max(fitted - held_out, 0.0)
    low, high = min(held_out, fitted) - _QUANTILE * error, max(held_out, fitted) + _QUANTILE * error + gap / 2
    estimate, low, high = np.clip([(max(held_out, 0) + fitted) / 2, low, high], 0, 0.5).tolist()
    return [estimate, low, max(high, estimate)]


def _ratios(rows: Floats, is_first: NDArray[np.bool_], fit_on: NDArray[np.bool_], at: NDArray[np.bool_]) -> Floats:
    classifier = KernelLogisticRegression(_C, random_state=0).fit(rows[fit_on], is_first[fit_on].astype(np.int64))
    return 2 * classifier.predict_proba(rows[at])[:, 1]


def _divergence(ratio: Floats, is_first: NDArray[np.bool_]) -> tuple[float, float]:
    """Give the divergence by ratios at the rows, and its standard error."""
    gains, losses = ratio[is_first] - ratio[is_first] ** 2 / 4, ratio[~is_first] ** 2 / 4
    error = sum(float(each.var()) / max(len(each) - 1, 1) for each in (gains, losses)) ** 0.5
    return float(gains.mean() - losses.mean() - 0.5), error
