"""What the two collections of rotated digits share: six rotations of ten digits, a dataset each."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewratio.data.collection import Collection
from fewratio.data.dataset import Dataset

ANGLES = (0, 15, 30, 45, 60, 75)
"""The paper's rotations in degrees, counter-clockwise."""


def rotated_digits(name: str, tasks: NDArray[Any], digits: NDArray[np.integer[Any]]) -> Collection:
    """Cut rotated images into a dataset for each rotation and digit.

    Parameters
    ----------
    name : str
        Of the collection.
    tasks : array of shape (6, n, d)
        The same n images in each rotation.
    digits : int array of shape (n,)
        What each image shows.
    """
    return Collection(
        name,
        [
            Dataset(f"{angle}deg-{digit}", f"{angle}deg", images[digits == digit])
            for angle, images in zip(ANGLES, tasks, strict=True)
            for digit in range(10)
        ],
    )
