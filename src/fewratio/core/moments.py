"""What Eq. 5 needs to know of two samples: sums over their rows, so that blocks of rows can be added and left out."""

from dataclasses import dataclass

import torch
from torch import Tensor

from fewratio.core.shapes import Float


@dataclass(frozen=True)
class Moments:
    """Sums over the features of two samples, and the sizes of the samples.

    Attributes
    ----------
    squares_nu, squares_de : Tensor of shape (t, t)
        Sum of phi phi' over the rows of either sample.
    total_nu : Tensor of shape (t,)
        Sum of phi over the numerator's rows.
    n_nu, n_de : int
        How many rows were summed.
    """

    squares_nu: Float[Tensor, "t t"]
    squares_de: Float[Tensor, "t t"]
    total_nu: Float[Tensor, " t"]
    n_nu: int
    n_de: int

    @classmethod
    def zero(cls, n_outputs: int) -> "Moments":
        """Give the moments of no rows at all."""
        squares_nu, squares_de = torch.zeros(2, n_outputs, n_outputs, dtype=torch.float64)
        return cls(squares_nu, squares_de, torch.zeros(n_outputs, dtype=torch.float64), 0, 0)

    def add_nu(self, phi: Float[Tensor, "n t"]) -> "Moments":
        """Give the moments with these rows joined to the numerator's."""
        squares, total = torch.addmm(self.squares_nu, phi.mT, phi), self.total_nu + phi.sum(0)
        return Moments(squares, self.squares_de, total, self.n_nu + len(phi), self.n_de)

    def add_de(self, phi: Float[Tensor, "n t"]) -> "Moments":
        """Give the moments with these rows joined to the denominator's."""
        squares = torch.addmm(self.squares_de, phi.mT, phi)
        return Moments(self.squares_nu, squares, self.total_nu, self.n_nu, self.n_de + len(phi))

    def without(self, part: "Moments") -> "Moments":
        """Give the moments of the rows that are not in ``part``, which must be some of these."""
        return Moments(
            self.squares_nu - part.squares_nu,
            self.squares_de - part.squares_de,
            self.total_nu - part.total_nu,
            self.n_nu - part.n_nu,
            self.n_de - part.n_de,
        )

    def K(self, alpha: float) -> Float[Tensor, "t t"]:
        """Give K of Eq. 5: ``alpha mean_nu(phi phi') + (1 - alpha) mean_de(phi phi')``."""
        return alpha / self.n_nu * self.squares_nu + (1 - alpha) / self.n_de * self.squares_de

    @property
    def k(self) -> Float[Tensor, " t"]:
        """The numerator's mean of phi."""
        return self.total_nu / self.n_nu
