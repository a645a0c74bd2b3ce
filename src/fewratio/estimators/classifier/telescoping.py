"""Estimate ratios of distant samples by a chain of easier ratios."""

from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from fewratio.core.divergence import kullback_leibler_divergence
from fewratio.core.draws import in_row_order, set_seed
from fewratio.core.shapes import Floats
from fewratio.core.units import ColumnScaling
from fewratio.errors import ParameterError
from fewratio.estimators.base import RatioEstimator
from fewratio.estimators.classifier.classifier import ClassifierRatio
from fewratio.estimators.parameters import COUNT, HasMethods, common

# The square of a ratio must be finite too.
_MAX_LOG_RATIO = 0.49 * float(np.log(np.finfo(np.float64).max))


@dataclass(eq=False, repr=False)
class Telescoping(RatioEstimator):
    """Plain ratio as a product of ratios between neighbouring waymarks (Rhodes et al. 2020).

    Waymark k mixes pairs of rows, ``sqrt(1 - a_k^2) x_nu + a_k x_de`` with ``a_k = k / n_bridges``, about the mean of
    both samples; the ends are the samples themselves. Neighbouring waymarks overlap even if the samples do not, so each
    ratio can be estimated, and log r is the sum of their logarithms. The divergence is the Kullback-Leibler divergence,
    the mean log ratio of the numerator.

    Parameters
    ----------
    estimator : RatioEstimator, optional
        Estimates the ratio of each bridge; it must be a plain ratio (alpha = 0). The default is a logistic regression
        without calibration, since calibrating each bridge would remove much of the small differences.
    n_bridges : int, default=4
        Number of ratios; with 1, the result is that of the estimator.
    n_pairings : int, default=1
        How often the rows are paired for the waymarks between the samples. Each pairing adds as many rows as the larger
        sample has, which makes the result more stable but takes longer.
    scale : {"columns", "none"}, default="none"
        Units of the columns, as in `RuLSIF`.
    random_state : int, numpy Generator or None
        Pairs the rows, and seeds the estimators of the bridges.

    Attributes
    ----------
    bridges_ : list of RatioEstimator
        The fitted estimators, from the numerator to the denominator.
    ratio_nu_, ratio_de_ : ndarray of shape (n_nu,) and (n_de,)
        The ratio at the rows passed to `fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from fewratio.estimators import Telescoping
    >>> rng = np.random.default_rng(0)
    >>> chain = Telescoping(random_state=0).fit(rng.normal(0, 1, (200, 1)), rng.normal(6, 1, (150, 1)))
    >>> chain.log_ratio([[0.0], [3.0], [6.0]]).round()  # in truth 18, 0 and -18
    array([ 15.,  -1., -18.])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [None, HasMethods(["fit", "predict", "divergence"])],
        **common("scale", "random_state"),
        **{name: [COUNT] for name in ("n_bridges", "n_pairings")},
    }

    estimator: Any = None
    _: KW_ONLY
    n_bridges: int = 4
    n_pairings: int = 1
    scale: str = "none"
    random_state: int | np.random.Generator | None = None

    def _divergence_of(self, ratio_nu: Floats, ratio_de: Floats) -> float:
        return float(kullback_leibler_divergence(ratio_nu))

    def bridge_losses(self, X_nu: Any, X_de: Any) -> Floats:
        """Return the log loss of each bridge at the waymarks of two held-out samples.

        A loss near zero shows that a bridge separates its waymarks too easily, so more bridges are needed. Of two
        chains with equally many bridges, the one with the lower mean loss is better. Hold out rows before they are
        paired; if you split waymarks instead, parts of one row end up on both sides.

        Parameters
        ----------
        X_nu : array-like of shape (n_nu, n_features)
            New rows of the numerator.
        X_de : array-like of shape (n_de, n_features)
            New rows of the denominator.

        Returns
        -------
        ndarray of shape (n_bridges,)
            Losses from the numerator to the denominator. Both sides of a bridge have the same weight, and guessing has
            a loss of 1.
        """
        self._check_fitted()
        nu, de = self._open(X_nu, "X_nu"), self._open(X_de, "X_de")
        rng = np.random.default_rng(self.random_state)
        numerator, denominator = (self._scaling(in_row_order(sample.to_numpy())) for sample in (nu, de))
        marks = _waymarks(numerator, denominator, len(self.bridges_), self.n_pairings, rng)
        losses = [
            np.logaddexp(0, -bridge.log_ratio(nearer)).mean() + np.logaddexp(0, bridge.log_ratio(farther)).mean()
            for bridge, (nearer, farther) in zip(self.bridges_, pairwise(marks), strict=True)
        ]
        return np.array(losses) / (2 * np.log(2))

    def _fit(self, X_nu: Floats, X_de: Floats) -> None:
        estimator = _default_bridge() if self.estimator is None else self.estimator
        alpha = getattr(estimator, "alpha", 0)
        if alpha != 0:
            raise ParameterError(
                f"The estimator has alpha = {alpha}; only plain ratios multiply to a ratio. Set its alpha to 0."
            )
        rng = np.random.default_rng(self.random_state)
        self._scaling = ColumnScaling.of([X_nu, X_de], self.scale)
        nu, de = (self._scaling(in_row_order(X)) for X in (X_nu, X_de))
        marks = _waymarks(nu, de, self.n_bridges, self.n_pairings, rng)
        self.bridges_ = [set_seed(clone(estimator), rng).fit(nearer, farther) for nearer, farther in pairwise(marks)]
        self.ratio_nu_, self.ratio_de_ = self._ratio(X_nu), self._ratio(X_de)

    def _ratio(self, X: Floats) -> Floats:
        X = self._scaling(X)
        if len(self.bridges_) == 1:
            return self.bridges_[0].predict(X)
        log_ratio = np.sum([bridge.log_ratio(X) for bridge in self.bridges_], axis=0)
        return np.exp(log_ratio.clip(max=_MAX_LOG_RATIO))


def _default_bridge() -> ClassifierRatio:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return ClassifierRatio(make_pipeline(StandardScaler(), LogisticRegression()), alpha=0.0, calibrate=False)


def _waymarks(X_nu: Floats, X_de: Floats, n_bridges: int, n_pairings: int, rng: np.random.Generator) -> list[Floats]:
    n = max(len(X_nu), len(X_de))
    # The coefficients sum to more than 1, so without centring the waymarks would not lie between the samples.
    centre = (X_nu.mean(0) + X_de.mean(0)) / 2
    # Use the same pairs for all waymarks, so that chance differences cancel between neighbours. The rows of the smaller
    # sample are in equally many pairs, give or take one.
    x_nu, x_de = (
        np.concatenate([X[rng.permutation(n) % len(X)] for _ in range(n_pairings)]) - centre for X in (X_nu, X_de)
    )
    between = [centre + np.sqrt(1 - a**2) * x_nu + a * x_de for a in np.arange(1, n_bridges) / n_bridges]
    return [X_nu, *between, X_de]
