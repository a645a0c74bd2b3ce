"""A network trained on the two samples alone: D3RE."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fewratio.core.draws import in_row_order
from fewratio.core.objectives import NonNegativeLSIF
from fewratio.core.shapes import Floats
from fewratio.core.units import ColumnScaling
from fewratio.estimators.base import RatioEstimator, check_finite_result
from fewratio.estimators.networks.network_estimator import resolve_device
from fewratio.estimators.networks.nn import MLPFeatures, NoEncoder, RatioModel, SharedHead
from fewratio.estimators.networks.optim import Ensemble, train_in_stages
from fewratio.estimators.networks.pair import Episode, Pair
from fewratio.estimators.networks.training.keyed_draws import fold, uniform
from fewratio.estimators.parameters import COUNT, NOT_NEGATIVE, common

# Rows of a sample that a step sees; all of a smaller one.
_BATCH = 512


@dataclass(eq=False, repr=False)
class D3RE(RatioEstimator):
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
    scale : {"columns", "none"}, default="none"
        Units of the columns, as in `RuLSIF`.
    device : str, default="auto"
        "auto" takes a CUDA device if there is one.
    random_state : int, numpy Generator or None
        Seed of everything random.

    Attributes
    ----------
    model_ : RatioModel
        The trained network.
    ratio_nu_, ratio_de_ : ndarray of shape (n_nu,) and (n_de,)
        The ratio at the rows given to `fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from fewratio_bench.d3re import D3RE
    >>> rng = np.random.default_rng(0)
    >>> estimator = D3RE(random_state=0).fit(rng.normal(0, 1, (60, 1)), rng.normal(1, 1, (50, 1)))
    >>> left, right = estimator.predict([[-1.0], [2.0]])
    >>> bool(left > right)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **common("learning_rate", "scale", "device", "random_state"),
        **{name: [COUNT] for name in ("n_steps", "width", "depth")},
        "bound": [NOT_NEGATIVE],
    }

    bound: float = 0.1
    _: KW_ONLY
    n_steps: int = 20
    learning_rate: float = 1e-3
    width: int = 100
    depth: int = 3
    scale: str = "none"
    device: str = "auto"
    random_state: int | np.random.Generator | None = None

    def _fit(self, X_nu: Floats, X_de: Floats) -> None:
        device = resolve_device(self.device)
        start, sampling = (int(seed) for seed in np.random.default_rng(self.random_state).integers(2**62, size=2))
        scaling = ColumnScaling.of([X_nu, X_de], self.scale)
        rows = [torch.from_numpy(scaling(in_row_order(X))).to(device, torch.float32) for X in (X_nu, X_de)]
        features = MLPFeatures(
            X_nu.shape[1], width=self.width, depth=self.depth, generator=torch.Generator().manual_seed(start)
        )
        model = RatioModel(NoEncoder(), features, SharedHead(features.n_outputs), "ratio").to(device)
        ensemble, rate = Ensemble([model], device), float(self.learning_rate)
        draw = partial(_batch, rows, torch.tensor(sampling, device=device))
        objective = NonNegativeLSIF(float(self.bound))
        list(train_in_stages(ensemble, draw, objective, [self.n_steps], rate))
        ratios = [_evaluate(model, scaling(X)).astype(np.float64) for X in (X_nu, X_de)]
        check_finite_result("The ratio of these samples, after training,", *ratios)
        self.model_, self._scaling = model, scaling
        self.ratio_nu_, self.ratio_de_ = ratios

    def _ratio(self, X: Floats) -> NDArray[np.float32]:
        return _evaluate(self.model_, self._scaling(X))


@torch.no_grad()
def _evaluate(model: RatioModel, X: Floats) -> NDArray[np.float32]:
    rows = torch.from_numpy(X).to(next(model.parameters()).device, torch.float32)
    # The model ignores the support that it is asked to adapt to.
    return model.adapt(Pair(rows[:1], rows[:1]))(rows).cpu().numpy()


def _batch(samples: Sequence[Tensor], seed: Tensor, step: Tensor) -> Episode:
    """Give a training episode whose query is its own support: all rows of a small sample, some of a large one."""
    key = fold(seed, step)
    pair = Pair(*(_some(rows, fold(key, side)) for side, rows in enumerate(samples)))
    # Axes (member, task): one of each.
    alone = Pair.from_joined(pair.rows[None, None], pair.shares, pair.n_nu)
    return Episode(alone, alone)


def _some(rows: Tensor, key: Tensor) -> Tensor:
    return rows if len(rows) <= _BATCH else rows[(uniform(key, _BATCH).double() * len(rows)).long()]
