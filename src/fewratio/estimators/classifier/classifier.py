"""The ratio from a classifier that separates the two samples."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit
from sklearn.base import clone

from fewratio.core.blocks import in_blocks
from fewratio.core.draws import draw_rows, set_seed
from fewratio.core.shapes import Floats
from fewratio.core.true_ratio import relative_ratio
from fewratio.core.units import ColumnScaling
from fewratio.errors import ParameterError
from fewratio.estimators.base import RatioEstimator
from fewratio.estimators.classifier.kernel_logistic import KernelLogisticRegression, fit_logistic
from fewratio.estimators.parameters import HasMethods, StrOptions, common

# The precision of float64 near 1: the odds of probabilities closer to 0 or 1 than this are noise.
LEAST_PROBABILITY = float(np.finfo(np.float64).eps)
# The default classifier has about a hundred features, and gains little from more rows per sample.
_MAX_ROWS = 5_000
# The smallest gain of calibration, in nats over all out-of-fold rows: more than its two parameters gain by chance.
_LEAST_GAIN = 2.0


@dataclass(eq=False, repr=False)
class ClassifierRatio(RatioEstimator):
    """Estimate the relative ratio by the odds of a classifier that separates the two samples.

    If the classifier predicts P(numerator | x) = p, then p / (1 - p) is the plain ratio times n_nu / n_de. The odds are
    divided by that factor, and the relative ratio is computed from the plain one.

    Parameters
    ----------
    classifier : scikit-learn classifier, optional
        A classifier with `predict_proba` or `decision_function`. It is cloned, and seeded if its random state is None.
        By default a logistic regression on columns in robust units and Gaussian kernels, with a penalty chosen by
        cross-validation, fitted to at most 5,000 random rows per sample.
    alpha : float, default=0.5
        Relative parameter, 0 <= alpha < 1; the true ratio is at most 1 / alpha.
    calibrate : bool or {"auto", "sigmoid", "isotonic"}, default="auto"
        How to calibrate the probabilities, which are often overconfident, on out-of-fold scores: Platt's sigmoid (True
        or "sigmoid"), isotonic regression, or not at all. "auto" uses the sigmoid if it raises the likelihood of the
        out-of-fold rows by more than chance, and does not calibrate the default classifier. If a sample has a single
        row, there is no calibration.
    n_folds : int, default=5
        Number of folds for the calibration; at most the size of the smaller sample.
    scale : {"columns", "none"}, default="none"
        Units of the columns, as in `RuLSIF`. The default classifier always scales them.
    random_state : int, numpy Generator or None
        Draws the folds and seeds the classifier.

    Attributes
    ----------
    classifier_ : scikit-learn classifier
        The classifier, fitted to all rows; class 1 is the numerator.
    ratio_nu_, ratio_de_ : ndarray of shape (n_nu,) and (n_de,)
        The ratio at the rows passed to `fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from fewratio import ClassifierRatio
    >>> rng = np.random.default_rng(0)
    >>> estimator = ClassifierRatio(random_state=0).fit(rng.normal(0, 1, (10, 1)), rng.normal(1, 1, (12, 1)))
    >>> bool(estimator.predict([[-1.0]]) > estimator.predict([[2.0]]))
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **common("alpha", "n_folds", "scale", "random_state"),
        "classifier": [None, HasMethods(["fit", "predict_proba"]), HasMethods(["fit", "decision_function"])],
        "calibrate": ["boolean", StrOptions({"auto", "sigmoid", "isotonic"})],
    }

    classifier: Any = None
    _: KW_ONLY
    alpha: float = 0.5
    calibrate: bool | str = "auto"
    n_folds: int = 5
    scale: str = "none"
    random_state: int | np.random.Generator | None = None

    def _fit(self, X_nu: Floats, X_de: Floats) -> None:
        rng = np.random.default_rng(self.random_state)
        self._scaling = ColumnScaling.of([X_nu, X_de], self.scale)
        most = _MAX_ROWS if self.classifier is None else None
        nu, de = (self._scaling(X[draw_rows(X, most, rng)]) for X in (X_nu, X_de))
        X, is_nu = np.concatenate([nu, de]), np.repeat([1, 0], [len(nu), len(de)])
        fresh = KernelLogisticRegression() if self.classifier is None else self.classifier
        fresh = set_seed(clone(fresh), rng)
        self._calibration = self._calibrate(fresh, X, is_nu, rng)
        self.classifier_ = clone(fresh).fit(X, is_nu)
        # This classifier gives both samples equal weight, whatever their sizes; calibration counts rows.
        is_balanced = isinstance(fresh, KernelLogisticRegression) and self._calibration is None
        self._log_prior = 0.0 if is_balanced else float(np.log(len(nu) / len(de)))
        self.ratio_nu_, self.ratio_de_ = (in_blocks(self._ratio, X) for X in (X_nu, X_de))

    def _ratio(self, X: Floats) -> Floats:
        scores = _scores(self.classifier_, self._scaling(X))
        log_odds = scores if self._calibration is None else self._calibration(scores)
        limit = -np.log(LEAST_PROBABILITY)
        return relative_ratio(log_odds.clip(-limit, limit) - self._log_prior, 0.0, float(self.alpha))

    def _calibrate(
        self, fresh: Any, X: Floats, is_nu: NDArray[np.int64], rng: np.random.Generator
    ) -> Callable[[Floats], Floats] | None:
        """Return a function that turns the scores of the classifier into log odds; None if none is needed."""
        n_folds, has_odds = min(self.n_folds, *np.bincount(is_nu)), hasattr(fresh, "predict_proba")
        if not has_odds and (self.calibrate is False or n_folds < 2):
            raise ParameterError(
                f"{type(fresh).__name__} gives no probabilities, and without calibration its scores cannot become "
                "any. Set calibrate=True (with two instances per sample or more), or use another classifier."
            )
        if self.calibrate is False or n_folds < 2 or (self.calibrate == "auto" and self.classifier is None):
            return None
        from sklearn.model_selection import StratifiedKFold

        folds = StratifiedKFold(n_folds, shuffle=True, random_state=int(rng.integers(2**31)))
        scores = np.empty(len(X))
        for kept, left_out in folds.split(X, is_nu):
            scores[left_out] = _scores(clone(fresh).fit(X[kept], is_nu[kept]), X[left_out])
        if self.calibrate == "isotonic":
            return _isotonic(scores, is_nu)
        corrected = _sigmoid(scores, is_nu)
        if self.calibrate != "auto" or not has_odds:
            return corrected
        gain = _log_likelihood(corrected(scores), is_nu) - _log_likelihood(scores, is_nu)
        return corrected if gain > _LEAST_GAIN else None


def _log_likelihood(log_odds: Floats, is_nu: NDArray[np.int64]) -> float:
    return float((is_nu * log_odds - np.logaddexp(0, log_odds)).sum())


def _sigmoid(scores: Floats, is_nu: NDArray[np.int64]) -> Callable[[Floats], Floats]:
    """Fit Platt's sigmoid: log odds = slope * score + offset, with targets slightly inside 0 and 1."""
    n_de, n_nu = np.bincount(is_nu)
    targets = np.where(is_nu == 1, (n_nu + 1) / (n_nu + 2), 1 / (n_de + 2))
    scale = max(float(np.abs(scores).max()), 1.0)
    # A target between 0 and 1 becomes one weighted row per class.
    features = np.tile(np.column_stack([scores / scale, np.ones(len(scores))]), (2, 1))
    signs = np.repeat([1.0, -1.0], len(scores))
    slope, offset = fit_logistic(np.inf, features, signs, np.concatenate([targets, 1 - targets]))
    if slope < 0:
        # A negative slope would reverse the classifier, which can only be chance in small folds.
        slope, offset = 0.0, logit(targets.mean())
    return np.poly1d([slope / scale, offset])


def _isotonic(scores: Floats, is_nu: NDArray[np.int64]) -> Callable[[Floats], Floats]:
    """Fit an isotonic regression of the labels on the scores."""
    from sklearn.isotonic import IsotonicRegression

    steps = IsotonicRegression().fit_transform(scores, is_nu)
    # A step with rows of only one sample would have a probability of 0 or 1. So a few rows are added to each step: one
    # of the smaller sample, and proportionally many of the other.
    _, step, counts = np.unique(steps, return_inverse=True, return_counts=True)
    share = is_nu.mean()
    n_more = 1 / min(share, 1 - share)
    inside = (steps * counts[step] + n_more * share) / (counts[step] + n_more)
    return IsotonicRegression(out_of_bounds="clip").fit(scores, logit(inside)).predict


def _scores(classifier: Any, X: Floats) -> Floats:
    """Return log odds from probabilities if the classifier has them, else its decision function."""
    if not hasattr(classifier, "predict_proba"):
        return np.asarray(classifier.decision_function(X), dtype=np.float64)
    probability = np.asarray(classifier.predict_proba(X), dtype=np.float64)
    # Do not use 1 - p: the smaller probability has digits that the larger one has lost.
    p_de, p_nu = probability.clip(LEAST_PROBABILITY).T
    return np.log(p_nu) - np.log(p_de)
