"""Choose parameters of any estimator by the error on held-out instances."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.model_selection import ParameterGrid

from fewratio.core.draws import deal, in_row_order, set_seed
from fewratio.core.shapes import Floats
from fewratio.errors import ParameterError
from fewratio.estimators.base import RatioEstimator
from fewratio.estimators.parameters import HasMethods, Interval, common
from fewratio.estimators.quantities import relative_squared_error


@dataclass(eq=False, repr=False)
class HeldOutSelection(RatioEstimator):
    """Fit with the parameters that have the smallest held-out error J (Eq. 8), like scikit-learn's `GridSearchCV`.

    Both samples are split into folds; each set of parameters is fitted to all folds but one and scored by
    `relative_squared_error` on the remaining fold. The best one is then fitted to all rows.

    A pretrained estimator stays pretrained: it is copied and only fitted again. Parameters that only `pretrain` reads
    therefore cannot be chosen here.

    Parameters
    ----------
    estimator : RatioEstimator
        The estimator to fit; it is copied.
    param_grid : dict or list of dict
        Values to try for each parameter, as for `GridSearchCV`.
    alpha : float, optional
        Relative parameter of the error. By default that of the estimator, 0 if it has none. Set it if alpha is among
        the parameters to choose, since errors with different alpha cannot be compared.
    n_folds : int, default=5
        Number of folds; at most the size of the smaller sample. If a sample has a single row, nothing can be held out,
        and the first parameters of the grid are used.
    random_state : int, numpy Generator or None
        Draws the folds, and seeds the estimator if it has no seed.

    Attributes
    ----------
    best_estimator_ : RatioEstimator
        The estimator with the best parameters, fitted to both samples.
    best_params_ : dict
        The best parameters.
    scores_ : list of dict
        For each set of parameters ``{"params", "mean_error", "std_error"}``; NaN if nothing could be held out.
        The standard error refers to the mean over folds.
    ratio_nu_, ratio_de_ : ndarray of shape (n_nu,) and (n_de,)
        The ratio at the rows given to `fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from fewratio import RuLSIF
    >>> from fewratio.estimators import HeldOutSelection
    >>> rng = np.random.default_rng(0)
    >>> choice = HeldOutSelection(RuLSIF(), {"reg": [0.01, 0.1, 10]}, random_state=0)
    >>> choice.fit(rng.normal(0, 1, (30, 1)), rng.normal(1, 1, (40, 1))).best_params_
    {'reg': 0.1}
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **common("n_folds", "random_state"),
        "estimator": [HasMethods(["fit", "predict", "divergence", "set_params"])],
        "param_grid": [dict, list],
        "alpha": [None, Interval(Real, 0, 1, closed="left")],
    }

    estimator: Any
    param_grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]]
    _: KW_ONLY
    alpha: float | None = None
    n_folds: int = 5
    random_state: int | np.random.Generator | None = None

    def _fit(self, X_nu: Floats, X_de: Floats) -> None:
        grid = list(ParameterGrid(self.param_grid))
        self._check_grid(grid)
        alpha = self._judging_alpha(grid)
        rng = np.random.default_rng(self.random_state)
        # Copy instead of cloning, which would make a pretrained estimator forget its training.
        estimator = set_seed(deepcopy(self.estimator), rng)
        samples = [in_row_order(X) for X in (X_nu, X_de)]
        n_folds = min(self.n_folds, *map(len, samples))
        errors = np.full((len(grid), max(n_folds, 1)), np.nan)
        if n_folds > 1:
            # Use the same folds for all parameters, to compare errors on the same rows.
            folds = [deal(len(X), n_folds, rng) for X in samples]
            for k in range(n_folds):
                kept, out = (
                    [X[(fold == k) == held] for X, fold in zip(samples, folds, strict=True)] for held in (False, True)
                )
                for i, parameters in enumerate(grid):
                    fitted = _fit_copy(estimator, parameters, *kept)
                    ratio_nu, ratio_de = (fitted.predict(X) for X in out)
                    errors[i, k] = relative_squared_error(ratio_nu, ratio_de, alpha)
        mean, deviation = errors.mean(1), errors.std(1, ddof=min(1, n_folds - 1)) / np.sqrt(max(n_folds, 1))
        best = grid[int(mean.argmin())]
        self.best_estimator_ = _fit_copy(estimator, best, X_nu, X_de)
        self.ratio_nu_, self.ratio_de_ = self.best_estimator_.ratio_nu_, self.best_estimator_.ratio_de_
        self.best_params_ = best
        self.scores_ = [
            {"params": parameters, "mean_error": float(error), "std_error": float(std)}
            for parameters, error, std in zip(grid, mean, deviation, strict=True)
        ]

    def divergence(self) -> float:
        """Return the divergence of the best estimator."""
        self._check_fitted()
        return float(self.best_estimator_.divergence())

    def _ratio(self, X: Floats) -> Floats:
        return self.best_estimator_.predict(X)

    def _check_grid(self, grid: list[dict[str, Any]]) -> None:
        known = self.estimator.get_params()
        unknown = sorted({name for parameters in grid for name in parameters} - known.keys())
        if not grid or unknown:
            raise ParameterError(
                f"param_grid names {', '.join(unknown) or 'no parameters'}; {type(self.estimator).__name__} has "
                f"{', '.join(sorted(known))}. Name some of these, with a list of values each."
            )

    def _judging_alpha(self, grid: list[dict[str, Any]]) -> float:
        if self.alpha is not None:
            return float(self.alpha)
        if any("alpha" in parameters for parameters in grid):
            raise ParameterError(
                "param_grid varies alpha, and errors with different alpha cannot be compared. "
                "Set HeldOutSelection's own alpha to the one that matters to you."
            )
        return float(getattr(self.estimator, "alpha", 0.0))


def _fit_copy(estimator: Any, parameters: dict[str, Any], X_nu: Floats, X_de: Floats) -> Any:
    return deepcopy(estimator).set_params(**parameters).fit(X_nu, X_de)
