"""What a user asked for, when a collection is made of tables with categories or missing values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from fewratio.data import frames
from fewratio.data.columns import listed
from fewratio.data.encoding import UNSEEN, Encoding
from fewratio.data.survey import Survey
from fewratio.data.tables import Table, as_table
from fewratio.errors import InputError, ParameterError

_REMEDIES = {
    "categorical": 'If they are categories, pass categorical="onehot".',
    "missing": 'Or pass missing="median", which replaces what is missing.',
}
_CHOICES = {"categorical": ("error", "onehot"), "missing": ("error", "median"), "unseen": UNSEEN}


@dataclass(frozen=True)
class EncodingChoice:
    """The options of `Collection.from_frame` and its like that say how columns become numbers."""

    categorical: str = "error"
    missing: str = "error"
    unseen: str = "error"
    encoding: Encoding | None = None

    def __post_init__(self) -> None:
        for option, choices in _CHOICES.items():
            if getattr(self, option) not in choices:
                raise ParameterError(
                    f"{option} is {getattr(self, option)!r}; it must be one of {listed(choices)}. Choose one."
                )
        if self.encoding is None:
            return
        if not isinstance(self.encoding, Encoding):
            raise ParameterError(
                f"encoding is a {type(self.encoding).__name__}; an Encoding is needed. Pass another collection's."
            )
        if {self.categorical, self.missing, self.unseen} != {"error"}:
            raise ParameterError(
                "An encoding is given, and categorical, missing or unseen besides; an encoding says all three. "
                "Pass only one of the two."
            )

    @property
    def learns_medians(self) -> bool:
        """Whether medians are to be learned from the rows themselves."""
        return self.missing == "median"

    def prepare(self, tables: Iterable[tuple[str, Any]]) -> Encoding | None:
        """Return the encoding of tables (name, content), still without medians; None if none was asked for.

        The tables are gone through only as far as it takes.
        """
        if self.encoding is not None or (self.categorical == "error" and not self.learns_medians):
            return self.encoding
        survey = Survey()
        for name, table in tables:
            survey.add(table, name, look=self.categorical == "onehot")
            if self.categorical == "error" and survey.names is not None:
                break
        return Encoding(survey.names, survey.categories, None, self.unseen)

    def open(self, X: Any, argument: str, encoding: Encoding | None) -> Table:
        """Return a table, encoded if an encoding was prepared, in which numbers may still be missing (NaN)."""
        if encoding is None:
            return as_table(X, argument)
        frame = frames.open_frame(X, argument) if frames.is_frame(X) else None
        if frame is not None:
            X = frames.in_order(frames.in_order(frame, encoding.names), encoding.feature_names)
        return encoding.open(X, argument, keep_missing=self.learns_medians)

    @contextmanager
    def advising(self) -> Iterator[None]:
        """Add to the error for a table that cannot be used which of these options would help."""
        try:
            yield
        except InputError as error:
            if error.remedy is None or self.encoding is not None or getattr(self, error.remedy) != "error":
                raise
            raise InputError(f"{error} {_REMEDIES[error.remedy]}") from error

    def complete(self, encoding: Encoding, arrays: Sequence[NDArray[Any]]) -> Encoding:
        """Learn the medians from the encoded rows of all datasets, and fill the gaps in them, in place."""
        if not self.learns_medians:
            return encoding
        encoding = encoding.with_medians(arrays)
        for array in arrays:
            encoding.fill(array)
        return encoding
