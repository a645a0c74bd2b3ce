"""Divergences of many pairs of samples at once."""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fewratio.core.divergence import relative_pearson_divergence
from fewratio.core.pair import Pair, equal_shares
from fewratio.core.ridge import ridge_weights
from fewratio.nn import RatioCommittee, RatioModel

# Values of a block of pairs, with what becomes of them on the way: about 30 MB as float64.
_BLOCK_VALUES = 2**22
_HIDDEN_VALUES = 256
# Rows of a table all of whose distances are held at once: 32 MB.
_TABLE_ROWS = 2**11


@torch.no_grad()
def adapted_divergences(
    model: RatioModel | RatioCommittee,
    alpha: float,
    rows: NDArray[np.float64],
    nu: NDArray[np.intp],
    de: NDArray[np.intp],
    dtype: torch.dtype = torch.float64,
    device: torch.device | str = "cpu",
    prepare: Callable[[NDArray[np.float64]], NDArray[np.float64]] | None = None,
) -> NDArray[np.float64]:
    """Adapt a model to pairs of samples, a block of pairs at a time, and give their relative Pearson divergences.

    Parameters
    ----------
    model : RatioModel or RatioCommittee
        On the device.
    alpha : float
        Relative parameter.
    rows : ndarray of shape (n, d)
        The table.
    nu, de : int arrays of shape (n_pairs, n_nu) and (n_pairs, n_de)
        Which rows make the samples.
    dtype, device
        What the rows are given to the model as, and where.
    prepare : callable, optional
        What becomes of the rows of each pair first, as `standardised_samples`; from shape (n_pairs, n, d) to the same.
    """
    table = torch.from_numpy(rows).to(device, dtype)
    numbers = torch.from_numpy(np.concatenate([nu, de], axis=1)).to(device)
    step = max(1, _BLOCK_VALUES // (numbers.shape[1] * (rows.shape[1] + _HIDDEN_VALUES)))
    found = []
    for block in numbers.split(step):
        # Prepared with all their digits: far from zero, float32 would lose those that matter.
        joined = (
            table[block] if prepare is None else torch.from_numpy(prepare(rows[block.cpu().numpy()])).to(device, dtype)
        )
        pair = Pair(joined[:, : nu.shape[1]], joined[:, nu.shape[1] :])
        asked = torch.full((len(block),), float(alpha), dtype=dtype, device=device) if model.tell_alpha else None
        ratio = model.adapt(pair, asked).at_support()
        found.append(relative_pearson_divergence(ratio.double(), pair.shares.double(), float(alpha)).cpu())
    return torch.cat(found).numpy() if found else np.empty(0)


def distances_are_shared(n_rows: int, nu: NDArray[np.intp], de: NDArray[np.intp]) -> bool:
    """Tell whether the distances within the table are few, and not many more than those within all pairs."""
    n_used = len(nu) * (nu.shape[1] + de.shape[1]) ** 2
    # A distance that no pair needs costs less than going without the others.
    return n_rows <= _TABLE_ROWS and n_rows**2 <= 16 * n_used


def kernel_divergences(
    rows: NDArray[np.float64],
    nu: NDArray[np.intp],
    de: NDArray[np.intp],
    alpha: float,
    sigma: float | None,
    reg: float,
    clip: str,
) -> NDArray[np.float64]:
    """Give the divergences of the Gaussian-kernel ratios of pairs that share rows of a small table.

    The same as adapting a model of `GaussianFeatures`, but each distance is computed once, not once a pair: what
    remains does not depend on the number of columns.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        The table.
    nu, de : int arrays of shape (n_pairs, n_nu) and (n_pairs, n_de)
        Which rows make the samples.
    alpha, reg, clip
        As in `RuLSIF`.
    sigma : float or None
        Width; None for the median distance of each pair.
    """
    table = torch.from_numpy(rows)
    distances = torch.cdist(table, table, compute_mode="donot_use_mm_for_euclid_dist")
    numbers = torch.from_numpy(np.concatenate([nu, de], axis=1))
    n_rows = numbers.shape[1]
    shares = equal_shares(nu.shape[1], de.shape[1], table)
    found = []
    for block in numbers.split(max(1, _BLOCK_VALUES // (4 * n_rows**2))):
        within = distances[block[:, :, None], block[:, None, :]]
        width = _median_widths(within) if sigma is None else torch.full((len(block),), sigma, dtype=table.dtype)
        phi = torch.exp(-(within / width[:, None, None]).square())
        weights = ridge_weights(phi, shares.expand(len(block), 2, n_rows), float(alpha), reg)
        if clip == "weights":
            weights = weights.relu()
        ratio = (phi @ weights.unsqueeze(-1)).squeeze(-1)
        ratio = ratio.relu() if clip == "ratio" else ratio
        found.append(relative_pearson_divergence(ratio, shares, float(alpha)))
    return torch.cat(found).numpy() if found else np.empty(0)


def _median_widths(distances: Tensor) -> Tensor:
    """Give what `median_distance` gives, for pairs whose distances are known."""
    n_rows = distances.shape[-1]
    first, second = torch.triu_indices(n_rows, n_rows, offset=1)
    apart = distances[:, first, second]
    median, mean = torch.from_numpy(np.median(apart.numpy(), axis=-1)), apart.mean(-1)
    width = torch.where(median > 0, median, mean)
    return torch.where(width > 0, width, torch.ones_like(width))
