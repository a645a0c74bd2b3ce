"""The Gaussian kernel and its median width."""

import torch
from torch import Tensor

from fewratio.core.pair import Pair
from fewratio.core.shapes import Float


def gaussian_kernel(
    x: Float[Tensor, "... n d"], centres: Float[Tensor, "... m d"], sigma: float | Tensor
) -> Float[Tensor, "... n m"]:
    """Gaussian kernel exp(-|x - c|^2 / sigma^2), the width as the paper's numbers imply it (no factor 2).

    Parameters
    ----------
    x : Tensor of shape (..., n, d)
        Instances.
    centres : Tensor of shape (..., m, d)
        Kernel centres.
    sigma : float or Tensor of shape (...)
        Width.
    """
    sigma = torch.as_tensor(sigma, dtype=x.dtype, device=x.device)[..., None, None]
    # Distances do not change when everything moves, but |x|^2 + |c|^2 - 2xc loses its digits far from the origin.
    origin = centres.mean(-2, keepdim=True)
    x, centres = (x - origin) / sigma, (centres - origin) / sigma
    square = x.square().sum(-1).unsqueeze(-1) + centres.square().sum(-1).unsqueeze(-2) - 2 * x @ centres.mT
    return torch.exp(-square.clamp_min(0))


def median_distance(pair: Pair) -> Float[Tensor, "..."]:
    """Median distance between the instances of both samples together (the median trick), per task.

    Where that is zero (most rows alike) the mean distance stands in, and 1 where all rows are the same.
    """
    rows = pair.rows
    n = rows.shape[-2]
    first, second = torch.triu_indices(n, n, offset=1, device=rows.device)
    distance = torch.cdist(rows, rows, compute_mode="donot_use_mm_for_euclid_dist")[..., first, second]
    real = pair.shares.sum(-2) > 0
    # Distances to padding become NaN, which sorts last.
    distance = torch.where(real[..., first] & real[..., second], distance, torch.nan).sort(-1).values
    count = distance.isfinite().sum(-1, keepdim=True)
    middle = torch.cat([(count - 1) // 2, count // 2], dim=-1)
    median, mean = distance.gather(-1, middle).mean(-1), distance.nanmean(-1)
    width = torch.where(median > 0, median, mean)
    return torch.where(width > 0, width, torch.ones_like(width))
