"""School: examination scores of students of the Inner London Education Authority, 1985 to 1987."""

from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fewratio.data.collection import Collection
from fewratio.data.compressed import read_bounded
from fewratio.data.dataset import Dataset
from fewratio.data.parsed import Arrays, parsed
from fewratio.data.source import Source, read_mat, wrong_content
from fewratio.data.storage import RawFile, as_published, obtain
from fewratio.errors import DataFileError, ParameterError

MIN_STUDENTS = 100
OUTLIER_SCORE = 35
N_STUDENTS = 15362
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
# Of the published matrices: all but the percentages (3, 4) and the constant (27).
MATRIX_COLUMNS = (*range(3), *range(5, 27))
LAST_COLUMN = {"constant": "constant", "observed": "vr_band=0"}


def load(encoding: Literal["constant", "observed"] = "constant") -> Collection:
    """Load School: 74 schools of at least 100 students, 26 binary features; a score of 35 or more is an outlier.

    Parameters
    ----------
    encoding : {"constant", "observed"}
        The paper counts 26 binary features; the six categorical fields give 25 indicators. With ``"constant"`` the
        26th is the constant column of the widely used matrices, which are 26 columns wide without their two
        percentages. With ``"observed"`` it is the indicator of the undocumented verbal-reasoning band 0 (15 students),
        as one-hot coding of the observed values gives. The paper does not say which. The first is the default because
        it needs nothing but leaving out the columns that are not binary.
    """
    if encoding not in LAST_COLUMN:
        raise ParameterError(f'encoding is {encoding!r}; "constant" or "observed" is needed. Pass one of them.')
    (path,) = obtain(SOURCE.choices)
    arrays = parsed("school", 2, [path], lambda: read(as_published(path, SOURCE.choices)))
    X = _features(arrays["indicators"], encoding)
    schools, scores = arrays["schools"], arrays["scores"]
    numbers, counts = np.unique(schools, return_counts=True)
    datasets = [
        Dataset(f"school-{number}", None, X[schools == number], scores[schools == number] >= OUTLIER_SCORE)
        for number in numbers[counts >= MIN_STUDENTS]
    ]
    return Collection("school", datasets, (*INDICATORS, LAST_COLUMN[encoding]))


def read(path: Path) -> Arrays:
    """Read indicators of shape (n, 25), scores and school numbers of all students, from any of the three files."""
    readers = {"ILEA567.DAT": _read_lines, "school.mat": _read_cells, "school_b.mat": _read_matrix}
    arrays = readers[path.name](path)
    indicators, n_schools = arrays["indicators"], len(np.unique(arrays["schools"]))
    if indicators.shape != (N_STUDENTS, len(INDICATORS)) or n_schools != 139:
        found = f"{len(indicators)} students of {n_schools} schools with {indicators.shape[1]} indicators"
        raise wrong_content(path, found, f"{N_STUDENTS} students of 139 schools with {len(INDICATORS)} are needed")
    if not np.isin(indicators, (0, 1)).all():
        raise wrong_content(path, "an indicator is neither 0 nor 1", "the columns must be binary")
    return {"indicators": indicators.astype(np.bool_), **{name: arrays[name] for name in ("scores", "schools")}}


def _features(indicators: NDArray[np.bool_], encoding: str) -> NDArray[np.float64]:
    bands = [place for place, name in enumerate(INDICATORS) if name.startswith("vr_band")]
    last = np.ones(len(indicators)) if encoding == "constant" else ~indicators[:, bands].any(axis=1)
    return np.column_stack([indicators, last]).astype(np.float64)


def _read_lines(path: Path) -> Arrays:
    lines = read_bounded(path, 2**20).splitlines()
    for number, line in enumerate(lines, start=1):
        if len(line) != 16:
            raise DataFileError(
                f"{path}, line {number} has {len(line)} characters; 16 are needed. Put the published file there."
            )
    characters = np.frombuffer(b"".join(lines), dtype="S1").reshape(len(lines), 16)

    def field(start: int, stop: int) -> NDArray[np.int64]:
        texts = np.ascontiguousarray(characters[:, start:stop]).view(f"S{stop - start}").ravel()
        try:
            return texts.astype(np.int64)
        except ValueError as error:
            raise DataFileError(
                f"{path}, characters {start + 1} to {stop} of a line are not a number ({error}). "
                "Put the published file there."
            ) from error

    columns = [field(start, stop) == code for start, stop, codes in FIELDS.values() for code in codes]
    return {"indicators": np.column_stack(columns), "scores": field(4, 6), "schools": field(1, 4)}


def _read_cells(path: Path) -> Arrays:
    content = read_mat(path, ("X", "Y"))
    matrices, scores = ([np.atleast_2d(cell) for cell in content[name].flat] for name in ("X", "Y"))
    if len(matrices) != len(scores) or any(
        X.shape[1] != 28 or len(X) != len(y) for X, y in zip(matrices, scores, strict=False)
    ):
        raise wrong_content(path, "the cells of X and Y do not fit", "n x 28 and n x 1 are needed for each school")
    sizes = [len(X) for X in matrices]
    return _from_matrix(np.concatenate(matrices), np.concatenate(scores), np.repeat(np.arange(len(sizes)), sizes))


def _read_matrix(path: Path) -> Arrays:
    content = read_mat(path, ("x", "y", "task_indexes"))
    X, scores, starts = content["x"].T, content["y"].ravel(), content["task_indexes"].ravel().astype(np.int64) - 1
    if X.ndim != 2 or X.shape[1] != 28 or len(X) != len(scores) or not len(starts):
        raise wrong_content(path, f"x has shape {X.T.shape}", "28 rows and a column for each score are needed")
    schools = np.searchsorted(starts, np.arange(len(X)), side="right") - 1
    return _from_matrix(X, scores, schools)


def _from_matrix(X: NDArray[Any], scores: NDArray[Any], schools: NDArray[Any]) -> Arrays:
    return {
        "indicators": X[:, MATRIX_COLUMNS],
        "scores": scores.ravel().astype(np.int64),
        "schools": schools.astype(np.int64) + 1,
    }


SOURCE = Source(
    name="school",
    description="Students with indicators of year, gender, verbal-reasoning band, ethnic group, and the school's "
    "gender and denomination. A dataset is a school of at least 100 students; a score of 35 or more is an outlier.",
    licence="none stated (H. Goldstein, The Statistician 40, 1991)",
    origin="https://www.bristol.ac.uk/cmm/media/migrated/ilea567.zip",
    n_datasets=74,
    n_features=26,
    sizes=(100, 251),
    load=load,
    choices=(
        (
            RawFile(
                "school/ILEA567.DAT",
                url="https://github.com/SheffieldML/GPmat/raw/4b5914a38ecbad9fb7a13a3392970bfc28c9d911/"
                "datasets/data/ILEA567.DAT",
                size=276515,
                sha256="ceb04bd41d5c15b2040213b10da19abcbdcbc6137a9a02d5cb4cd0c561ca04b8",
            ),
        ),
        (
            RawFile(
                "school/school.mat",
                url="https://github.com/jiayuzhou/MALSAR/raw/fb9751594983df020ddc4f7e4a40520ee7c37989/data/school.mat",
                size=44759,
                sha256="57fb3238fdd03a9aa17276e2ce18d9bbb5d128c3261e794fe6233b58b6909068",
            ),
        ),
        (
            RawFile(
                "school/school_b.mat",
                url="https://github.com/tjanez/PyMTL/raw/97dfc15be3769240f2099d036ce2b55b30a56f5f/"
                "data/school/school_b.mat",
                size=40592,
                sha256="973f1ca99d0d41a838ec6ae86001a48e7b69391eb74646b9e4fc54f62866a146",
            ),
        ),
    ),
)
