"""Mnist-r: MNIST digits in six rotations, the very file of the paper."""

import gzip
import io
import pickle
from typing import Any

import numpy as np

from fewratio.data.collection import Collection
from fewratio.data.registry import Source
from fewratio.data.sources.digits_r import rotated_digits
from fewratio.errors import DataFileError
from fewratio_bench.sources.storage import RawFile

FILE = RawFile(
    "mnist_r/MNIST_6rot.pkl.gz",
    url="https://github.com/ghif/mtae/raw/cee4bcd2df685f27b606a77eb92647a30b03a28c/MNIST_6rot.pkl.gz",
    sha256="20434234326b03ce40e9da8513d38ef985c10d53a7abc2fb43f58d20fd10f49b",
)


def load() -> Collection:
    """Load Mnist-r: 6 rotations x 10 digits, 60 datasets of 100 images of 16 x 16 pixels from 0 to 1.

    Handwritten digits are rotated counter-clockwise by 0, 15, ... 75 degrees. A dataset is a digit in a rotation; the
    group is the rotation.
    """
    (path,) = FILE.files()
    tasks = unpickle_arrays(gzip.decompress(path.read_bytes()))
    X = np.stack([images for images, _ in tasks]).astype(np.float64)
    return rotated_digits("mnist_r", X, tasks[0][1])


def unpickle_arrays(content: bytes) -> list[tuple[np.ndarray, np.ndarray]]:
    """Read a list of pairs of arrays that Python 2 pickled; whatever else a pickle asks for is refused, not run."""
    return list(_ArrayUnpickler(io.BytesIO(content), encoding="bytes").load())


class _ArrayUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        # Where NumPy keeps the function that makes an empty array depends on its version.
        known = {"_reconstruct": np.empty(0).__reduce__()[0], "ndarray": np.ndarray, "dtype": np.dtype}
        if not module.startswith("numpy") or name not in known:
            raise DataFileError(
                f"A pickle asks for {module}.{name}, which no array needs; nothing was run. Do not trust the file."
            )
        return known[name]


SOURCE = Source(
    name="mnist_r",
    load=load,
    licence="none stated in the repository; MNIST itself is usually given as CC BY-SA 3.0 (LeCun, Cortes)",
    origin="https://github.com/ghif/mtae",
    image_shape=(16, 16),
    files=FILE.files,
)
