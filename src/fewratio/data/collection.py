"""Collections of datasets that share their features."""

from __future__ import annotations

import operator
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from typing import Any, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fewratio.core.arguments import as_path
from fewratio.core.wording import quote_list, write_count
from fewratio.data.columns import NAMES_DATASET, ColumnOptions, ColumnRules
from fewratio.data.dataset import Dataset, as_flags
from fewratio.data.encoding import Encoding, encode_together, warn_of_gaps, warn_of_left_out
from fewratio.data.non_overlapping import find_constant, leave_out_columns, leave_out_dates
from fewratio.data.raw_table import RawTable, align_labels, as_raw, check_features, freeze, open_frame
from fewratio.data.readers import files
from fewratio.data.split_table import cut_datasets
from fewratio.data.table import Table
from fewratio.data.windows import as_series
from fewratio.errors import CollectionError, InputError, ParameterError, name_parameter, warn
from fewratio.progress import track

__all__ = ["Collection", "Dataset"]


class SourceOptions(ColumnOptions, total=False):
    """Options for the tables of a collection: column options, and how to cut series into rows.

    Attributes
    ----------
    window : int
        Number of readings of a series per row, which has their values, the sizes of their differences and their
        spectrum as features. By default, series are not cut.
    step : int
        Readings from the start of one window to the start of the next; by default windows do not overlap. Rows of
        overlapping windows are not independent, which tests and intervals assume.
    """

    window: int
    step: int


# The most datasets that a notebook shows.
_SHOWN = 10


@dataclass(frozen=True, eq=False, repr=False)
class Collection:
    """Datasets that share their features; immutable.

    Parameters
    ----------
    name : str
    datasets : iterable of Dataset
        At least one, all with the same number of features and with different names.
    feature_names : sequence of str or None
    encoding : Encoding or None
        How the columns of the original tables became numbers; None if they were numbers. Models that learn from the
        collection apply it to other tables.

    Examples
    --------
    >>> collection = Collection.from_arrays({"a": [[1, 2], [3, 4]], "b": [[5, 6]]})
    >>> collection
    Collection('collection', 2 datasets of 1 to 2 rows, 2 features)
    >>> collection["b"].X
    array([[5., 6.]])
    >>> collection[:1].names
    ('a',)
    """

    name: str
    datasets: Sequence[Dataset]
    feature_names: Sequence[str] | None = None
    encoding: Encoding | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "datasets", tuple(self.datasets))
        if self.feature_names is not None:
            object.__setattr__(self, "feature_names", tuple(self.feature_names))
        label = f"collection {self.name!r}"
        if not self.datasets:
            raise CollectionError(f"{label} has no datasets; at least one is needed. Pass some.")
        first = f"dataset {self.datasets[0].name!r}"
        for dataset in self.datasets:
            check_features(f"dataset {dataset.name!r}", dataset.n_features, first, self.n_features, CollectionError)
        for what, names in (("datasets", self.names), ("features", self.feature_names or ())):
            _check_different(label, what, names)
        if self.feature_names is not None and len(self.feature_names) != self.n_features:
            n_names = write_count(len(self.feature_names), "feature name")
            found = f"{label} got {n_names} but its datasets have {write_count(self.n_features, 'feature')}"
            raise CollectionError(f"{found}; one name per feature is needed. Pass all of them or None.")

    @classmethod
    def from_arrays(
        cls,
        arrays: Iterable[Any] | Mapping[Any, Any],
        names: Iterable[object] | None = None,
        groups: Iterable[str | None] | None = None,
        outliers: Iterable[ArrayLike | None] | None = None,
        name: str = "collection",
        **options: Unpack[SourceOptions],
    ) -> Collection:
        """Make a collection from one array per dataset.

        Parameters
        ----------
        arrays : iterable of array-like of shape (n_i, d), or a mapping from names to them
            Arrays of numbers, or data frames with columns of any kind. Data frames need the same columns; their order
            may differ.
        names : iterable of str, optional
            Names of the datasets; by default "0", "1", and so on, or the keys of a mapping.
        groups : iterable of str or None, or a mapping or series by the names of the datasets, optional
        outliers : iterable of array-like of shape (n_i,), optional
            Which rows are known outliers (booleans, or 0 and 1); None for datasets without marks. A pandas series is
            aligned by its index.
        name : str
            Name of the collection.
        **options
            What to do with columns of data frames: `columns`, `drop`, `keep`, `id`, `categorical`, `numeric`, `common`.
            Or how to cut series into rows: `window` and `step` (`fewratio.data.SourceOptions`).

        Examples
        --------
        >>> Collection.from_arrays([[[1.0], [2.0]], [[3.0]]], names=["old", "new"])["new"]
        Dataset('new', 1 row, 1 feature)
        """
        if open_frame(arrays, "arrays") is not None:
            raise InputError("arrays is one table; expected one per dataset. Use from_frame for a long table.")
        if isinstance(arrays, Mapping):
            if names is not None:
                raise ParameterError("names is given, but the keys of arrays are the names. Leave names out.")
            names, arrays = arrays.keys(), arrays.values()
        members = _as_list(arrays, "arrays", "one table per dataset")
        nothing = [None] * len(members)
        labels = _fill_values(names, range(len(members)), "names")
        groups, outliers = (
            _fill_values(_order_by_name(each, labels, argument), nothing, argument)
            for each, argument in ((groups, "groups"), (outliers, "outliers"))
        )
        _check_different(f"collection {name!r}", "datasets", map(str, labels))
        tables = {f"dataset {str(label)!r}": X for label, X in zip(labels, members, strict=True)}
        if not tables:
            return cls(name, ())
        flags = [
            None if each is None else align_labels(each, X, f"outliers of {called}", called)
            for (called, X), each in zip(tables.items(), outliers, strict=True)
        ]
        encoding, encoded, flags = _encode_tables(tables, options, flags)
        datasets = [
            Dataset(str(label), group, table.numbers, marks)
            for label, table, group, marks in zip(labels, encoded, groups, flags, strict=True)
        ]
        return cls(name, datasets, encoded[0].feature_names, encoding)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        dataset: str,
        group: str | None = None,
        outlier: str | None = None,
        name: str = "collection",
        **options: Unpack[SourceOptions],
    ) -> Collection:
        """Make a collection from one long table, in which a column names the dataset of each row.

        Parameters
        ----------
        frame : pandas, polars or pyarrow table
            Columns not named below are features.
        dataset : str
            The column that names the dataset. Datasets come in order of first appearance.
        group : str, optional
            The column that names the group; it must be constant within a dataset.
        outlier : str, optional
            The column that marks known outliers (booleans, or 0 and 1).
        name : str
            Name of the collection.
        **options
            What to do with columns: `columns`, `drop`, `keep`, `id`, `categorical`, `numeric`, `common`, or the
            `encoding` of another collection (`fewratio.ColumnOptions`).

        Examples
        --------
        >>> import polars as pl
        >>> frame = pl.DataFrame({"site": list("xyxy"), "height": [1.5, 2.0, 3.5, 1.0], "sort": list("abba")})
        >>> sites = Collection.from_frame(frame, dataset="site")
        >>> sites.feature_names
        ('height', 'sort=a', 'sort=b')
        >>> sites["x"].X.tolist()
        [[1.5, 1.0, 0.0], [3.5, 0.0, 1.0]]
        """
        if not isinstance(frame, RawTable) and open_frame(frame, "frame") is None:
            found = f"frame is a {type(frame).__name__}"
            raise InputError(f"{found}; expected a pandas, polars or pyarrow table. Use from_arrays for arrays.")
        raw = as_raw(frame, "frame")
        features, parts, flags = cut_datasets(raw, dataset, group, outlier)
        if options.get("window") is not None:
            labels, groups, rows_of = zip(*parts, strict=True)
            tables = [features.take(rows) for rows in rows_of]
            marks = None if flags is None else [flags[rows] for rows in rows_of]
            return cls.from_arrays(tables, labels, groups, marks, name, **options)
        encoding, (table,), _ = _encode_tables({raw.name: features}, options, [], [rows for _, _, rows in parts])
        datasets = [
            Dataset(label, member_of, freeze(table.numbers[rows]), None if flags is None else flags[rows])
            for label, member_of, rows in parts
        ]
        return cls(name, datasets, table.feature_names, encoding)

    @classmethod
    def from_table(
        cls,
        path: str | os.PathLike[str],
        dataset: str,
        group: str | None = None,
        outlier: str | None = None,
        name: str | None = None,
        *,
        separator: str | None = None,
        decimal: str = ".",
        header: bool | None = None,
        **options: Unpack[SourceOptions],
    ) -> Collection:
        r"""Make a collection from one long table in a file, in which a column names the dataset of each row.

        Parameters
        ----------
        path : str or path
            A CSV or TSV file, plain or compressed, or a Parquet, Arrow, JSON lines or Excel file.
        dataset, group, outlier, **options
            As in `from_frame`.
        name : str, optional
            Name of the collection; by default the file name without its ending.
        separator, decimal, header : optional
            As in `from_folder`.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "sites.csv"
        >>> _ = path.write_text("site,height\nx,1\ny,2\nx,3\n")
        >>> Collection.from_table(path, dataset="site")
        Collection('sites', 2 datasets of 1 to 2 rows, 1 feature)
        """
        file = files.find_file(as_path(path), files.TABLES, separator, decimal, header)
        # Read as text: "01" is not "1", and "NA" may be a name.
        raw = files.read_raw(file, [column for column in (dataset, group) if column is not None])
        return cls.from_frame(raw, dataset, group, outlier, name or file.name, **options)

    @classmethod
    def from_folder(
        cls,
        path: str | os.PathLike[str],
        outlier: str | None = None,
        name: str | None = None,
        *,
        separator: str | None = None,
        decimal: str = ".",
        header: bool | None = None,
        **options: Unpack[SourceOptions],
    ) -> Collection:
        r"""Make a collection from a folder of data files, one dataset per file.

        The name of a dataset is the file name without its ending, and its group is the sub-folder of the file. If a
        name occurs in several sub-folders, datasets are named by their path below the folder.

        Parameters
        ----------
        path : str or path
            CSV and TSV files (also ``.csv.gz`` and the like), Parquet, Arrow, JSON lines, Excel, ``.npy`` and ``.npz``
            files. All need the same columns; their order may differ. Arrays have two axes; an ``.npz`` file contains
            one array, or ``X`` and ``is_outlier``.
        outlier : str, optional
            The column that marks known outliers (booleans, or 0 and 1).
        name : str, optional
            Name of the collection; by default that of the folder.
        separator, decimal : str, optional
            Column separator of text files (detected by default), and their decimal mark.
        header : bool, optional
            Whether the first line of text files names the columns; detected by default.
        **options
            As in `from_frame`.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "monday.csv").write_text("height,width\n1,2\n3,4\n")
        >>> Collection.from_folder(folder, name="week")
        Collection('week', 1 dataset of 2 rows, 2 features)
        """
        folder = as_path(path)
        marks: dict[str, Any] = {"separator": separator, "decimal": decimal, "header": header}
        found = files.settle_layouts([replace(file, **marks) for file in files.find_table_files(folder)])
        reading = track(found, len(found), "reading", unit="files")
        tables, flags = zip(*(files.read_with_flags(file, outlier) for file in reading), strict=True)
        names, groups = [file.name for file in found], [file.group for file in found]
        return cls.from_arrays(tables, names, groups, flags, name or folder.resolve().name, **options)

    def __len__(self) -> int:
        return len(self.datasets)

    def __iter__(self) -> Iterator[Dataset]:
        return iter(self.datasets)

    def __contains__(self, item: object) -> bool:
        return item in self._position if isinstance(item, str) else item in self.datasets

    @overload
    def __getitem__(self, key: str | int | np.integer[Any]) -> Dataset: ...
    @overload
    def __getitem__(self, key: slice | Sequence[int] | NDArray[Any]) -> Collection: ...
    def __getitem__(self, key: Any) -> Dataset | Collection:
        if isinstance(key, str):
            if key not in self._position:
                raise KeyError(f"collection {self.name!r} has no dataset {key!r}; it has {quote_list(self.names)}")
            return self.datasets[self._position[key]]
        if isinstance(key, slice):
            return replace(self, datasets=self.datasets[key])
        if np.ndim(key) == 0:
            return self.datasets[operator.index(key)]
        places = np.asarray(key)
        if places.dtype == np.bool_:
            places = np.flatnonzero(_fill_values(places, self.datasets, "a boolean index"))
        return replace(self, datasets=[self[place] for place in places.tolist()])

    def __repr__(self) -> str:
        return f"Collection({self.name!r}, {self.summary})"

    def _repr_html_(self) -> str:
        """Return a table of the first datasets for a notebook."""
        rows = [(each.name, each.group or "", len(each)) for each in self.datasets[:_SHOWN]]
        cells = ["".join(f"<td>{escape(str(cell))}</td>" for cell in row) for row in rows]
        heading = "".join(f"<th scope='col'>{name}</th>" for name in ("dataset", "group", "rows"))
        body = "".join(f"<tr>{row}</tr>" for row in cells)
        more = f"<p>and {len(self) - _SHOWN} more</p>" if len(self) > _SHOWN else ""
        about = f"<p><strong>{escape(self.name)}</strong>: {self.summary}</p>"
        return f"{about}<table><thead><tr>{heading}</tr></thead><tbody>{body}</tbody></table>{more}"

    @property
    def summary(self) -> str:
        """Numbers of datasets, rows, features and groups, in words."""
        low, high = self.sizes.min(), self.sizes.max()
        rows = write_count(low, "row") if low == high else f"{low} to {high} rows"
        n_groups = len(set(self.groups) - {None})
        groups = f", {write_count(n_groups, 'group')}" if n_groups else ""
        return f"{write_count(len(self), 'dataset')} of {rows}, {write_count(self.n_features, 'feature')}{groups}"

    @property
    def n_features(self) -> int:
        """Number of features of every dataset."""
        return self.datasets[0].n_features

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Name of each dataset."""
        return tuple(dataset.name for dataset in self.datasets)

    @cached_property
    def groups(self) -> tuple[str | None, ...]:
        """Group of each dataset."""
        return tuple(dataset.group for dataset in self.datasets)

    @property
    def sizes(self) -> NDArray[np.intp]:
        """Number of rows of each dataset."""
        return np.array([len(dataset) for dataset in self.datasets], dtype=np.intp)

    @cached_property
    def _position(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names)}


def _encode_tables(
    tables: Mapping[str, Any],
    options: SourceOptions,
    flags: list[Any],
    parts: Sequence[NDArray[np.intp]] | None = None,
) -> tuple[Encoding | None, list[Table], list[Any]]:
    """Encode the tables of datasets, or one table that consists of `parts`; no encoding if nothing needs it.

    If the tables are series, their windows are encoded; a window is an outlier if any of its readings is.
    """
    columns: Any = dict(options)
    length, step = columns.pop("window", None), columns.pop("step", None)
    if length is None and step is not None:
        raise ParameterError("step is given without window; it says how far windows are apart. Pass both, or none.")
    rules = ColumnRules.of(columns)
    if length is not None:
        tables = {name: as_series(X, name).hold_in_memory() for name, X in tables.items()}
    encoding, encoded = encode_together(tables, rules, parts)
    if encoding is None and length is None:
        return None, encoded, flags
    encoding = encoding or Encoding.of_numbers(None, encoded[0].n_features)
    if rules.encoding is None:
        encoding, encoded = leave_out_dates(encoding, encoded, rules.keep, all_dates=True)
        samples = _rows(encoded, parts)
        constant = [name for name in find_constant(encoding, samples) if name not in rules.keep]
        own = [name for name in constant if len(samples) > 2 and _has_own_values(samples, encoding.places[name])]
        # With two datasets, a column that names them cannot be distinguished from a measured one.
        if own and len(own) < len(encoding.used):
            warn_of_left_out(dict.fromkeys(own, NAMES_DATASET))
            encoding, encoded = leave_out_columns(encoding, encoded, own, NAMES_DATASET)
            constant = [name for name in constant if name not in own]
        if constant:
            separates, it = "it separates the datasets by itself", "it"
            if len(constant) > 1:
                separates, it = "they separate the datasets by themselves", "them"
            use = name_parameter("drop", ",".join(constant), f"drop={constant!r}")
            found = f"Each dataset has one value in {quote_list(constant)}, so {separates}"
            warn(f"{found}. To leave {it} out, choose {use}.")
    if length is not None:
        series = list(tables.values())
        encoding = Encoding.learn_windows(encoding, series, length, step)
        rows, places, n_gaps = zip(*map(encoding.cut_series, series), strict=True)
        warn_of_gaps("the datasets", sum(n_gaps))
        encoded = [encoding.encode(each) for each in rows]
        marks = [each if each is None else as_flags(each, "outliers") for each in flags]
        flags = [each if each is None else each[rows].any(1) for each, rows in zip(marks, places, strict=True)]
    is_needed = encoding.has_medians or not encoding.is_identity or encoding.window is not None
    return encoding if is_needed else None, encoded, flags


def _has_own_values(samples: Sequence[NDArray[Any]], place: slice) -> bool:
    """Return whether a column is constant within each of several samples, and different between them."""
    return len({tuple(sample[0, place].tolist()) for sample in samples}) == len(samples)


def _rows(tables: Sequence[Table], parts: Sequence[NDArray[np.intp]] | None) -> list[NDArray[Any]]:
    """Return the rows of each dataset."""
    return [table.numbers for table in tables] if parts is None else [tables[0].numbers[part] for part in parts]


def _check_different(collection: str, what: str, names: Iterable[str]) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        found = f"{collection} has several {what} named {quote_list(repeated)}"
        raise CollectionError(f"{found}; each needs a name of its own. Rename them.")


def _as_list(values: Any, argument: str, needed: str) -> list[Any]:
    """Return a user's argument as a list, or raise an error if it is not iterable."""
    try:
        if isinstance(values, str | bytes):
            raise TypeError
        return list(values)
    except TypeError:
        found = f"{argument} is a {type(values).__name__}"
        raise ParameterError(f"{found}; expected {needed}. Pass a list.") from None


def _order_by_name(values: Any, names: Sequence[object], argument: str) -> Any:
    """Return values in the order of the datasets; a mapping, or a series with names as index, is read by name."""
    is_series = hasattr(values, "index") and hasattr(values, "items") and type(values.index).__name__ != "RangeIndex"
    if not is_series and not isinstance(values, Mapping):
        return values
    named = {str(name): value for name, value in values.items()}
    if named.keys() != set(map(str, names)):
        found = f"{argument} are of {quote_list(named)}, but the datasets are {quote_list(map(str, names))}"
        raise ParameterError(
            f"{found}; expected one per dataset, by its name. Pass those, or a list to go by position."
        )
    return [named[str(name)] for name in names]


def _fill_values(values: Iterable[Any] | None, default: Sequence[Any], argument: str) -> list[Any]:
    """Return one value per dataset, the defaults if there are none."""
    result = _as_list(default if values is None else values, argument, "one per dataset")
    if len(result) != len(default):
        found = f"{argument} has length {len(result)} but there are {write_count(len(default), 'dataset')}"
        raise ParameterError(f"{found}; one per dataset is needed. Pass as many as there are datasets.")
    return result
