"""The paper's synthetic family: one-dimensional Gaussians whose true ratio is known."""

from dataclasses import dataclass

import numpy as np

from fewratio.data.collection import Collection


@dataclass(frozen=True)
class GaussianFamily:
    """Datasets drawn from N(mean, std^2), each with its own mean and std.

    Parameters
    ----------
    collection : Collection
        The datasets, one column each.
    means, stds : float array of shape (n_datasets,)
        The truth behind each.
    """

    collection: Collection
    means: np.ndarray
    stds: np.ndarray


def gaussian_family(
    n_datasets: int,
    n_instances: int = 300,
    random_state: int | np.random.Generator | None = None,
    name: str = "gaussian",
) -> GaussianFamily:
    """Draw datasets of the paper's synthetic family: means from U(-1.5, 1.5), standard deviations from U(0.1, 2).

    Parameters
    ----------
    n_datasets, n_instances : int
        How many datasets, and instances in each.
    random_state : int or numpy Generator, optional
        Seed.
    name : str
        Name of the collection.

    Examples
    --------
    >>> family = gaussian_family(3, n_instances=50, random_state=0)
    >>> len(family.collection), family.collection[0].X.shape, family.means.shape
    (3, (50, 1), (3,))
    """
    rng = np.random.default_rng(random_state)
    means = rng.uniform(-1.5, 1.5, n_datasets)
    stds = rng.uniform(0.1, 2.0, n_datasets)
    samples = rng.normal(means[:, None, None], stds[:, None, None], (n_datasets, n_instances, 1))
    names = [f"{name}-{i}" for i in range(n_datasets)]
    return GaussianFamily(Collection.from_arrays(list(samples), names=names, name=name), means, stds)


def load(n_datasets: int = 600, n_instances: int = 300, seed: int = 0) -> Collection:
    """Draw the synthetic family: by default 600 datasets of 300 numbers.

    A dataset is a one-dimensional Gaussian with its own mean and standard deviation. `gaussian_family` also returns
    the truth behind them.
    """
    return gaussian_family(n_datasets, n_instances, seed).collection
