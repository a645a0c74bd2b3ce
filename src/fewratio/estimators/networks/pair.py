"""The two samples of a ratio, and the episode that a model learns from."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from fewratio.core.arrays import equal_shares, masked_shares
from fewratio.core.shapes import Bool, Float, Int
from fewratio.errors import InputError


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Pair:
    """The numerator's and the denominator's sample of one task, or of a batch of tasks.

    The two sizes differ in general. Where the tasks of a batch have samples of different sizes, the samples are
    padded to the largest and masks say which rows are real.

    Both samples are kept joined, numerator first, with each row's *share* in the mean of either sample: 1/n_nu and 0
    for a numerator's row, 0 and 1/n_de for a denominator's, 0 and 0 for padding. Every mean in this package is a
    product with these shares, so no mean can be taken over the wrong sample or over padding.

    Parameters
    ----------
    nu : Tensor of shape (..., n_nu, d)
        The numerator's instances.
    de : Tensor of shape (..., n_de, d)
        The denominator's.
    nu_mask, de_mask : bool Tensor of shape (..., n_nu) and (..., n_de), optional
        True where a row is real; by default all are.

    Attributes
    ----------
    rows : Tensor of shape (..., n_nu + n_de, d)
        Both samples.
    shares : Tensor of shape (..., 2, n_nu + n_de)
        The rows' shares in the numerator's and in the denominator's mean. Without masks the leading axes are missing.
    n_nu : int
        Number of rows of the numerator.

    Examples
    --------
    >>> import torch
    >>> from fewratio.estimators.networks import Pair
    >>> pair = Pair(nu=torch.zeros(2, 3), de=torch.ones(4, 3))
    >>> pair
    Pair(nu=(2, 3), de=(4, 3))
    >>> (pair.shares @ pair.rows).tolist()  # both means at once
    [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]
    """

    rows: Float[Tensor, "... n d"]
    shares: Float[Tensor, "... 2 n"]
    n_nu: int

    def __init__(
        self,
        nu: Float[Tensor, "... n_nu d"],
        de: Float[Tensor, "... n_de d"],
        nu_mask: Bool[Tensor, "... n_nu"] | None = None,
        de_mask: Bool[Tensor, "... n_de"] | None = None,
    ) -> None:
        for name, rows in (("nu", nu), ("de", de)):
            if not rows.is_floating_point() or rows.shape[-2] == 0:
                raise InputError(
                    f"{name} has {rows.shape[-2]} rows of {rows.dtype}; at least one row of floating-point numbers is "
                    "needed. Convert it with .float() or .double()."
                )
        shares = equal_shares(nu.shape[-2], de.shape[-2], nu)
        if nu_mask is not None or de_mask is not None:
            sides = ((nu, nu_mask), (de, de_mask))
            real = [torch.ones_like(rows[..., 0], dtype=torch.bool) if mask is None else mask for rows, mask in sides]
            shares = masked_shares(torch.cat(real, dim=-1), shares)
        # The dataclass is frozen except for constructors.
        vars(self).update(rows=torch.cat([nu, de], dim=-2), shares=shares, n_nu=nu.shape[-2])

    @classmethod
    def from_joined(cls, rows: Float[Tensor, "... n d"], shares: Float[Tensor, "... 2 n"], n_nu: int) -> "Pair":
        """Make a pair from joined rows."""
        pair = cls.__new__(cls)
        vars(pair).update(rows=rows, shares=shares, n_nu=n_nu)
        return pair

    @property
    def nu(self) -> Float[Tensor, "... n_nu d"]:
        """The rows of the numerator."""
        return self.rows[..., : self.n_nu, :]

    @property
    def de(self) -> Float[Tensor, "... n_de d"]:
        """The rows of the denominator."""
        return self.rows[..., self.n_nu :, :]

    def __getitem__(self, tasks: Any) -> "Pair":
        """Return some of the tasks of a batch, by an index of the first axis."""
        # Without masks, all tasks have the same shares.
        return Pair.from_joined(
            self.rows[tasks], self.shares if self.shares.dim() == 2 else self.shares[tasks], self.n_nu
        )

    @cached_property
    def derived(self) -> dict[Any, Any]:
        """A cache of values that the parts of a model have computed from this pair."""
        return {}

    def __repr__(self) -> str:
        """Show the shapes."""
        return f"Pair(nu={tuple(self.nu.shape)}, de={tuple(self.de.shape)})"


@dataclass(frozen=True, init=False, eq=False)
class Episode:
    """A support pair to adapt to and a query pair to evaluate the ratio on.

    Parameters
    ----------
    support : Pair
        The instances that the model sees.
    query : Pair
        The instances on which the adapted ratio is evaluated.

    Attributes
    ----------
    rows : Tensor of shape (..., n, d)
        The joined rows of both pairs, the support first, for one pass through a network.
    alpha : Tensor of shape (...) or None
        Relative parameter of each task, if the tasks differ in it.
    support_index : int Tensor of shape (q,) or None
        The support row that equals each query row, -1 for none; None if no query row is in the support.

    Examples
    --------
    >>> import torch
    >>> from fewratio.estimators.networks import Episode, Pair
    >>> support, query = (Pair(torch.zeros(n, 3), torch.ones(n, 3)) for n in (2, 5))
    >>> Episode(support, query).rows.shape
    torch.Size([14, 3])
    """

    support: Pair
    query: Pair
    rows: Float[Tensor, "... n d"]
    alpha: Float[Tensor, "..."] | None
    support_index: Int[Tensor, " q"] | None

    def __init__(
        self,
        support: Pair,
        query: Pair,
        alpha: Float[Tensor, "..."] | None = None,
        support_index: Int[Tensor, " q"] | None = None,
        rows: Float[Tensor, "... n d"] | None = None,
    ) -> None:
        rows = torch.cat([support.rows, query.rows], dim=-2) if rows is None else rows
        vars(self).update(rows=rows, support=support, query=query, alpha=alpha, support_index=support_index)

    @classmethod
    def from_joined(
        cls,
        rows: Float[Tensor, "... n d"],
        support_shares: Float[Tensor, "... 2 s"],
        query_shares: Float[Tensor, "... 2 q"],
        n_support_nu: int,
        n_query_nu: int,
        alpha: Float[Tensor, "..."] | None = None,
        support_index: Int[Tensor, " q"] | None = None,
    ) -> "Episode":
        """Make an episode from joined rows."""
        n_support = support_shares.shape[-1]
        support = Pair.from_joined(rows[..., :n_support, :], support_shares, n_support_nu)
        query = Pair.from_joined(rows[..., n_support:, :], query_shares, n_query_nu)
        return cls(support, query, alpha, support_index, rows)

    def tasks(self, chosen: slice) -> "Episode":
        """Return some of the tasks of a batch whose leading axes are (member, task)."""
        support, query = (pair.shares if pair.shares.dim() == 2 else pair.shares[:, chosen] for pair in self)
        alpha = None if self.alpha is None else self.alpha[:, chosen]
        sizes = self.support.n_nu, self.query.n_nu
        return Episode.from_joined(self.rows[:, chosen], support, query, *sizes, alpha, self.support_index)

    def __iter__(self) -> Iterator[Pair]:
        """Unpack as ``support, query``."""
        return iter((self.support, self.query))
