"""Files of what an estimator has learned in closed form: arrays, with settings and columns as a JSON header."""

import os
from typing import Any

from numpy.typing import NDArray

from fewratio.core.tensorfile import read_tensors, write_tensors
from fewratio.data.encoding import Encoding
from fewratio.errors import ModelFileError
from fewratio.estimators.source_columns import SourceColumns

# What a file that does not fit together raises on the way from its header to an estimator.
DAMAGES = (KeyError, TypeError, ValueError, AttributeError, OverflowError)


def save(
    path: str | os.PathLike[str],
    estimator: str,
    arrays: dict[str, NDArray[Any]],
    columns: SourceColumns,
    **header: Any,
) -> None:
    """Write what an estimator of this name has learned, and the columns of its sources."""
    named = {
        "estimator": estimator,
        "n_features": columns.n_features,
        "feature_names": None if columns.names is None else list(columns.names),
        "encoding": None if columns.encoding is None else columns.encoding.to_dict(),
    }
    write_tensors(path, "model", arrays, named | header)


def load(path: str | os.PathLike[str], estimator: str) -> tuple[dict[str, NDArray[Any]], SourceColumns, dict[str, Any]]:
    """Read arrays, columns and header of what an estimator of this name has learned."""
    arrays, header = read_tensors(path, "model", finite=True)
    try:
        if header["estimator"] != estimator:
            raise TypeError(f"it holds a {header['estimator']}")
        names = None if header["feature_names"] is None else tuple(map(str, header["feature_names"]))
        encoding = None if header["encoding"] is None else Encoding.from_dict(header["encoding"])
        columns = SourceColumns(int(header["n_features"]), names, encoding)
        if columns.n_features < 1 or (names is not None and len(set(names)) != columns.n_features):
            raise ValueError(f"it does not name {columns.n_features} different features")
        if encoding is not None and (encoding.n_features, encoding.feature_names) != columns[:2]:
            raise ValueError("its encoding is of other features")
    except DAMAGES as error:
        raise misfit(path, estimator, error) from error
    return arrays, columns, header


def misfit(path: str | os.PathLike[str], estimator: str, error: Exception) -> ModelFileError:
    """Say that the parts of a file do not belong together."""
    return ModelFileError(
        f"{path} does not fit together ({error}): it is damaged, or of another kind of estimator than {estimator}. "
        "Use another copy."
    )
