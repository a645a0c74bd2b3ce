"""Digits rotated like Mnist-r, made from the 8 x 8 digits that come with scikit-learn: nothing to download."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewratio.data.collection import Collection
from fewratio.data.dataset import Dataset

ANGLES = (0, 15, 30, 45, 60, 75)
"""The paper's rotations in degrees, counter-clockwise."""


def load() -> Collection:
    """Load rotated digits: 60 datasets of 174 to 183 images, 8 x 8 pixels from 0 to 1. A small stand-in for Mnist-r.

    Handwritten digits are rotated counter-clockwise by 0, 15, ... 75 degrees. A dataset is a digit in a rotation; the
    group is the rotation.
    """
    from scipy.ndimage import rotate
    from sklearn.datasets import load_digits

    digits = load_digits()
    images = digits.images / 16.0
    # Linear interpolation, as this gives back Mnist-r's own rotations best; the axes are those of one image.
    tasks = [rotate(images, angle, axes=(2, 1), reshape=False, order=1) for angle in ANGLES]
    return rotated_digits("digits_r", np.stack(tasks).reshape(len(ANGLES), len(images), -1), digits.target)


def rotated_digits(name: str, tasks: NDArray[Any], digits: NDArray[np.integer[Any]]) -> Collection:
    """Cut rotated images into a dataset for each rotation and digit.

    Parameters
    ----------
    name : str
        Name of the collection.
    tasks : array of shape (6, n, d)
        The same n images in each rotation.
    digits : int array of shape (n,)
        The digit in each image.
    """
    datasets = [
        Dataset(f"{angle}deg-{digit}", f"{angle}deg", images[digits == digit])
        for angle, images in zip(ANGLES, tasks, strict=True)
        for digit in range(10)
    ]
    return Collection(name, datasets)
