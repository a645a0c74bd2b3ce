"""The ratio from a classifier that tells the two samples apart."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils._param_validation import HasMethods, StrOptions

from fewratio.core.exact import relative_ratio
from fewratio.core.shapes import Floats
from fewratio.errors import ParameterError
from fewratio.estimators.base import RatioEstimator, common
from fewratio.estimators.randomness import in_row_order, seeded
from fewratio.estimators.scaling import ColumnScaling

# Next to 1, float64 has no finer steps: a probability beyond this is a 0 or 1 in all but name, and its odds are noise.
LEAST_PROBABILITY = float(np.finfo(np.float64).eps)


@dataclass(eq=False, repr=False)
class ClassifierRatio(RatioEstimator):
    """Relative ratio from the odds of a classifier between the two samples.

    If the classifier gives P(numerator | x) = p, then p / (1 - p) is the plain ratio times n_nu / n_de; that factor is
    taken out, and the relative ratio is made from what remains.

    Parameters
    ----------
    classifier : scikit-learn classifier, optional
        Anything with `predict_proba` or `decision_function`; by default a logistic regression on standardised
        columns. It is cloned, and its random state is set where it has one that is not set.
    alpha : float, default=0.5
        Relative parameter, 0 <= alpha < 1; the true ratio is at most 1 / alpha.
    calibrate : bool or {"sigmoid", "isotonic"}, default=True
        How out-of-fold scores correct the classifier's probabilities, which are often too sure: Platt's sigmoid
        (True, "sigmoid"), isotonic regression, or not at all. Where a sample has one instance no fold can be left
        out, and nothing is corrected.
    n_folds : int, default=5
        Folds for the calibration; at most the size of the smaller sample.
    scale : {"columns", "none"}, default="none"
        Units of the columns, as in `RuLSIF`. The default classifier scales them anyway.
    random_state : int, numpy Generator or None
        Deals the folds and seeds the classifier.

    Attributes
    ----------
    classifier_ : scikit-learn classifier
        The classifier, fitted to all instances; class 1 is the numerator.
    ratio_nu_, ratio_de_ : ndarray of shape (n_nu,) and (n_de,)
        The ratio at the rows given to `fit`.

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
        "calibrate": ["boolean", StrOptions({"sigmoid", "isotonic"})],
    }

    classifier: Any = None
    _: KW_ONLY
    alpha: float = 0.5
    calibrate: bool | str = True
    n_folds: int = 5
    scale: str = "none"
    random_state: int | np.random.Generator | None = None

    def _fit(self, X_nu: Floats, X_de: Floats) -> None:
        rng = np.random.default_rng(self.random_state)
        n_nu, n_de = len(X_nu), len(X_de)
        self._scaling = ColumnScaling.of_columns([X_nu, X_de], self.scale)
        X = self._scaling(np.concatenate([in_row_order(X_nu), in_row_order(X_de)]))
        is_nu = np.repeat([1, 0], [n_nu, n_de])
        fresh = make_pipeline(StandardScaler(), LogisticRegression()) if self.classifier is None else self.classifier
        fresh = seeded(clone(fresh), rng)
        self._calibration = self._calibrated(fresh, X, is_nu, rng)
        self.classifier_ = clone(fresh).fit(X, is_nu)
        self._log_prior = float(np.log(n_nu / n_de))
        self.ratio_nu_, self.ratio_de_ = self._ratio(X_nu), self._ratio(X_de)

    def _ratio(self, X: Floats) -> Floats:
        scores = _scores(self.classifier_, self._scaling(X))
        log_odds = scores if self._calibration is None else self._calibration(scores)
        limit = -np.log(LEAST_PROBABILITY)
        return relative_ratio(log_odds.clip(-limit, limit) - self._log_prior, 0.0, float(self.alpha))

    def _calibrated(
        self, fresh: Any, X: Floats, is_nu: NDArray[np.int64], rng: np.random.Generator
    ) -> Callable[[Floats], Floats] | None:
        """Learn what makes log odds of the classifier's scores; None where the scores are log odds already."""
        n_folds = min(self.n_folds, *np.bincount(is_nu))
        if self.calibrate is False or n_folds < 2:
            if not hasattr(fresh, "predict_proba"):
                raise ParameterError(
                    f"{type(fresh).__name__} gives no probabilities, and without calibration its scores cannot become "
                    "any. Set calibrate=True (with two instances per sample or more), or use another classifier."
                )
            return None
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=int(rng.integers(2**31)))
        scores = np.empty(len(X))
        for kept, left_out in folds.split(X, is_nu):
            scores[left_out] = _scores(clone(fresh).fit(X[kept], is_nu[kept]), X[left_out])
        return (_isotonic if self.calibrate == "isotonic" else _sigmoid)(scores, is_nu)


def _sigmoid(scores: Floats, is_nu: NDArray[np.int64]) -> Callable[[Floats], Floats]:
    """Platt's: log odds = slope * score + offset, with his targets, which are a little inside 0 and 1."""
    n_de, n_nu = np.bincount(is_nu)
    targets = np.where(is_nu == 1, (n_nu + 1) / (n_nu + 2), 1 / (n_de + 2))
    scale = max(float(np.abs(scores).max()), 1.0)
    scores = scores / scale

    def loss(line: Floats) -> tuple[float, Floats]:
        log_odds = line[0] * scores + line[1]
        error = expit(log_odds) - targets
        value = np.mean(np.logaddexp(0, log_odds) - targets * log_odds)
        return float(value), np.array([np.mean(error * scores), np.mean(error)])

    # A negative slope would turn the classifier round, which only chance in small folds can suggest.
    bounds, options = [(0, None), (None, None)], {"ftol": 1e-14, "gtol": 1e-9}
    start = np.array([scale, 0.0])
    slope, offset = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
    return np.poly1d([slope / scale, offset])


def _isotonic(scores: Floats, is_nu: NDArray[np.int64]) -> Callable[[Floats], Floats]:
    """Isotonic regression of the labels on the scores."""
    steps = IsotonicRegression().fit_transform(scores, is_nu)
    # A step of a few rows that are all of one sample would have a probability of 0 or 1. One row more in each, of
    # both samples in proportion, bounds it by the step's size.
    _, step, counts = np.unique(steps, return_inverse=True, return_counts=True)
    inside = (steps * counts[step] + is_nu.mean()) / (counts[step] + 1)
    return partial(_log_odds, IsotonicRegression(out_of_bounds="clip").fit(scores, inside))


def _log_odds(steps: IsotonicRegression, scores: Floats) -> Floats:
    return logit(steps.predict(scores))


def _scores(classifier: Any, X: Floats) -> Floats:
    """Log odds from probabilities where there are any, and whatever the decision function gives elsewhere."""
    if not hasattr(classifier, "predict_proba"):
        return np.asarray(classifier.decision_function(X), dtype=np.float64)
    probability = np.asarray(classifier.predict_proba(X), dtype=np.float64)
    # Not 1 - p: the smaller of the two has digits that the larger has lost.
    p_de, p_nu = probability.clip(LEAST_PROBABILITY).T
    return np.log(p_nu) - np.log(p_de)
