"""The model of a closed-form learner."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewratio.core.blocks import row_blocks
from fewratio.core.discriminant import Coordinates, DatasetPosterior, Support, discriminant_coordinates
from fewratio.core.shapes import Array, Floats, Numbers
from fewratio.core.true_ratio import relative_ratio
from fewratio.estimators.certainty import harmonic_size
from fewratio.estimators.closed_form.feature_map import FeatureMap, as_numpy
from fewratio.estimators.closed_form.summary import Summary

# Beyond these the relative ratio is at its bounds, and an exponential would overflow.
_LARGEST_LOG_RATIO = 60.0
# Support sizes for which settings are chosen.
SIZES = (1, 3, 10)
# Compute products of all rows of a table if there are at most this many per row of all samples, and at most this many
# in all (8 MB), and if there are at least this many coordinates per row of a pair: looking products up is slow.
_PRODUCTS_PER_ROW, _MOST_PRODUCTS, _COORDINATES_PER_ROW = 20, 2**20, 12


def at_size(values: Sequence[float], size: float, sizes: Sequence[int] = SIZES) -> float:
    """Interpolate values chosen for several sizes, over the logarithm of the size."""
    return float(np.interp(np.log(size), np.log(sizes), values))


class Settings(NamedTuple):
    """Settings for making a model from moments.

    Attributes
    ----------
    n_components : int
        Number of random features; 0 for the columns themselves.
    width : float
        Width of the kernel of the random features, in units of the root mean square distance of rows.
    shrinkage : float
        How far the covariance within datasets is shrunk towards a multiple of the identity.
    power : float
        Coordinates of a row are divided by their length to this power: 1 keeps only their direction.
    n_spreads : int
        Number of variances of rows about their mean that datasets may have; 1 if all have the same.
    background : float
        Share of the variance of held-out means, in directions in which no sources differ, that counts; 0 for none.
    """

    n_components: int
    width: float
    shrinkage: float
    power: float
    n_spreads: int
    background: float = 0.0


class Calibration(NamedTuple):
    """Corrections of a model, measured on datasets that it has not learned from.

    In coordinates learned from a few datasets, the rows of new ones vary more and their means differ less.

    Attributes
    ----------
    noise, signal : float
        Variance of rows about their mean, and factor of the variance of means, along the axes of the sources.
    background_noise, background_signal : float
        Variance of rows, and of means, along all others.
    scaled_noise, scaled_signal : float
        Variance of rows about their mean, and factor of the variance of means, after length normalisation.
    certainty : float or None
        How certain ratios are, as measured by `fewratio.estimators.certainty`.
    temperatures : tuple of float
        Factors of log-ratios, for each of `SIZES`: coordinates are not independent.
    """

    noise: float = 1.0
    signal: float = 1.0
    background_noise: float = 1.0
    background_signal: float = 0.0
    scaled_noise: float = 1.0
    scaled_signal: float = 1.0
    certainty: float | None = None
    temperatures: tuple[float, ...] = (1.0,) * len(SIZES)

    def noises(self, source_signal: Floats) -> Floats:
        """Return the variance of rows about their mean in each coordinate."""
        return np.where(source_signal > 0, self.noise, self.background_noise)

    def signals(self, source_signal: Floats) -> Floats:
        """Return the variance of means in each coordinate, in units of the variance of rows."""
        return np.where(
            source_signal > 0, self.signal * source_signal / self.noise, self.background_signal / self.background_noise
        )

    def temperature(self, n_nu: int, n_de: int) -> float:
        """Return the factor for samples of these sizes."""
        return at_size(self.temperatures, harmonic_size(n_nu, n_de))


@dataclass(frozen=True, eq=False)
class DiscriminantModel:
    """Coordinates of rows in which datasets are Gaussians about their means, and the ratio of two such datasets."""

    features: FeatureMap
    coordinates: Coordinates
    spreads: Floats
    power: float
    calibration: Calibration

    @cached_property
    def posterior(self) -> DatasetPosterior:
        """The posterior of a dataset in these coordinates."""
        factor = self.calibration.scaled_signal / self.calibration.scaled_noise
        return DatasetPosterior(self.calibration.signals(self.coordinates.signal) * factor, self.spreads)

    @cached_property
    def _axes(self) -> tuple[Array, np.ndarray]:
        axes = self.features.place(self.coordinates.axes.astype(self.features.dtype))
        return axes, (self.coordinates.centre @ self.coordinates.axes).astype(self.features.dtype)

    def on(self, device: str) -> "DiscriminantModel":
        """Return the same model, but compute coordinates on this device; everything else stays on the CPU."""
        if self.features.device == device:
            return self
        return replace(self, features=replace(self.features, device=device))

    def __call__(self, rows: Floats) -> Floats:
        """Return the coordinates of rows."""
        axes, centre = self._axes
        found = np.empty((len(rows), axes.shape[1]))
        for block in row_blocks(len(rows), self.features.n_outputs):
            found[block] = as_numpy(self.features.on_device(rows[block]) @ axes) - centre
        return scale_rows(found, self.coordinates.signal, self.power, self.calibration)

    def log_ratio(self, rows: Floats, nu: Support, de: Support) -> Floats:
        """Return the plain log-ratio at coordinates of rows (Eq. D6)."""
        difference = self.posterior.log_density(rows, nu) - self.posterior.log_density(rows, de)
        return self.calibration.temperature(nu.n, de.n) * difference

    def fitted_log_ratios(self, nu: Floats, de: Floats) -> tuple[Floats, Floats]:
        """Return the log-ratio at the rows of both samples, each left out of its own; shapes (..., n, K)."""
        supports = Support.of(nu), Support.of(de)
        at_nu = self.log_ratio(nu, supports[0].without_each(nu), supports[1].for_rows())
        at_de = self.log_ratio(de, supports[0].for_rows(), supports[1].without_each(de))
        return at_nu, at_de

    def fitted_log_ratios_of(
        self, rows: Floats, n_pairs: int, n_nu: int, n_de: int
    ) -> Callable[[Numbers, Numbers], tuple[Floats, Floats]]:
        """Return a function of row numbers, of shapes (pairs, n), that does the same for pairs of one table."""
        n_products = len(rows) ** 2
        few_rows = n_products <= min(_PRODUCTS_PER_ROW * n_pairs * (n_nu + n_de), _MOST_PRODUCTS)
        if len(self.spreads) > 1 or not few_rows or _COORDINATES_PER_ROW * (n_nu + n_de) > rows.shape[1]:
            return lambda nu, de: self.fitted_log_ratios(rows[nu], rows[de])
        # Few rows in many pairs: compute their products once, and then forget the coordinates.
        tables = {n: self.posterior.products(rows, n) for n in {n_nu - 1, n_nu, n_de - 1, n_de}}
        temperature = self.calibration.temperature

        def log_ratios(nu: Numbers, de: Numbers) -> tuple[Floats, Floats]:
            at_nu = tables[n_nu - 1].log_density_left_out(nu) - tables[n_de].log_density(nu, de)
            at_de = tables[n_nu].log_density(de, nu) - tables[n_de - 1].log_density_left_out(de)
            return temperature(n_nu - 1, n_de) * at_nu, temperature(n_nu, n_de - 1) * at_de

        return log_ratios


def scale_rows(rows: Floats, source_signal: Floats, power: float, calibration: Calibration) -> Floats:
    """Scale coordinates to unit variance, and divide them by their length to a power (Eq. D8)."""
    rows = rows / np.sqrt(calibration.noises(source_signal)).astype(rows.dtype)
    if power and rows.shape[-1]:
        length = np.square(rows) @ (1 / (1 + calibration.signals(source_signal)) / rows.shape[-1]).astype(rows.dtype)
        # A row at the very centre has no direction, and stays there.
        rows = rows / (np.where(length > 0, length, 1.0) ** (power / 2))[..., None]
    return rows / float(np.sqrt(calibration.scaled_noise))


def ratio_of_log(log_ratio: NDArray[Any], alpha: float) -> Floats:
    """Return the relative ratio of a plain log-ratio (Eq. D6)."""
    return np.asarray(relative_ratio(log_ratio.clip(-_LARGEST_LOG_RATIO, _LARGEST_LOG_RATIO), 0.0, alpha))


def assemble_model(
    features: FeatureMap, summary: Summary, settings: Settings, calibration: Calibration
) -> DiscriminantModel:
    """Make the model of a summary."""
    spreads = summary.spread_quantiles(settings.n_spreads)
    return DiscriminantModel(features, find_coordinates(summary, settings), spreads, settings.power, calibration)


def find_coordinates(summary: Summary, settings: Settings) -> Coordinates:
    """Return the discriminant coordinates of a summary."""
    n = max(summary.n_sources, 1)
    centre = summary.mean_sum / n
    # The covariance of the means is the mean of their outer products less the outer product of the centre.
    factor = np.concatenate([summary.factor, np.sqrt(n) * centre[None]]) / np.sqrt(max(n - 1, 1))
    signs = np.append(summary.signs, -1.0)
    noise = summary.inverse_sizes / n
    return discriminant_coordinates(
        summary.within, centre, factor, signs, noise, settings.shrinkage, complete=settings.background > 0
    )
