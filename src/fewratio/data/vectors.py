"""Turn columns into vectors with the user's functions."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from fewratio.data import arrow as pa
from fewratio.data.column_kinds import is_missing
from fewratio.data.raw_table import RawTable, as_raw, open_frame
from fewratio.errors import InputError, ParameterError
from fewratio.progress import progress_bar

# The most values per call.
_BATCH = 64


def encode_cells(X: Any, name: str, encoder: Mapping[str, Callable[[list[Any]], Any]], show: bool | None) -> RawTable:
    """Return a table in which some columns are vectors, made of their values by the functions of `encoder`.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_columns)
    name : str
        Name of the table in messages.
    encoder : mapping of str to callable
        For each column, a function that turns a list of values into as many vectors.
    show : bool or None
        Whether to show a progress bar.
    """
    if not isinstance(encoder, Mapping) or not all(map(callable, encoder.values())):
        raise ParameterError("encoder is not a dict of functions; expected one by the name of its column. Pass that.")
    raw, frame = as_raw(X, name), open_frame(X, name)
    raw.check_has(list(encoder))
    columns = {label: raw.column(label) for label in raw.labels if label not in encoder}
    for label, turn in encoder.items():
        if frame is not None:
            cells = frame.get_column(label).to_list()
        else:
            cells = list(X[label]) if isinstance(X, Mapping) else raw.cells(label)
        held = [place for place, cell in enumerate(cells) if not is_missing(cell)]
        vectors: list[Any] = [None] * len(cells)
        with progress_bar(len(held), f"vectors of {label}", show) as report:
            for start in range(0, len(held), _BATCH):
                places = held[start : start + _BATCH]
                made = turn([cells[place] for place in places])
                try:
                    found = np.asarray(made)
                except ValueError as error:
                    problem = f"the encoder of {label!r} made vectors of different lengths"
                    raise InputError(
                        f"{problem}; expected as many numbers for each value. Fix the function."
                    ) from error
                if found.ndim != 2 or len(found) != len(places) or found.dtype.kind not in "biuf":
                    problem = f"the encoder of {label!r} made an array of shape {found.shape} of {len(places)} values"
                    raise InputError(f"{problem}; expected one vector of numbers per value. Fix the function.")
                for place, vector in zip(places, found.astype(np.float64), strict=True):
                    vectors[place] = vector
                report(start + len(places), None)
        columns[label] = pa.array(vectors, pa.list_(pa.float64()))
    data = pa.Table.from_arrays([columns[label] for label in raw.labels], names=raw.labels)
    return replace(raw, data=data)
