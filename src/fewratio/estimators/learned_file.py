"""Estimators whose learned model is arrays and a JSON header: their files, and the checks of these."""

import os
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any, Self

from fewratio.core.container import Arrays, read_tensors, write_tensors
from fewratio.data.encoding import Encoding
from fewratio.errors import ModelFileError
from fewratio.estimators.base import NotFittedError
from fewratio.estimators.source_columns import SourceColumns, SourceEstimator


def stored(parameters: dict[str, Any]) -> dict[str, Any]:
    """Give the parameters that a file keeps: a generator has moved on since, and means nothing elsewhere."""
    state = parameters.get("random_state")
    return parameters if isinstance(state, Integral | None) else parameters | {"random_state": None}


def header_of(estimator: str, columns: SourceColumns | None, parameters: dict[str, Any]) -> dict[str, Any]:
    """Give the header of an estimator of this name, with the columns of its sources."""
    assert columns is not None
    return {
        "estimator": estimator,
        "parameters": stored(parameters),
        "n_features": columns.n_features,
        "feature_names": None if columns.names is None else list(columns.names),
        "encoding": None if columns.encoding is None else columns.encoding.to_dict(),
    }


def columns_of(header: dict[str, Any]) -> SourceColumns:
    """Give the columns of a header, or raise one of the errors that `refused_if_unfit` explains."""
    n_features, names = header["n_features"], header["feature_names"]
    if not isinstance(n_features, int) or n_features < 1:
        raise ValueError(f"its number of features is {n_features!r}")
    if names is not None:
        valid = isinstance(names, list) and all(isinstance(name, str) for name in names)
        if not valid or not len(names) == len(set(names)) == n_features:
            raise ValueError(f"its names of features are not {n_features} different names")
        names = tuple(names)
    # Files of the first version know of no encoding.
    encoding = None if header.get("encoding") is None else Encoding.from_dict(header["encoding"])
    if encoding is not None and (encoding.n_features, encoding.feature_names) != (n_features, names):
        raise ValueError("its encoding is of other features")
    return SourceColumns(n_features, names, encoding)


def joined(parts: list[Arrays]) -> Arrays:
    """Give the arrays of several estimators as those of one file."""
    return {f"{number}.{name}": array for number, part in enumerate(parts) for name, array in part.items()}


def part_of(arrays: Arrays, number: int) -> Arrays:
    """Give the arrays of one of the estimators that were joined."""
    prefix = f"{number}."
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


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
        if not self.has_sources:
            raise NotFittedError("There is no trained model to save. Call pretrain(collection) first.")
        write_tensors(path, "model", *self._payload())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that `save` wrote. Nothing in the file is executed.

        Parameters
        ----------
        path : path
            The file.
        """
        return cls._of_file(path, *read_tensors(path, "model", finite=True))

    @classmethod
    def _of_file(cls, path: str | os.PathLike[str], arrays: Arrays, header: dict[str, Any], **changes: Any) -> Self:
        """Give the estimator of a file that was read, with some parameters changed."""
        with refused_if_unfit(path, cls.__name__):
            return cls._of_payload(arrays, header, **changes)

    @classmethod
    def _of_payload(cls, arrays: Arrays, header: dict[str, Any], **changes: Any) -> Self:
        """Undo `_payload`, or raise one of the errors that `refused_if_unfit` explains."""
        if header["estimator"] != cls.__name__:
            raise TypeError(f"it holds a {header['estimator']}")
        estimator = cls(**(cls._parameters_of(header) | changes))
        estimator._check_parameters()
        estimator._restore(arrays, header)
        return estimator

    @staticmethod
    def _parameters_of(header: dict[str, Any]) -> dict[str, Any]:
        """Give the parameters in a header."""
        return dict(header["parameters"])

    @abstractmethod
    def _payload(self) -> tuple[Arrays, dict[str, Any]]:
        """Give what was learned as arrays and a header that names the estimator and its parameters."""

    @abstractmethod
    def _restore(self, arrays: Arrays, header: dict[str, Any]) -> None:
        """Take over what `_payload` gave."""


class LearnedEstimator(SavedEstimator):
    """Base of saved estimators that are nothing without sources."""

    model_: Any
    # Numbers of sources and of their rows, and the epsilon of their privacy, as far as they are known.
    n_sources_: int | None = None
    n_rows_: int | None = None
    epsilon_: float | None = None

    def _of_sources(self) -> dict[str, Any]:
        """Give what a header says of the sources."""
        return {"n_sources": self.n_sources_, "n_rows": self.n_rows_, "epsilon": self.epsilon_}

    def _restore_of_sources(self, header: dict[str, Any]) -> None:
        """Undo `_of_sources`; headers of older files say nothing."""
        counts, epsilon = (header.get("n_sources"), header.get("n_rows")), header.get("epsilon")
        if not all(count is None or (type(count) is int and count > 0) for count in counts):
            raise ValueError(f"its numbers of sources and rows are {counts}")
        self.n_sources_, self.n_rows_ = counts
        self.epsilon_ = None if epsilon is None else float(epsilon)

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
