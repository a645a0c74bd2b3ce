"""Landmine: radar images of 29 minefields; mine or clutter."""

from scipy.io import loadmat
from sklearn.preprocessing import normalize

from fewratio.data.collection import Collection
from fewratio.data.dataset import Dataset
from fewratio.data.registry import Source
from fewratio_bench.sources.storage import RawFile

# Published: fields 1 to 15 are one kind of terrain, the others another.
N_FIRST_TERRAIN = 15
FILE = RawFile(
    "landmine/LandmineData.mat",
    # A copy: the home page it was published on gives no fixed address.
    url="https://github.com/daizhongxiang/Federated_Bayesian_Optimization/raw/"
    "30a4548606f2ae9bc62c6bf0eb4110177aa3876a/LandmineData.mat",
    sha256="2163ab20a80e33a8b65593c48cf283c540599dcb291105e63fa4af2ce24c2bea",
)


def load() -> Collection:
    """Load Landmine: 29 fields of 445 to 690 instances with 9 features, each row divided by its l2 norm.

    Features of radar images from 29 minefields. A dataset is a field; mines are the outliers, clutter is normal; the
    group is the kind of terrain.
    """
    (path,) = FILE.files()
    content = loadmat(path, variable_names=("feature", "label"))
    fields = zip(content["feature"].flat, content["label"].flat, strict=True)
    return Collection(
        "landmine",
        [
            Dataset(
                f"field-{number:02d}", f"terrain-{1 if number <= N_FIRST_TERRAIN else 2}", normalize(X), y.ravel() == 1
            )
            for number, (X, y) in enumerate(fields, start=1)
        ],
    )


SOURCE = Source(
    name="landmine",
    load=load,
    licence="none stated",
    origin="http://people.ee.duke.edu/~lcarin/LandmineData.zip",
    files=FILE.files,
)
