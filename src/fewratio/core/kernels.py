"""The Gaussian kernel and its median width."""

from typing import Any

import numpy

from fewratio.core.arrays import namespace, per_matrix
from fewratio.core.blocks import row_blocks
from fewratio.core.shapes import Array, Bool, Float, Floats
from fewratio.errors import InputError

# Squared norms, in squared units, beyond which |x|^2 + |c|^2 - 2xc has lost the digits that an exponential can see.
_FAR = 1e6
# More rows cost much and change a median little.
MEDIAN_ROWS = 1000
# Samples of up to this many rows are handled together.
_FEW_ROWS = 32


def check_squares(*samples: Floats) -> None:
    """Refuse samples whose distances cannot be computed."""
    # A block of rows at a time: they may be in a file. The norm overflows if the squares do.
    with numpy.errstate(over="ignore"):
        norms = [
            numpy.linalg.norm(rows[block].astype(numpy.float64, copy=False))
            for rows in samples
            for block in row_blocks(len(rows), rows.shape[1])
        ]
        fine = numpy.isfinite(numpy.linalg.norm(norms))
    if not fine:
        raise InputError(
            "The samples hold values whose squares, and so whose distances, are beyond float64 (about 1e154). "
            "Rescale the columns (to about unit size) before fitting."
        )


def gaussian_kernel(
    x: Float[Array, "... n d"], centres: Float[Array, "... m d"], sigma: float | Array
) -> Float[Array, "... n m"]:
    """Compute the Gaussian kernel exp(-|x - c|^2 / sigma^2), with the width implied by the paper (no factor 2).

    Parameters
    ----------
    x : array of shape (..., n, d)
        Instances.
    centres : array of shape (..., m, d)
        Kernel centres.
    sigma : float or array of shape (...)
        Width.
    """
    return namespace(x).exp(-squared_distances(x, centres, sigma))


def squared_distances(
    x: Float[Array, "... n d"], centres: Float[Array, "... m d"], unit: float | Array
) -> Float[Array, "... n m"]:
    """Compute squared distances |x - c|^2 / unit^2 from each instance to each centre.

    Parameters
    ----------
    x : array of shape (..., n, d)
        Instances.
    centres : array of shape (..., m, d)
        Kernel centres.
    unit : float or array of shape (...)
        Unit of length. If it is about the size of the distances, their squares stay within the range of the dtype.
    """
    unit = per_matrix(unit, x)
    # Shifting everything does not change distances, but |x|^2 + |c|^2 - 2xc loses digits far from the origin.
    origin = centres.mean(-2, keepdims=True)
    x, centres = (x - origin) / unit, (centres - origin) / unit
    of_x, of_centres = (x * x).sum(-1)[..., None], (centres * centres).sum(-1)[..., None, :]
    if namespace(x) is numpy and x.ndim == 2 and max(of_x.max(initial=0), of_centres.max(initial=0)) > _FAR:
        from scipy.spatial.distance import cdist

        return cdist(x, centres, "sqeuclidean")
    return (of_x + of_centres - 2 * x @ centres.mT).clip(min=0)


def distances_within(
    rows: Float[Array, "... n d"], real: Bool[Array, "... n"] | None = None
) -> Float[Array, "... pairs"]:
    """Compute exact distances between rows (zero for equal ones), one per pair: above the diagonal, row by row.

    For tensors, distances to padding, where `real` is False, are NaN.
    """
    if namespace(rows) is numpy:
        from scipy.spatial.distance import pdist

        if rows.ndim == 2:
            return pdist(rows)
        if rows.shape[-2] > _FEW_ROWS:
            return numpy.stack([distances_within(each) for each in rows])
        # A call per small sample would take longer than its distances.
        apart = (rows[..., i + 1 :, :] - rows[..., i : i + 1, :] for i in range(rows.shape[-2]))
        return numpy.concatenate([(numpy.einsum("...d,...d", each, each)) ** 0.5 for each in apart], axis=-1)
    torch: Any = namespace(rows)
    first, second = torch.triu_indices(rows.shape[-2], rows.shape[-2], offset=1, device=rows.device)
    distances = torch.cdist(rows, rows, compute_mode="donot_use_mm_for_euclid_dist")[..., first, second]
    return distances if real is None else torch.where(real[..., first] & real[..., second], distances, torch.nan)


def median_distance(rows: Float[Array, "... n d"], real: Bool[Array, "... n"] | None = None) -> Float[Array, "..."]:
    """Median distance between the rows (the median trick), per task; see `median_width`.

    Parameters
    ----------
    rows : array of shape (..., n, d)
        The rows of both samples.
    real : bool Tensor of shape (..., n), optional
        For tensors, False where a row is padding; by default none is.
    """
    return median_width(distances_within(rows, real))


def median_width(distances: Float[Array, "... pairs"]) -> Float[Array, "..."]:
    """Return the kernel width from the distances between rows: their median, over the last axis.

    If that is zero (most rows are equal), use the mean distance, and 1 if all rows are equal.
    """
    xp: Any = namespace(distances)
    if xp is numpy:
        if not distances.shape[-1]:
            return numpy.ones(distances.shape[:-1])
        median, mean = numpy.median(distances, -1), distances.mean(-1)
    else:
        # torch's median is the lower of two middle values; the other one is the lower from above.
        median = (distances.nanmedian(-1).values - (-distances).nanmedian(-1).values) / 2
        mean = distances.nanmean(-1)
    width = xp.where(median > 0, median, mean)
    return xp.where(width > 0, width, xp.ones_like(width))
