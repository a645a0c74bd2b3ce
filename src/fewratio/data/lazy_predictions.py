"""Predict for lazy tables: values for their rows, computed on demand."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

RowFunction = Callable[[Any], NDArray[Any]]


def predict_lazily(X: Any, of_rows: RowFunction, name: str) -> Any:
    """Compute a value for each row of a lazy table, part by part.

    Parameters
    ----------
    X : object
        A table of any kind.
    of_rows : callable
        Returns the array of values for a part in memory.
    name : str
        Name of the column of values.

    Returns
    -------
    dask Series, polars LazyFrame, pyarrow RecordBatchReader or None
        The result for a dask DataFrame, a polars LazyFrame, and a pyarrow Dataset or RecordBatchReader; None for other
        tables.
    """
    kind = type(X).__module__.partition(".")[0], type(X).__name__
    if kind in (("dask", "DataFrame"), ("dask_expr", "DataFrame")):
        return X.map_partitions(_series, of_rows, name, meta=(name, "f8"))
    if kind == ("polars", "LazyFrame"):
        import polars

        return X.map_batches(
            lambda part: polars.DataFrame({name: _values(part, of_rows)}),
            schema={name: polars.Float64},
            streamable=True,
        )
    if kind[0] == "pyarrow" and kind[1].endswith(("Dataset", "RecordBatchReader")):
        import pyarrow

        schema = pyarrow.schema([(name, pyarrow.float64())])

        def batches() -> Iterator[Any]:
            for part in X.to_batches() if hasattr(X, "to_batches") else X:
                yield pyarrow.record_batch([pyarrow.array(_values(part, of_rows))], schema=schema)

        return pyarrow.RecordBatchReader.from_batches(schema, batches())
    return None


def _series(part: Any, of_rows: RowFunction, name: str) -> Any:
    import pandas

    return pandas.Series(_values(part, of_rows), index=part.index, name=name)


def _values(part: Any, of_rows: RowFunction) -> NDArray[Any]:
    # A part may have no rows.
    return of_rows(part) if len(part) else np.empty(0)
