"""Landmine: radar images of 29 minefields; mine or clutter."""

from pathlib import Path

import numpy as np

from fewratio.data.collection import Collection
from fewratio.data.dataset import Dataset
from fewratio.data.parsed import Arrays, parsed
from fewratio.data.source import Source, read_mat, unit_rows, wrong_content
from fewratio.data.storage import RawFile, as_published, obtain

N_FIELDS = 29
# Published: fields 1 to 15 are one kind of terrain, the others another.
N_FIRST_TERRAIN = 15
FILE = RawFile(
    "landmine/LandmineData.mat",
    # A copy: the home page it was published on gives no fixed address.
    url="https://github.com/daizhongxiang/Federated_Bayesian_Optimization/raw/"
    "30a4548606f2ae9bc62c6bf0eb4110177aa3876a/LandmineData.mat",
    size=1085456,
    sha256="2163ab20a80e33a8b65593c48cf283c540599dcb291105e63fa4af2ce24c2bea",
)


def load() -> Collection:
    """Load Landmine: 29 fields of 445 to 690 instances with 9 features, each row divided by its l2 norm."""
    (path,) = obtain(SOURCE.choices)
    arrays = parsed("landmine", 2, [path], lambda: read(as_published(path, SOURCE.choices)))
    ends = np.cumsum(arrays["sizes"])[:-1]
    fields = zip(np.split(unit_rows(arrays["X"]), ends), np.split(arrays["is_outlier"], ends), strict=True)
    return Collection(
        "landmine",
        [
            Dataset(f"field-{number:02d}", f"terrain-{1 if number <= N_FIRST_TERRAIN else 2}", X, is_outlier)
            for number, (X, is_outlier) in enumerate(fields, start=1)
        ],
    )


def read(path: Path) -> Arrays:
    """Read the features and labels of all fields, one below the other."""
    content = read_mat(path, ("feature", "label"))
    features, labels = (list(content[name].flat) for name in ("feature", "label"))
    if len(features) != N_FIELDS or len(labels) != N_FIELDS:
        found = f"feature has {len(features)} elements and label {len(labels)}"
        raise wrong_content(path, found, f"{N_FIELDS} fields are needed")
    for number, (X, y) in enumerate(zip(features, labels, strict=True), start=1):
        if np.shape(X) != (np.size(y), 9):
            found = f"field {number} has features of shape {np.shape(X)} and {np.size(y)} labels"
            raise wrong_content(path, found, "n x 9 features and n labels are needed")
    flags = np.concatenate([np.ravel(y) for y in labels])
    if not np.isin(flags, (0, 1)).all():
        raise wrong_content(path, "some labels are neither 0 nor 1", "1 must mark a mine and 0 clutter")
    return {
        "X": np.concatenate(features).astype(np.float64),
        "is_outlier": flags.astype(np.bool_),
        "sizes": np.array([len(X) for X in features]),
    }


SOURCE = Source(
    name="landmine",
    description="Features of radar images from 29 minefields, each row divided by its l2 norm. A dataset is a field; "
    "mines are the outliers, clutter is normal; the group is the kind of terrain.",
    licence="none stated",
    origin="http://people.ee.duke.edu/~lcarin/LandmineData.zip",
    n_datasets=N_FIELDS,
    n_features=9,
    sizes=(445, 690),
    load=load,
    choices=((FILE,),),
)
