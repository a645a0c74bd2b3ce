"""Columns of estimators that learn from related datasets: samples must have those of the sources."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from fewratio.core.shapes import Floats
from fewratio.core.wording import write_count, write_number
from fewratio.data.collection import Collection
from fewratio.data.columns import AS_GIVEN, ColumnRules
from fewratio.data.encoding import Encoding, warn_of_left_out
from fewratio.data.raw_table import as_raw
from fewratio.data.table import Table, as_table
from fewratio.errors import CollectionError, InputError, ParameterError, name_parameter, warn
from fewratio.estimators.base import RatioEstimator

_SOURCES = "the source collection"


class SourceColumns(NamedTuple):
    """The columns of the sources.

    Attributes
    ----------
    n_features : int
        Number of encoded columns.
    names : tuple of str or None
        Names of the encoded columns.
    encoding : Encoding or None
        The encoding that turns tables into these columns.
    """

    n_features: int
    names: tuple[str, ...] | None
    encoding: Encoding | None

    @classmethod
    def of(cls, collection: Collection) -> "SourceColumns":
        """Return the columns of a collection."""
        names = None if collection.feature_names is None else tuple(collection.feature_names)
        return cls(collection.n_features, names, collection.encoding)

    def encode(
        self, X: Any, name: str, names: tuple[str, ...] | None = None, reference: str = "", sources: str = _SOURCES
    ) -> Table:
        """Validate a table and encode it like the sources.

        Parameters
        ----------
        X : array-like
        name : str
            Name of the table in messages.
        names : tuple of str, optional
            Column names of another sample, which the table must have if the sources had no names.
        reference, sources : str
            Names of that sample and of the sources in messages.
        """
        encoding = self.encoding
        if encoding is None and self.names is not None:
            encoding = Encoding.of_numbers(self.names, self.n_features)
        if encoding is not None:
            table = encoding.encode(X, name, sources, is_lenient=True)
        elif isinstance(X, Table):
            table = X
        else:
            raw = as_raw(X, name)
            table = as_table(raw.select(names) if names is not None and set(names) == set(raw.labels) else raw)
        table.check_features(self.names or self.n_features, sources)
        if self.names is None:
            table.check_features(names or self.n_features, reference)
        return replace(table, feature_names=self.names or table.feature_names)


class SourceEstimator(RatioEstimator):
    """Base of estimators with `pretrain`; after pretraining, samples are encoded like the sources.

    A subclass calls `_keep_columns` when it has learned from sources.
    """

    _source_columns: SourceColumns | None = None

    @property
    def has_sources(self) -> bool:  # type: ignore[override]
        """Whether the estimator has learned from sources."""
        return self._source_columns is not None

    # Outliers can only be found after learning from sources.
    finds_outliers = has_sources

    def _keep_columns(self, columns: SourceColumns) -> None:
        """Remember the columns of the sources, and reset the fitted attributes."""
        for name in ("ratio_", "ratio_nu_", "ratio_de_"):
            self.__dict__.pop(name, None)
        self._source_columns, self.encoding_ = columns, columns.encoding
        self._set_features(columns.n_features, columns.names)

    def _read(self, tables: Mapping[str, Any], rules: ColumnRules = AS_GIVEN) -> tuple[Encoding | None, list[Table]]:
        columns = self._source_columns
        if columns is None:
            return super()._read(tables, rules)
        if rules.given:
            named = ", ".join(name_parameter(name, "") for name in rules.given)
            raise ParameterError(
                f"{named} is given, but a model has learned what becomes of "
                "columns. Leave it out, or give it where the source collection is made."
            )
        given = dict(tables)
        if self.encoding_ is not None:
            given = {n: X if isinstance(X, Table) else self.encoding_.open(X, n) for n, X in tables.items()}
            held = {label for X in given.values() if not isinstance(X, Table) for label in X.labels}
            guessed = {name: why for name, why in self.encoding_.guessed.items() if name in held}
            warn_of_left_out(guessed, learned_from=_SOURCES)
        opened: list[Table] = []
        for name, X in given.items():
            known = (opened[0].feature_names, opened[0].name) if opened else (None, "")
            opened.append(columns.encode(X, name, *known))
        self._warn_of_unknown(opened)
        return self.encoding_, opened

    def _known_ranges(self) -> tuple[Floats, Floats] | None:
        """Return the smallest and the largest value of each feature in the sources, if they are known."""
        return None

    def _warn_of_unknown(self, tables: Sequence[Table]) -> None:
        """Warn if half of the rows of a table are farther outside the range of the sources than its width."""
        ranges = self._known_ranges()
        if ranges is None:
            return
        low, high = ranges
        for table in tables:
            rows = table.to_numpy()
            n_beyond = (np.abs(rows - np.clip(rows, low, high)) > high - low).sum(0)
            if (places := np.flatnonzero(2 * n_beyond >= len(rows))).size:
                place = int(places[0])
                name = place if table.feature_names is None else repr(table.feature_names[place])
                others = f" and {write_count(len(places) - 1, 'other column')}" * (len(places) > 1)
                known = f"{write_number(low[place])} to {write_number(high[place])}"
                n_rows = f"{n_beyond[place]} of {write_count(len(rows), 'row')}"
                warn(
                    f"{table.name} is far beyond the sources in column {name}{others}: {n_rows}, where the sources "
                    f"have {known}. What was learned may not hold there."
                )

    def _open(self, X: Any, name: str) -> Table:
        if self._source_columns is None:
            return super()._open(X, name)
        return self._source_columns.encode(X, name, self._feature_names(), self._reference)


def check_collection(given: Any, argument: str, optional: bool = False, at_least: int = 1) -> None:
    """Refuse anything but a collection of enough datasets."""
    if given is None and optional:
        return
    if not isinstance(given, Collection):
        raise InputError(
            f"{argument} is a {type(given).__name__}; a Collection of datasets is needed. Make one with "
            "Collection.from_arrays, from_frame or from_folder; give summaries to DiscriminantRatioEstimator."
        )
    if len(given) < at_least:
        raise CollectionError(
            f"collection {given.name!r} has {write_count(len(given), 'dataset')}; at least {at_least} are needed to "
            "learn how datasets differ. Add more."
        )
    if at_least > 1 and np.median(given.sizes) < 2:
        warn(
            f"Most datasets of {given.name!r} have a single row, which does not show how rows of a dataset vary. What "
            "is learned may be worse than nothing; give two or more rows per dataset."
        )
