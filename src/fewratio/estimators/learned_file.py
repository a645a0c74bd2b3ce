"""What files of estimators that learn from sources have in common: their header, and its checks."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fewratio.data.encoding import Encoding
from fewratio.errors import ModelFileError
from fewratio.estimators.source_columns import SourceColumns


def header_of(estimator: str, columns: SourceColumns | None, parameters: dict[str, Any]) -> dict[str, Any]:
    """Give the header of an estimator of this name, with the columns of its sources."""
    assert columns is not None
    return {
        "estimator": estimator,
        "parameters": parameters,
        "n_features": columns.n_features,
        "feature_names": None if columns.names is None else list(columns.names),
        "encoding": None if columns.encoding is None else columns.encoding.to_dict(),
    }


def columns_of(header: dict[str, Any]) -> SourceColumns:
    """Give the columns of a header, or raise one of the errors that `refused_if_unfit` explains."""
    names = None if header["feature_names"] is None else tuple(map(str, header["feature_names"]))
    encoding = None if header["encoding"] is None else Encoding.from_dict(header["encoding"])
    columns = SourceColumns(int(header["n_features"]), names, encoding)
    if columns.n_features < 1 or (names is not None and not len(names) == len(set(names)) == columns.n_features):
        raise ValueError(f"it does not name {columns.n_features} different features")
    if encoding is not None and (encoding.n_features, encoding.feature_names) != columns[:2]:
        raise ValueError("its encoding is of other features")
    return columns


def check_kind(header: dict[str, Any], estimator: str) -> None:
    """Refuse the header of another estimator's file."""
    if header["estimator"] != estimator:
        raise TypeError(f"it holds a {header['estimator']}")


@contextmanager
def refused_if_unfit(path: str | os.PathLike[str], estimator: str) -> Iterator[None]:
    """Say which file it is whose parts do not belong together."""
    try:
        yield
    except (KeyError, TypeError, ValueError, RuntimeError, AttributeError, OverflowError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(
            f"{path} does not fit together ({error}): it is damaged, or of another kind of estimator than "
            f"{estimator}. Use another copy."
        ) from error
