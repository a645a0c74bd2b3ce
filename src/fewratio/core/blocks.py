"""Work on a block of rows at a time, so that memory stays bounded however many there are."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fewratio.core.shapes import Floats
from fewratio.progress import OnStep

# Values per block: 32 MB as float64; and 2 MB, which fits a processor's cache, if each value is expanded.
BLOCK_VALUES, CACHED_VALUES = 2**22, 2**18
# On the way to its ratio, even a row of few features becomes a few hundred values (kernels, hidden units).
HIDDEN_VALUES = 512
# Rows of a file to read or write at once.
PIECE_ROWS = 2**16


def block_rows(row_values: int, block_values: int | None = None) -> int:
    """Return how many rows of `row_values` values fit in a block (default `BLOCK_VALUES`): at least one."""
    return max(1, (block_values or BLOCK_VALUES) // max(row_values, 1))


def row_blocks(n_rows: int, row_values: int, block_values: int | None = None) -> Iterator[slice]:
    """Divide rows of `row_values` values into blocks.

    Examples
    --------
    >>> list(row_blocks(5, row_values=10, block_values=20))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = block_rows(row_values, block_values)
    return (slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))


def in_blocks(
    of_rows: Callable[[Floats], NDArray[Any]],
    X: NDArray[Any],
    row_values: int | None = None,
    on_step: OnStep | None = None,
) -> Floats:
    """Compute a value for each row, a block of rows at a time.

    A block is a new float64 array in C order, whatever the table is: it may be in a file. By default a row counts as
    its own values plus `HIDDEN_VALUES`.
    """
    result = np.empty(len(X))
    for block in row_blocks(len(X), row_values or X.shape[1] + HIDDEN_VALUES):
        result[block] = of_rows(np.array(X[block], dtype=np.float64, order="C"))
        if on_step is not None:
            on_step(block.stop, None)
    return result
