"""New categories in a stream: rank rows by how rare their category is among all rows so far."""

import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fewratio.core.shapes import Floats
from fewratio.data.raw_table import RawTable

# Categories are hashed to this many bins; categories in the same bin count as one.
_PLACES = 1024
# The most new categories per column whose names are kept.
_MOST_NAMES = 20


class NewCategories:
    """Count the categories of the reference and of all rows so far.

    Parameters
    ----------
    columns : sequence of str
        The categorical columns.
    """

    # The arrays that change.
    kept = "n_seen", "n_known"

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = tuple(columns)
        # The number of rows per bin, of all rows so far and of the reference.
        self.n_seen, self.n_known = np.zeros((2, len(columns), _PLACES), dtype=np.int64)
        # For each column, by the name of a new category: the first row that had it, and how many did.
        self.names: list[dict[str, list[int]]] = [{} for _ in columns]

    def __len__(self) -> int:
        return len(self.columns)

    def learn(self, reference: RawTable) -> None:
        """Count the categories of the reference."""
        for column, places in enumerate(self.read(reference, 0).T):
            self.n_known[column] = np.bincount(places[places >= 0], minlength=_PLACES)
        self.n_seen, self.names = self.n_known.copy(), [{} for _ in self.columns]

    def read(self, batch: RawTable, n_rows: int) -> NDArray[np.intp]:
        """Return the bins of the categories of a batch after `n_rows`, -1 if missing; keep the names of new ones."""
        found = np.full((batch.n_rows, len(self)), -1, dtype=np.intp)
        for column, (label, names) in enumerate(zip(self.columns, self.names, strict=True)):
            if label not in batch.places:
                continue
            levels = batch.values(label).to_levels()
            places = [zlib.crc32(text.encode(errors="surrogatepass")) % _PLACES for text in levels.texts]
            found[:, column] = np.array([*places, -1])[levels.codes]
            codes, rows, sizes = np.unique(levels.codes, return_index=True, return_counts=True)
            for code, row, n in zip(codes.tolist(), rows.tolist(), sizes.tolist(), strict=True):
                is_new = code >= 0 and not self.n_known[column, places[code]]
                if is_new and (levels.texts[code] in names or len(names) < _MOST_NAMES):
                    names.setdefault(levels.texts[code], [n_rows + row, 0])[1] += n
        return found

    def rank(self, places: NDArray[np.intp], ties: Floats) -> Floats:
        """Rank each row among all rows up to it; the rarer its category, the higher the rank.

        Parameters
        ----------
        places, ties : ndarray of shape (n_rows, n_columns)
            Bins from `read`, and random numbers between 0 and 1.
        """
        ranks, columns = np.full(places.shape, np.nan), np.arange(len(self))
        # Use only occupied bins, since there are usually few categories.
        used = np.union1d(np.flatnonzero(self.n_seen.any(0)), places[places >= 0])
        n_seen = self.n_seen[:, used]
        for row, (has, own) in enumerate(zip(places >= 0, used.searchsorted(places), strict=True)):
            n_seen[columns[has], own[has]] += 1
            n_own = n_seen[columns, own][:, None]
            more, equal = ((n_seen * is_so).sum(1) for is_so in (n_seen > n_own, n_seen == n_own))
            ranks[row, has] = ((more + ties[row] * equal) / n_seen.sum(1).clip(1))[has]
        self.n_seen[:, used] = n_seen
        return ranks

    def describe(self, column: str, n_rows: int) -> str:
        """Name the most frequent new category of a column; "" if there is none."""
        names = self.names[self.columns.index(column)]
        if not names:
            return ""
        name, (first, n) = max(names.items(), key=lambda each: each[1][1])
        return f"has {name!r}, which the reference never had, in {n} of {n_rows - first} rows"
