"""Digits rotated like Mnist-r, made from the 8 x 8 digits that come with scikit-learn: nothing to download."""

import numpy as np

from fewratio.data.collection import Collection
from fewratio.data.source import Source
from fewratio.data.sources.rotations import ANGLES, rotated_digits


def load() -> Collection:
    """Load the rotated 8 x 8 digits: 6 rotations x 10 digits, 60 datasets."""
    from scipy.ndimage import rotate
    from sklearn.datasets import load_digits

    digits = load_digits()
    images = digits.images / 16.0
    # Linear interpolation, as this gives back Mnist-r's own rotations best; the axes are those of one image.
    tasks = [rotate(images, angle, axes=(2, 1), reshape=False, order=1) for angle in ANGLES]
    return rotated_digits("digits_r", np.stack(tasks).reshape(len(ANGLES), len(images), -1), digits.target)


SOURCE = Source(
    name="digits_r",
    description="Handwritten digits, 8 x 8 pixels from 0 to 1, rotated counter-clockwise by 0, 15, ... 75 degrees. "
    "A dataset is a digit in a rotation; the group is the rotation. A small stand-in for Mnist-r.",
    licence="CC BY 4.0 (UCI, Alpaydin and Kaynak; the copy in scikit-learn)",
    origin="https://archive.ics.uci.edu/dataset/80/optical+recognition+of+handwritten+digits",
    n_datasets=60,
    n_features=64,
    sizes=(174, 183),
    load=load,
    image_shape=(8, 8),
)
