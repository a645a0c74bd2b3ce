"""The base of estimators that are a trained network: where it computes, and how it adapts to two samples."""

from abc import abstractmethod
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fewratio.core.arrays import equal_shares
from fewratio.core.blocks import HIDDEN_VALUES, row_blocks
from fewratio.core.divergence import relative_pearson_divergence
from fewratio.core.shapes import Floats, Numbers
from fewratio.errors import ParameterError, name_parameter
from fewratio.estimators.base import RatioEstimator, check_finite_result
from fewratio.estimators.networks.nn import AdaptedRatio, MeanRatio, RatioCommittee, RatioModel, SampleScaled
from fewratio.estimators.networks.pair import Pair

Model = RatioModel | RatioCommittee | SampleScaled


class NetworkEstimator(RatioEstimator):
    """Base of estimators that adapt a network to the samples; a subclass gives `_model`."""

    alpha: float
    model_: Model
    ratio_: AdaptedRatio | MeanRatio

    @abstractmethod
    def _model(self) -> Model:
        """Return the network, or say why there is none."""

    def _fit(self, X_nu: Floats, X_de: Floats) -> None:
        model = self._model()
        pair = Pair(*(as_rows(model, X) for X in (X_nu, X_de)))
        with torch.no_grad():
            ratio = model.adapt(pair)
            values: Floats = ratio.at_support().double().cpu().numpy()
        check_finite_result("The ratio of these samples", values)
        # Only now: a refused fit leaves the one before it as it was.
        self.model_, self.ratio_ = model, ratio
        self.ratio_nu_, self.ratio_de_ = values[: len(X_nu)], values[len(X_nu) :]

    @torch.no_grad()
    def _ratio(self, X: Floats) -> NDArray[Any]:
        return self.ratio_(as_rows(self.model_, X)).cpu().numpy()

    @torch.no_grad()
    def _ratios_of_pairs(self, nu: Floats, de: Floats, rows: Floats) -> Floats:
        """Return the ratios of many pairs of samples, of shape (pair, n, d), at rows of each."""
        model = self._model()
        row_values = rows.shape[1] * (rows.shape[2] + nu.shape[1] * HIDDEN_VALUES)
        found = []
        for block in row_blocks(len(rows), row_values):
            of_nu, of_de, at = (as_rows(model, X[block]) for X in (nu, de, rows))
            found.append(model.adapt(Pair(of_nu, of_de))(at).double().cpu().numpy())
        return np.concatenate(found)

    def _divergences(self, rows: Floats, nu: Numbers, de: Numbers) -> Floats:
        ratios = self._ratios_at_samples(rows, nu, de)
        return relative_pearson_divergence(ratios, equal_shares(nu.shape[1], de.shape[1], ratios), float(self.alpha))

    @torch.no_grad()
    def _ratios_at_samples(self, rows: Floats, nu: Numbers, de: Numbers) -> Floats:
        """Return the ratios at the rows of both samples of many pairs, as `fit` would for each."""
        model, n_nu = self._model(), nu.shape[1]
        table, numbers = as_rows(model, rows), torch.from_numpy(np.concatenate([nu, de], axis=1))
        row_values = numbers.shape[1] * (rows.shape[1] + HIDDEN_VALUES)
        found = np.empty(numbers.shape)
        for block in row_blocks(len(numbers), row_values):
            some = numbers[block].to(table.device)
            pair = Pair(table[some[:, :n_nu]], table[some[:, n_nu:]])
            found[block] = model.adapt(pair).at_support().double().cpu().numpy()
        return found


def as_rows(model: Model, X: Floats) -> Tensor:
    """Return rows in the form and on the device that a model expects."""
    return torch.from_numpy(X).to(next(model.parameters()).device, model.row_dtype)


def resolve_device(device: str) -> torch.device:
    """Turn a device's name into a device; "auto" uses CUDA if available."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        resolved = torch.device(device)
        if resolved.type == "cuda" and not torch.cuda.is_available():
            raise ParameterError(
                f"{name_parameter('device')} is {device!r}, but there is no CUDA device here. Use 'auto' or 'cpu'."
            )
        # Not every device that torch knows is here, or knows the float64 of the ridge solve.
        torch.zeros((), dtype=torch.float64, device=resolved).item()
    except (RuntimeError, TypeError, NotImplementedError) as error:
        raise ParameterError(
            f"{name_parameter('device')} is {device!r}, which cannot be used here. Use 'auto', 'cpu' or 'cuda'."
        ) from error
    return resolved
