"""Density ratios without related datasets: a network trained on random distributions."""

from dataclasses import KW_ONLY, dataclass, field
from functools import cache, partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from fewratio.core.container import read_tensors
from fewratio.core.shapes import Floats, Numbers
from fewratio.errors import FewRatioError, InputError, ModelFileError, ParameterError
from fewratio.estimators.base import RatioEstimator, fit_to_drawn
from fewratio.estimators.networks.network_estimator import NetworkEstimator, as_rows, resolve_device
from fewratio.estimators.networks.nn import AdaptedRatio, RatioModel, RidgeHead, SampleScaled, Standardiser
from fewratio.estimators.networks.nn.intervals import LEVELS, Intervals
from fewratio.estimators.networks.nn.relational import RelationalEncoder, RelationalFeatures
from fewratio.estimators.networks.pretrained import UNIVERSAL
from fewratio.estimators.parameters import Interval, StrOptions, common

# The range of alpha that the network was trained with.
ALPHAS = (0.1, 0.9)
_WIDTH = 96
# The most rows per sample for the network: more do not help, and time grows with their square (docs/decisions/0007).
_MAX_ROWS = 400


def check_known_alpha(alpha: float) -> None:
    """Refuse an alpha that the network was not trained with."""
    if not ALPHAS[0] <= alpha <= ALPHAS[1]:
        raise ParameterError(
            f"alpha is {alpha}, but the universal network knows alpha from {ALPHAS[0]} to {ALPHAS[1]} only. Choose "
            'such a value, or init="random".'
        )


def universal_model(
    generator: torch.Generator | None = None, absolute: bool = False, width: int = _WIDTH
) -> RatioModel:
    """Put the parts of the universal network together, untrained.

    Its features are distances in units of their mean, so it takes any number of columns in any unit of length; unless
    ``absolute`` units are to count.
    """
    # The network sees the encoding of a pair and the requested alpha.
    n_told = width + 1
    return RatioModel(
        RelationalEncoder(None, width, width, absolute, generator),
        RelationalFeatures(None, n_told, width, width, generator=generator),
        RidgeHead(reg=0.1, n_latent=n_told),
        clip="range",
        alpha=0.5,
        tell_alpha=True,
    )


def universal_with_units(alpha: float, scaler: Standardiser | None, width: int = _WIDTH) -> RatioModel:
    """Put together what the universal network becomes on sources, where the unit of length counts; untrained."""
    check_known_alpha(alpha)
    model = universal_model(absolute=True, width=width)
    model.alpha = alpha
    model.scaler = model.scaler if scaler is None else scaler
    return model


def universal_start(alpha: float, scaler: Standardiser | None) -> RatioModel:
    """Give a network to be trained further on sources: the universal one, with the unit of length as one more input."""
    model = universal_with_units(alpha, scaler)
    tensors = shipped_parts("cpu")[0].state_dict()
    first = tensors["encoder.set.0.weight"]
    # The mean distance comes before its deviation, and has no say at the start.
    widened = torch.cat([first[:, :-1], torch.zeros_like(first[:, :1]), first[:, -1:]], dim=1)
    scaler_state = {name: tensor for name, tensor in model.state_dict().items() if name.startswith("scaler.")}
    model.load_state_dict(tensors | scaler_state | {"encoder.set.0.weight": widened})
    return model


def make_intervals(generator: torch.Generator | None = None) -> Intervals:
    """Make the intervals that belong to the universal network."""
    return Intervals(_WIDTH, _WIDTH + 1, _WIDTH, generator)


@cache
def shipped_parts(device: str) -> tuple[RatioModel, Intervals]:
    """Read the weights that come with the package, once per process."""
    # What is drawn here is replaced; the global random state is the user's.
    with torch.random.fork_rng(devices=[]):
        model, intervals = universal_model(), make_intervals()
    try:
        arrays, _header = read_tensors(UNIVERSAL, "model", finite=True)
        parts = torch.nn.ModuleDict({"ratio": model, "intervals": intervals})
        parts.load_state_dict({name: torch.from_numpy(array) for name, array in arrays.items()})
        parts.requires_grad_(False).to(device)
    except (FewRatioError, RuntimeError) as error:
        raise ModelFileError(
            f"The weights that come with fewratio cannot be used ({error}). Install fewratio again."
        ) from error
    return model, intervals


@dataclass(eq=False, repr=False)
class UniversalRatioEstimator(NetworkEstimator):
    """Estimate the relative density ratio from few rows of any kind, without related datasets.

    A network, trained once on random distributions of many kinds (`fewratio_bench.universal_training`), reads the
    distances within and between the two samples. Fitting is one pass through it and one small linear system.

    It is made for samples of 2 to about 100 rows. For larger samples, `ClassifierRatio` is as good, and faster
    (`AutoRatioEstimator` averages both, with shares that suit the two samples). With one row per sample, there is a
    single distance, and nothing to compare it with; `MetaRatioEstimator` learns its scale from related datasets. Of
    samples with more than 400 rows, 400 rows are used, always the same ones.

    Parameters
    ----------
    alpha : float, default=0.5
        Relative parameter, 0.1 <= alpha <= 0.9; the true ratio is at most 1 / alpha.
    scale : {"columns", "none"}, default="columns"
        Whether to divide columns by their standard deviation in both samples together. With "columns", the ratio does
        not depend on units; with "none", it does not change when the rows are rotated.
    device : str, default="cpu"
        Device that computes; "auto" uses a CUDA device if there is one.

    Attributes
    ----------
    ratio_nu_, ratio_de_ : ndarray of shape (n_nu,) and (n_de,)
        The ratio at the rows passed to `fit`, each left out of its own features; `divergence` is computed from them.

    Notes
    -----
    Up to rounding in float32, the ratio does not depend on the order of the rows, constant columns, the order of the
    columns, a shift of all instances, or one factor for all columns. With ``scale="none"``, it does not depend on a
    rotation or reflection of all instances either; with ``scale="columns"``, not on the units of single columns. No
    setting has both properties.

    `predict` and `interval` treat every row as new.

    Examples
    --------
    >>> from fewratio import UniversalRatioEstimator
    >>> estimator = UniversalRatioEstimator().fit([[0.1, 1.0], [0.3, 0.8], [0.0, 1.1]], [[2.0, 0.0], [2.3, -0.4]])
    >>> near, far = estimator.predict([[0.2, 0.9], [2.2, -0.1]])
    >>> bool(near > 1 > far)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **common("device"),
        "alpha": [Interval(Real, *ALPHAS, closed="both")],
        "scale": [StrOptions({"columns", "none"})],
    }

    alpha: float = 0.5
    _: KW_ONLY
    scale: str = "columns"
    device: str = "cpu"
    ratio_: AdaptedRatio = field(init=False)
    # Far from all rows, where outliers are, the ratio is near 1.
    finds_outliers: ClassVar[bool] = False

    def interval(self, X: Any, level: float = 0.9) -> Floats:
        """Return an interval for the true ratio at each row; the ratio from `predict` is between its bounds.

        The probability refers to distributions like those that the network was trained on; the model card reports how
        often intervals contained the ratio for other kinds of distributions.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows at which to evaluate the ratio.
        level : {0.5, 0.8, 0.9, 0.95}
            The probability.

        Returns
        -------
        ndarray of shape (n, 2)
            Lower and upper bounds.
        """
        self._check_fitted()
        column = _level(level)
        low, high = (self._by_blocks(X, partial(self._bounds, level=column, side=side)) for side in (0, 1))
        return np.stack([low, high], axis=1)

    @torch.no_grad()
    def divergence_interval(self, level: float = 0.9) -> tuple[float, float]:
        """Return an interval for the true divergence; see `interval`.

        It contains `divergence`, unless that is negative.
        """
        column, divergence = _level(level), self.divergence()
        low, high = self._intervals().of_divergence(self.ratio_)[column].tolist()
        # The network computes in float32.
        return min(low, max(divergence, 0.0)), max(high, divergence)

    def _fit(self, X_nu: Floats, X_de: Floats) -> None:
        rng = np.random.default_rng(0)
        self.ratio_nu_, self.ratio_de_ = fit_to_drawn(super()._fit, self, (X_nu, X_de), _MAX_ROWS, rng)

    def _divergences(self, rows: Floats, nu: Numbers, de: Numbers) -> Floats:
        if max(nu.shape[1], de.shape[1]) > _MAX_ROWS:
            return RatioEstimator._divergences(self, rows, nu, de)
        return super()._divergences(rows, nu, de)

    def _model(self) -> SampleScaled:
        model, _ = shipped_parts(str(resolve_device(self.device)))
        return SampleScaled(model, float(self.alpha), self.scale)

    @torch.no_grad()
    def _bounds(self, X: Floats, level: int, side: int) -> NDArray[Any]:
        return self._intervals().of_ratio(self.ratio_, as_rows(self.model_, X))[..., level, side].cpu().numpy()

    def _intervals(self) -> Intervals:
        return shipped_parts(str(resolve_device(self.device)))[1]


def _level(level: float) -> int:
    if level not in LEVELS:
        raise InputError(f"level is {level}; {', '.join(map(str, LEVELS))} are known. Use one of them.")
    return LEVELS.index(level)
