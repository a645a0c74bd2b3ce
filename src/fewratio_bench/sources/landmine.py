"""Landmine: radar images of 29 minefields; mine or clutter."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat

from fewratio.data.collection import Collection
from fewratio.data.dataset import Dataset
from fewratio.data.registry import Source
from fewratio_bench.sources.storage import RawFile, obtain, read_from

# Published: fields 1 to 15 are one kind of terrain, the others another.
N_FIRST_TERRAIN = 15
CHOICES = (
    (
        RawFile(
            "landmine/LandmineData.mat",
            # A copy: the home page it was published on gives no fixed address.
            url="https://github.com/daizhongxiang/Federated_Bayesian_Optimization/raw/"
            "30a4548606f2ae9bc62c6bf0eb4110177aa3876a/LandmineData.mat",
            size=1085456,
            sha256="2163ab20a80e33a8b65593c48cf283c540599dcb291105e63fa4af2ce24c2bea",
        ),
    ),
)


def load() -> Collection:
    """Load Landmine: 29 fields of 445 to 690 instances with 9 features, each row divided by its l2 norm."""
    (path,) = obtain(CHOICES)
    content = loadmat(path, variable_names=("feature", "label"))
    fields = zip(content["feature"].flat, content["label"].flat, strict=True)
    return Collection(
        "landmine",
        [
            Dataset(
                f"field-{number:02d}", f"terrain-{1 if number <= N_FIRST_TERRAIN else 2}", unit_rows(X), y.ravel() == 1
            )
            for number, (X, y) in enumerate(fields, start=1)
        ],
    )


def unit_rows(X: NDArray[Any]) -> NDArray[np.float64]:
    """Divide each row by its l2 norm, in float64; a row of zeros stays as it is."""
    rows = np.asarray(X, dtype=np.float64)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(norms > 0, norms, 1.0)


SOURCE = Source(
    name="landmine",
    load=load,
    description="Features of radar images from 29 minefields, each row divided by its l2 norm. A dataset is a field; "
    "mines are the outliers, clutter is normal; the group is the kind of terrain.",
    licence="none stated",
    origin="http://people.ee.duke.edu/~lcarin/LandmineData.zip",
    n_datasets=29,
    n_features=9,
    sizes=(445, 690),
    **read_from(CHOICES),
)
