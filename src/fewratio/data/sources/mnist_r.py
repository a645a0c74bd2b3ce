"""Mnist-r: MNIST digits in six rotations, the very file of the paper."""

from pathlib import Path

import numpy as np

from fewratio.data.arraypickle import unpickle_arrays
from fewratio.data.collection import Collection
from fewratio.data.compressed import read_bounded
from fewratio.data.parsed import Arrays, parsed
from fewratio.data.source import Source, wrong_content
from fewratio.data.sources.rotations import ANGLES, rotated_digits
from fewratio.data.storage import RawFile, as_published, obtain

FILE = RawFile(
    "mnist_r/MNIST_6rot.pkl.gz",
    url="https://github.com/ghif/mtae/raw/cee4bcd2df685f27b606a77eb92647a30b03a28c/MNIST_6rot.pkl.gz",
    size=3852536,
    sha256="20434234326b03ce40e9da8513d38ef985c10d53a7abc2fb43f58d20fd10f49b",
)
# The published file unpacks to 45,440,506 bytes.
UNPACKED_LIMIT = 2**26


def load() -> Collection:
    """Load Mnist-r: 6 rotations x 10 digits, 60 datasets of 100 images of 16 x 16."""
    (path,) = obtain(SOURCE.choices)
    arrays = parsed("mnist_r", 2, [path], lambda: read(as_published(path, SOURCE.choices)))
    return rotated_digits("mnist_r", arrays["X"], arrays["y"])


def read(path: Path) -> Arrays:
    """Read the pickle into X of shape (6, 1000, 256) and y of shape (1000,)."""
    tasks = unpickle_arrays(read_bounded(path, UNPACKED_LIMIT), str(path))
    shapes = [tuple(array.shape for array in task) if isinstance(task, tuple) else None for task in tasks]
    if shapes != [((1000, 256), (1000,))] * len(ANGLES):
        raise wrong_content(path, f"it holds arrays of shapes {shapes}", "six tasks of 1000 x 256 are needed")
    X, labels = (np.stack([task[side] for task in tasks]) for side in (0, 1))
    y = labels[0]
    are_digits = labels.dtype.kind in "iu" and np.isin(y, np.arange(10)).all()
    if not are_digits or (labels != y).any() or (np.bincount(y, minlength=10) != 100).any():
        raise wrong_content(path, "its labels are others", "100 images of each digit, alike in all tasks, are needed")
    return {"X": X.astype(np.float64), "y": y.astype(np.int64)}


SOURCE = Source(
    name="mnist_r",
    description="Handwritten digits, 16 x 16 pixels from 0 to 1, rotated counter-clockwise by 0, 15, ... 75 degrees. "
    "A dataset is a digit in a rotation; the group is the rotation.",
    licence="none stated in the repository; MNIST itself is usually given as CC BY-SA 3.0 (LeCun, Cortes)",
    origin="https://github.com/ghif/mtae",
    n_datasets=60,
    n_features=256,
    sizes=(100, 100),
    load=load,
    choices=((FILE,),),
    image_shape=(16, 16),
)
