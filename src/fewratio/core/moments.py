"""What Eq. 5 needs to know of two samples: sums over their rows, so that blocks of rows can be added and left out."""

import operator
from dataclasses import dataclass

from fewratio.core.shapes import Array, Float


@dataclass(frozen=True)
class Moments:
    """Sums over the features of two samples, and the sizes of the samples; `+` and `-` join and leave out rows.

    Attributes
    ----------
    squares_nu, squares_de : array of shape (..., t, t)
        Sum of phi phi' over the rows of either sample.
    total_nu : array of shape (..., t)
        Sum of phi over the numerator's rows.
    n_nu, n_de : int
        How many rows were summed.
    """

    squares_nu: Float[Array, "... t t"]
    squares_de: Float[Array, "... t t"]
    total_nu: Float[Array, "... t"]
    n_nu: int
    n_de: int

    @classmethod
    def of(cls, phi_nu: Float[Array, "... n t"], phi_de: Float[Array, "... m t"]) -> "Moments":
        """Sum over the features of either sample's rows; there may be none."""
        return cls(phi_nu.mT @ phi_nu, phi_de.mT @ phi_de, phi_nu.sum(-2), n_nu=phi_nu.shape[-2], n_de=phi_de.shape[-2])

    def __add__(self, more: "Moments") -> "Moments":
        return Moments(*map(operator.add, vars(self).values(), vars(more).values()))

    def __sub__(self, part: "Moments") -> "Moments":
        return Moments(*map(operator.sub, vars(self).values(), vars(part).values()))

    def K(self, alpha: float) -> Float[Array, "... t t"]:
        """Give K of Eq. 5: ``alpha mean_nu(phi phi') + (1 - alpha) mean_de(phi phi')``."""
        return alpha / self.n_nu * self.squares_nu + (1 - alpha) / self.n_de * self.squares_de

    @property
    def k(self) -> Float[Array, "... t"]:
        """The numerator's mean of phi."""
        return self.total_nu / self.n_nu
