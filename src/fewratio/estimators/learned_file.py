"""Estimators whose learned model is arrays and a JSON header: their files, and the checks of these."""

import os
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

from fewratio.core.tensorfile import Arrays, read_tensors, write_tensors
from fewratio.data.encoding import Encoding
from fewratio.errors import ModelFileError
from fewratio.estimators.base import NotFittedError
from fewratio.estimators.source_columns import SourceColumns, SourceEstimator


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


class SavedEstimator(SourceEstimator):
    """Base of estimators that write what they have learned; a subclass gives `_payload` and `_restore`."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what was learned to a file: safetensors with a JSON header and a checksum.

        Neither sources nor the samples given to `fit` are in it.

        Parameters
        ----------
        path : path
            Where to; a file that is there is replaced once the new one is complete.
        """
        write_tensors(path, "model", *self._payload())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that `save` wrote. Nothing in the file is executed.

        Parameters
        ----------
        path : path
            The file.
        """
        arrays, header = read_tensors(path, "model", finite=True)
        with refused_if_unfit(path, cls.__name__):
            return cls._of_payload(arrays, header)

    @classmethod
    def _of_payload(cls, arrays: Arrays, header: dict[str, Any]) -> Self:
        """Undo `_payload`, or raise one of the errors that `refused_if_unfit` explains."""
        check_kind(header, cls.__name__)
        estimator = cls(**header["parameters"])
        estimator._check_parameters()
        estimator._restore(arrays, header)
        return estimator

    @abstractmethod
    def _payload(self) -> tuple[Arrays, dict[str, Any]]:
        """Give what was learned as arrays and a header that names the estimator and its parameters."""

    @abstractmethod
    def _restore(self, arrays: Arrays, header: dict[str, Any]) -> None:
        """Take over what `_payload` gave."""


class LearnedEstimator(SavedEstimator):
    """Base of saved estimators that are nothing without sources."""

    model_: Any

    def _learned(self) -> Any:
        """Give what was learned, or say that nothing was."""
        if not self.has_sources:
            name = type(self).__name__
            raise NotFittedError(
                f"This {name} has learned nothing yet. Call pretrain(collection) with related datasets, or load a "
                f"model with {name}.load(path)."
            )
        return self.model_

    def _read(self, *args: Any, **kwargs: Any) -> Any:
        # Before a sample is read: without a model it could be anything.
        self._learned()
        return super()._read(*args, **kwargs)
