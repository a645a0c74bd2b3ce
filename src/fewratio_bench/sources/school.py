"""School: examination scores of students of the Inner London Education Authority, 1985 to 1987."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fewratio.data.collection import Collection
from fewratio.data.dataset import Dataset
from fewratio.data.registry import Source
from fewratio_bench.sources.storage import RawFile

MIN_STUDENTS = 100
OUTLIER_SCORE = 35
# Characters of a line (from, to) and the codes that get an indicator, in the order of the published matrices.
FIELDS = {
    "year": (0, 1, (1, 2, 3)),
    "gender": (10, 11, (1, 0)),
    "vr_band": (11, 12, (1, 2, 3)),
    "ethnic": (12, 14, tuple(range(1, 12))),
    "school_gender": (14, 15, (1, 2, 3)),
    "denomination": (15, 16, (1, 2, 3)),
}
INDICATORS = tuple(f"{field}={code}" for field, (_, _, codes) in FIELDS.items() for code in codes)
FILE = RawFile(
    "school/ILEA567.DAT",
    url="https://github.com/SheffieldML/GPmat/raw/4b5914a38ecbad9fb7a13a3392970bfc28c9d911/datasets/data/ILEA567.DAT",
    sha256="ceb04bd41d5c15b2040213b10da19abcbdcbc6137a9a02d5cb4cd0c561ca04b8",
)


def load() -> Collection:
    """Load School: 74 schools of 100 to 251 students, 26 binary features; a score of 35 or more is an outlier.

    Students have indicators of year, gender, verbal-reasoning band, ethnic group, and the school's gender and
    denomination. A dataset is a school of at least 100 students.

    The paper counts 26 binary features, and does not say which; the six categorical fields give 25 indicators. The 26th
    is the constant column of the widely used matrices, which are 26 columns wide without their two percentages.
    """
    (path,) = FILE.files()
    indicators, scores, schools = read(path)
    X = np.column_stack([indicators, np.ones(len(indicators))])
    numbers, counts = np.unique(schools, return_counts=True)
    datasets = [
        Dataset(f"school-{number}", None, X[schools == number], scores[schools == number] >= OUTLIER_SCORE)
        for number in numbers[counts >= MIN_STUDENTS]
    ]
    return Collection("school", datasets, (*INDICATORS, "constant"))


def read(path: Path) -> tuple[NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64]]:
    """Read indicators of shape (n, 25), scores and school numbers of all students."""
    lines = path.read_text(encoding="ascii").splitlines()

    def field(start: int, stop: int) -> NDArray[np.int64]:
        return np.array([int(line[start:stop]) for line in lines])

    columns = [field(start, stop) == code for start, stop, codes in FIELDS.values() for code in codes]
    return np.column_stack(columns), field(4, 6), field(1, 4)


SOURCE = Source(
    name="school",
    load=load,
    licence="none stated (H. Goldstein, The Statistician 40, 1991)",
    origin="https://www.bristol.ac.uk/cmm/media/migrated/ilea567.zip",
    files=FILE.files,
)
