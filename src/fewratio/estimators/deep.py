"""Networks trained on the two samples alone: D3RE and non-negative PU classification."""

from abc import abstractmethod
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval
from torch import Tensor

from fewratio.core.divergence import relative_pearson_divergence
from fewratio.core.draws import fold, uniform
from fewratio.core.objectives import NonNegativeLSIF, NonNegativePU, Objective
from fewratio.core.pair import Episode, Pair
from fewratio.errors import InputError
from fewratio.estimators.base import SEEDS, RatioEstimator
from fewratio.estimators.devices import resolve_device
from fewratio.estimators.randomness import in_row_order
from fewratio.nn import MLPFeatures, NoEncoder, RatioModel, SharedHead
from fewratio.optim import Ensemble, TrainingPlan, train_in_stages

_POSITIVE = Interval(Integral, 1, None, closed="left")
# Rows of a sample that a step sees; all of a smaller one.
_BATCH = 512


class _SampleNetwork(RatioEstimator):
    """A four-layer network (features and their weights) that is trained on the samples it is fitted to."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_steps": [_POSITIVE],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "width": [_POSITIVE],
        "depth": [_POSITIVE],
        "device": [str],
        "random_state": SEEDS,
    }
    # How the network's output is clipped: a ratio at zero, a score not at all.
    _clip: ClassVar[str]

    n_steps: int
    learning_rate: float
    width: int
    depth: int
    device: str
    random_state: int | np.random.Generator | None
    model_: RatioModel

    @abstractmethod
    def _objective(self) -> Objective:
        """Give what is minimised."""

    @abstractmethod
    def _to_ratio(self, value: Tensor) -> Tensor:
        """Make a ratio of what the network gives."""

    def divergence(self) -> float:
        """Give the Pearson divergence of the fitted samples."""
        self._check_fitted()
        return self._divergence

    def _fit(self, X_nu: NDArray[np.float64], X_de: NDArray[np.float64]) -> None:
        device = resolve_device(self.device)
        start, sampling = (int(seed) for seed in np.random.default_rng(self.random_state).integers(2**62, size=2))
        pair = Pair(*(torch.from_numpy(rows).to(device, torch.float32) for rows in map(in_row_order, (X_nu, X_de))))
        features = MLPFeatures(
            X_nu.shape[1], width=self.width, depth=self.depth, generator=torch.Generator().manual_seed(start)
        )
        model = RatioModel(NoEncoder(), features, SharedHead(features.n_outputs), self._clip).to(device)
        plan = TrainingPlan(max_steps=self.n_steps, learning_rate=float(self.learning_rate))
        draw = _Batches(pair, sampling)
        for _ in train_in_stages(Ensemble([model], device), draw, self._objective(), [self.n_steps], plan):
            pass
        with torch.no_grad():
            ratio = self._evaluate(model, pair.rows)
        divergence = relative_pearson_divergence(ratio.double(), pair.shares.double(), 0.0).item()
        if not np.isfinite(divergence):
            raise InputError(
                "The ratio of these samples is not finite after training: their values are too large for the network. "
                "Rescale the columns (to about unit size), or use a smaller learning_rate."
            )
        self.model_, self._divergence = model, divergence

    def _ratio(self, X: NDArray[np.float64]) -> NDArray[np.float32]:
        device = next(self.model_.parameters()).device
        with torch.no_grad():
            ratio = self._evaluate(self.model_, torch.from_numpy(X).to(device, torch.float32))
        result: NDArray[np.float32] = ratio.cpu().numpy()
        return result

    def _evaluate(self, model: RatioModel, rows: Tensor) -> Tensor:
        # The model ignores the support that it is asked to adapt to.
        return self._to_ratio(model.adapt(Pair(rows[:1], rows[:1]))(rows))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")


class D3RE(_SampleNetwork):
    """Deep direct density-ratio estimation (Kato and Teshima 2021): a network with the non-negative LSIF loss.

    Knows nothing but the two samples, so it needs more of them than the meta-learned estimators.

    Parameters
    ----------
    bound : float, default=0.1
        The loss's constant C, the inverse of the largest ratio that is expected.
    n_steps : int, default=20
        Gradient steps. There is no data to validate on, so that is a choice, and more overfit: a handful of instances
        is overfitted after fifty, while hundreds in few dimensions gain from that many.
    learning_rate : float, default=1e-3
        Adam's learning rate.
    width, depth : int, default=100, 3
        Hidden width and layers of the features.
    device : str, default="auto"
        "auto" takes a CUDA device if there is one.
    random_state : int, numpy Generator or None
        Seed of everything random.

    Attributes
    ----------
    model_ : RatioModel
        The trained network.

    Examples
    --------
    >>> import numpy as np
    >>> from fewratio import D3RE
    >>> rng = np.random.default_rng(0)
    >>> estimator = D3RE(random_state=0).fit(rng.normal(0, 1, (60, 1)), rng.normal(1, 1, (50, 1)))
    >>> left, right = estimator.predict([[-1.0], [2.0]])
    >>> bool(left > right)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_SampleNetwork._parameter_constraints,
        "bound": [Interval(Real, 0, None, closed="left")],
    }
    _clip = "ratio"

    def __init__(
        self,
        bound: float = 0.1,
        *,
        n_steps: int = 20,
        learning_rate: float = 1e-3,
        width: int = 100,
        depth: int = 3,
        device: str = "auto",
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.bound = bound
        self.n_steps = n_steps
        self.learning_rate = learning_rate
        self.width = width
        self.depth = depth
        self.device = device
        self.random_state = random_state

    def _objective(self) -> Objective:
        return NonNegativeLSIF(float(self.bound))

    def _to_ratio(self, value: Tensor) -> Tensor:
        return value


class PURatio(_SampleNetwork):
    """Ratio from non-negative positive-unlabelled classification (Kiryo et al. 2017).

    The numerator is a sample of positives, the denominator is unlabelled and holds a known share of positives, so that
    the ratio is at most the inverse of that share. It is the classifier's posterior, divided by the share; the loss is
    the logistic one, whose best score is the posterior's logit (that of the original's sigmoid loss is a mere sign).

    Parameters
    ----------
    prior : float, default=0.9
        Share of positives in the denominator, 0 < prior < 1.
    n_steps : int, default=100
        Gradient steps; for a handful of instances fewer are better.
    learning_rate, width, depth, device, random_state
        As in `D3RE`.

    Attributes
    ----------
    model_ : RatioModel
        The trained network; its value is the classifier's score.

    Examples
    --------
    >>> from fewratio.estimators import PURatio
    >>> PURatio(prior=0.5, random_state=0).fit([[0.0], [0.1]], [[0.0], [3.0]]).predict([[0.0]]).shape
    (1,)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_SampleNetwork._parameter_constraints,
        "prior": [Interval(Real, 0, 1, closed="neither")],
    }
    _clip = "none"

    def __init__(
        self,
        prior: float = 0.9,
        *,
        n_steps: int = 100,
        learning_rate: float = 1e-3,
        width: int = 100,
        depth: int = 3,
        device: str = "auto",
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.prior = prior
        self.n_steps = n_steps
        self.learning_rate = learning_rate
        self.width = width
        self.depth = depth
        self.device = device
        self.random_state = random_state

    def _objective(self) -> Objective:
        return NonNegativePU(float(self.prior), loss="logistic")

    def _to_ratio(self, value: Tensor) -> Tensor:
        return value.sigmoid() / float(self.prior)


class _Batches:
    """Training episodes whose query is their own support: all rows of a small sample, some of a large one."""

    def __init__(self, pair: Pair, seed: int) -> None:
        self._sides = (pair.nu, pair.de)
        self._seed = torch.tensor(seed, device=pair.rows.device)

    def __call__(self, step: Tensor) -> Episode:
        key = fold(self._seed, step)
        pair = Pair(*(self._some(rows, fold(key, side)) for side, rows in enumerate(self._sides)))
        # Axes (member, task): one of each.
        alone = Pair.joined(pair.rows[None, None], pair.shares, pair.n_nu)
        return Episode(alone, alone)

    @staticmethod
    def _some(rows: Tensor, key: Tensor) -> Tensor:
        if len(rows) <= _BATCH:
            return rows
        return rows[(uniform(key, _BATCH).double() * len(rows)).long()]
