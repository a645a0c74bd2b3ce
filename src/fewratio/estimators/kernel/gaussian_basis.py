"""Gaussian kernels centred on some of the rows, shared by all kernel estimators."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fewratio.core.blocks import CACHED_VALUES, row_blocks
from fewratio.core.kernels import MEDIAN_ROWS, median_distance, squared_distances
from fewratio.core.ridge import Moments
from fewratio.core.shapes import Floats
from fewratio.core.units import ColumnScaling

# More centres would be slow and gain little.
MAX_CENTRES = 300


def choose_centres(nu: Floats, de: Floats, centres: str | int, rng: np.random.Generator) -> Floats:
    """Return the kernel centres: the rows of the numerator or of both samples, or random rows of both."""
    at_most = MAX_CENTRES if isinstance(centres, str) else centres
    return pool_rows(nu, nu[:0] if centres == "numerator" else de, at_most, rng)


def estimate_median(nu: Floats, de: Floats, scaling: ColumnScaling, rng: np.random.Generator) -> float:
    """Return the median distance between the scaled rows of both samples, or between random rows if there are many."""
    return float(median_distance(scaling(pool_rows(nu, de, MEDIAN_ROWS, rng))))


def pool_rows(nu: Floats, de: Floats, at_most: int, rng: np.random.Generator) -> Floats:
    """Return all rows of both samples, or random rows, for which the samples must be in the order of `row_order`."""
    n_rows = len(nu) + len(de)
    if n_rows <= at_most:
        return np.concatenate([nu, de])
    drawn = np.sort(rng.choice(n_rows, at_most, replace=False))
    return np.concatenate([nu[drawn[drawn < len(nu)]], de[drawn[drawn >= len(nu)] - len(nu)]])


@dataclass(frozen=True)
class GaussianBasis:
    """Features exp(-|x - c|^2 / sigma^2), one per centre c, for one or several widths, evaluated in blocks.

    Attributes
    ----------
    centres : ndarray of shape (t, d)
        The centres, in the units of the samples.
    scaling : ColumnScaling
        Scaling of centres and rows before distances are computed.
    """

    centres: Floats
    scaling: ColumnScaling

    def blocks(self, rows: Floats, sigmas: Sequence[float]) -> Iterator[Iterator[Floats]]:
        """Yield, for each block of rows, an iterator over its features of shape (n_block, t) for each width."""
        centres, unit = self.scaling(self.centres), min(sigmas)
        for block in row_blocks(len(rows), len(centres), CACHED_VALUES):
            # All widths share the distances, which are the slower part with more than a few columns.
            squares = squared_distances(self.scaling(rows[block]), centres, unit)
            yield (np.exp(-((unit / sigma) ** 2) * squares) for sigma in sigmas)

    def moments(self, nu: Floats, de: Floats, sigmas: Sequence[float]) -> list[Moments]:
        """Return the moments that the weights depend on, for each width."""
        none = np.empty((0, len(self.centres)))
        moments = [Moments.of(none, none)] * len(sigmas)
        for features in self.blocks(nu, sigmas):
            moments = [each + Moments.of(phi, none) for each, phi in zip(moments, features, strict=True)]
        for features in self.blocks(de, sigmas):
            moments = [each + Moments.of(none, phi) for each, phi in zip(moments, features, strict=True)]
        return moments

    def ratios(self, rows: Floats, sigmas: Sequence[float], weights: Floats) -> Floats:
        """Return max(0, w'phi) at the rows, of shape (n_sigmas, ..., n), for weights of shape (n_sigmas, ..., t)."""
        blocks = [
            np.stack([w @ phi.T for w, phi in zip(weights, features, strict=True)])
            for features in self.blocks(rows, sigmas)
        ]
        return np.concatenate(blocks, -1).clip(min=0)
