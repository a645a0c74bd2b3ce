"""Save learned estimators to files of arrays with a JSON header, and check these files."""

import os
from abc import abstractmethod
from numbers import Integral
from typing import Any, ClassVar, Self

from fewratio.core.container import Arrays, Fields, Stored, check_fields
from fewratio.data.encoding import Encoding
from fewratio.estimators.base import NotFittedError
from fewratio.estimators.source_columns import SourceColumns, SourceEstimator


def select_stored(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters to store in a file; random generators are left out."""
    state = parameters.get("random_state")
    return parameters if isinstance(state, Integral | None) else parameters | {"random_state": None}


def make_header(estimator: str, columns: SourceColumns | None, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the header of an estimator of this name, with the columns of its sources."""
    assert columns is not None
    return {"estimator": estimator, "parameters": select_stored(parameters), **write_source_columns(columns)}


def write_source_columns(columns: SourceColumns) -> dict[str, Any]:
    """Return the fields of a header that `read_source_columns` reads."""
    return {
        "n_features": columns.n_features,
        "feature_names": None if columns.names is None else list(columns.names),
        "encoding": None if columns.encoding is None else columns.encoding.to_dict(),
    }


def read_source_columns(header: dict[str, Any]) -> SourceColumns:
    """Return the columns of a header; raise ``ValueError`` if they do not fit together."""
    optional = type(None)
    check_fields(header, {"n_features": (int,), "feature_names": (list, optional), "encoding": (dict, optional)})
    n_features, names = header["n_features"], header["feature_names"]
    if n_features < 1:
        raise ValueError(f"its number of features is {n_features}")
    if names is not None:
        if not len(names) == len(set(map(str, names))) == n_features or not all(type(name) is str for name in names):
            raise ValueError(f"its names of features are not {n_features} different names")
        names = tuple(names)
    encoding = None if header["encoding"] is None else Encoding.from_dict(header["encoding"])
    if encoding is not None and (encoding.n_features, encoding.feature_names) != (n_features, names):
        raise ValueError("its encoding is of other features")
    return SourceColumns(n_features, names, encoding)


def join_parts(parts: list[Arrays]) -> Arrays:
    """Return the arrays of several estimators as those of one file."""
    return {f"{number}.{name}": array for number, part in enumerate(parts) for name, array in part.items()}


def select_part(arrays: Arrays, number: int) -> Arrays:
    """Return the arrays of one of the estimators that were joined."""
    prefix = f"{number}."
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


class SavedEstimator(Stored, SourceEstimator):
    """Base of estimators that can save what they have learned, without the sources; see `Stored` and `_restore`."""

    _kind = "model"
    _fields: ClassVar[Fields] = {"estimator": (str,), "parameters": (dict,)}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the learned model to a safetensors file with a JSON header and a checksum.

        The file contains neither the sources nor the samples passed to `fit`.

        Parameters
        ----------
        path : path
            Path of the file; an existing file is replaced once the new one is complete.
        """
        if not self.has_sources:
            raise NotFittedError("There is no trained model to save. Call pretrain(collection) first.")
        super().save(path)

    @classmethod
    def _of_payload(cls, arrays: Arrays, header: dict[str, Any], **changes: Any) -> Self:
        if header["estimator"] != cls.__name__:
            raise TypeError(f"it holds a {header['estimator']}")
        estimator = cls(**(cls._parameters_of(header) | changes))
        estimator._check_parameters()
        estimator._restore(arrays, header)
        return estimator

    @staticmethod
    def _parameters_of(header: dict[str, Any]) -> dict[str, Any]:
        """Return the parameters in a header."""
        return dict(header["parameters"])

    @abstractmethod
    def _restore(self, arrays: Arrays, header: dict[str, Any]) -> None:
        """Restore the output of `_payload`."""


class LearnedEstimator(SavedEstimator):
    """Base of saved estimators that cannot be used without sources."""

    model_: Any
    # Numbers of sources and of their rows, and the epsilon of their differential privacy, if known.
    n_sources_: int | None = None
    n_rows_: int | None = None
    epsilon_: float | None = None

    def _of_sources(self) -> dict[str, Any]:
        """Return the fields of a header that describe the sources."""
        return {"n_sources": self.n_sources_, "n_rows": self.n_rows_, "epsilon": self.epsilon_}

    def _restore_of_sources(self, header: dict[str, Any]) -> None:
        """Undo `_of_sources`."""
        counts, epsilon = (header["n_sources"], header["n_rows"]), header["epsilon"]
        if not all(count is None or (type(count) is int and count > 0) for count in counts):
            raise ValueError(f"its numbers of sources and rows are {counts}")
        self.n_sources_, self.n_rows_ = counts
        self.epsilon_ = None if epsilon is None else float(epsilon)

    def _learned(self) -> Any:
        """Return the learned model, or raise an error if there is none."""
        if not self.has_sources:
            name = type(self).__name__
            raise NotFittedError(
                f"This {name} has learned nothing yet. Call pretrain(collection) with related datasets, or load a "
                f"model with {name}.load(path)."
            )
        return self.model_

    def _read(self, *args: Any, **kwargs: Any) -> Any:
        # Check for a model first, which defines how to read the samples.
        self._learned()
        return super()._read(*args, **kwargs)
