"""Gaussian kernels around some of the instances, evaluated block by block."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from fewratio.core.kernels import squared_distances
from fewratio.core.moments import Moments
from fewratio.nn import Standardiser

# Kernel values in a block of rows: half a megabyte, so that what is made of a block stays in the processor's cache.
_BLOCK_VALUES = 2**16


@dataclass(frozen=True)
class GaussianBasis:
    """Features exp(-|x - c|^2 / sigma^2), one a centre c, of one or of several widths.

    Attributes
    ----------
    centres : Tensor of shape (t, d)
        The centres, in the units of the samples.
    scaler : Standardiser or None
        What centres and instances are standardised with before distances are taken.
    """

    centres: Tensor
    scaler: Standardiser | None = None

    def blocks(self, rows: Tensor, sigmas: Sequence[float]) -> Iterator[Iterator[Tensor]]:
        """Go through the rows in blocks; for each give its features of shape (n_block, t), width by width."""
        centres, unit = self.scaled(self.centres), max(sigmas)
        for block in rows.split(max(1, _BLOCK_VALUES // len(centres))):
            # Distances are the dearer part for more than a few columns, so all widths share them.
            squares = squared_distances(self.scaled(block), centres, unit)
            yield _features(squares, [unit / sigma for sigma in sigmas])

    def moments(self, nu: Tensor, de: Tensor, sigmas: Sequence[float]) -> list[Moments]:
        """Sum what the weights depend on over all rows, width by width."""
        moments = [Moments.zero(len(self.centres))] * len(sigmas)
        for features in self.blocks(nu, sigmas):
            moments = [each.add_nu(phi) for each, phi in zip(moments, features, strict=True)]
        for features in self.blocks(de, sigmas):
            moments = [each.add_de(phi) for each, phi in zip(moments, features, strict=True)]
        return moments

    def ratios(self, rows: Tensor, sigmas: Sequence[float], weights: Tensor) -> Tensor:
        """Give max(0, w'phi) at the rows, of shape (n_sigmas, ..., n), for weights of shape (n_sigmas, ..., t)."""
        blocks = [
            torch.stack([w @ phi.mT for w, phi in zip(weights, features, strict=True)])
            for features in self.blocks(rows, sigmas)
        ]
        return torch.cat(blocks, -1).clamp_min_(0)

    def scaled(self, rows: Tensor) -> Tensor:
        """Standardise rows, if they are to be."""
        return rows if self.scaler is None else self.scaler(rows)


def _features(squares: Tensor, scales: Sequence[float]) -> Iterator[Tensor]:
    for scale in scales:
        yield torch.mul(squares, -(scale**2)).exp_()
