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
    return torch.exp(-squared_distances(x, centres, sigma))


def squared_distances(
    x: Float[Tensor, "... n d"], centres: Float[Tensor, "... m d"], unit: float | Tensor
) -> Float[Tensor, "... n m"]:
    """Squared distances |x - c|^2 / unit^2 from each instance to each centre.

    Parameters
    ----------
    x : Tensor of shape (..., n, d)
        Instances.
    centres : Tensor of shape (..., m, d)
        Kernel centres.
    unit : float or Tensor of shape (...)
        Length to measure in. About the size of the distances, it keeps their squares within the range of the dtype.
    """
    if isinstance(unit, Tensor):
        # A plain number stays one: made a tensor, it would have to be copied to the device.
        unit = unit.to(x.device, x.dtype)[..., None, None]
    # Distances do not change when everything moves, but |x|^2 + |c|^2 - 2xc loses its digits far from the origin.
    origin = centres.mean(-2, keepdim=True)
    x, centres = (x - origin) / unit, (centres - origin) / unit
    square = x.square().sum(-1).unsqueeze(-1) + centres.square().sum(-1).unsqueeze(-2) - 2 * x @ centres.mT
    return square.clamp_min(0)


def median_distance(pair: Pair) -> Float[Tensor, "..."]:
    """Median distance between the instances of both samples together (the median trick), per task.

    Where that is zero (most rows alike) the mean distance stands in, and 1 where all rows are the same.
    """
    rows = pair.rows
    n = rows.shape[-2]
    first, second = torch.triu_indices(n, n, offset=1, device=rows.device)
    distance = torch.cdist(rows, rows, compute_mode="donot_use_mm_for_euclid_dist")[..., first, second]
    real = pair.shares.sum(-2) > 0
    # Distances to padding become NaN, which the medians pass over.
    distance = torch.where(real[..., first] & real[..., second], distance, torch.nan)
    # torch's median is the lower of two middle values; the other one is the lower from above.
    lower, upper = distance.nanmedian(-1).values, -(-distance).nanmedian(-1).values
    median, mean = (lower + upper) / 2, distance.nanmean(-1)
    width = torch.where(median > 0, median, mean)
    return torch.where(width > 0, width, torch.ones_like(width))
