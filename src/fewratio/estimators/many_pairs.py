"""Divergences of many pairs of samples at once, by a network."""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray

from fewratio.core.divergence import relative_pearson_divergence
from fewratio.core.pair import Pair
from fewratio.nn import RatioCommittee, RatioModel

# Values of a block of pairs, with what becomes of them on the way: about 30 MB as float64.
_BLOCK_VALUES = 2**22
_HIDDEN_VALUES = 256


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
