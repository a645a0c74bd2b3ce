"""What a user can say about the columns of tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np

from fewratio.core.arguments import as_names, shown
from fewratio.data.columns import listed
from fewratio.errors import ParameterError


class ColumnOptions(TypedDict, total=False):
    """What can be said about columns, in the same words wherever tables are taken.

    Attributes
    ----------
    columns : str or sequence of str
        The only columns to use.
    drop : str or sequence of str
        Columns not to use.
    keep : str or sequence of str
        Columns to use although they look like ids or tell the samples apart by themselves.
    id : str
        The column that names the rows.
    categorical : str or sequence of str
        Columns of categories, whatever they look like; ``"error"`` refuses every column that is not numbers.
    numeric : str or sequence of str
        Columns of numbers, whatever they look like.
    common : bool
        Whether columns that not all tables have are left out, instead of refused.
    encoding : Encoding
        What becomes of the columns, decided before from other tables; of the options above only `keep` goes with it.

    Examples
    --------
    >>> import polars as pl
    >>> from fewratio import Collection, ColumnOptions
    >>> options: ColumnOptions = {"id": "bottle", "categorical": "year"}
    >>> table = pl.DataFrame({"bottle": ["a", "b", "c"], "year": [2001, 2001, 2004], "size": [1.0, 2.5, 2.0]})
    >>> Collection.from_arrays({"monday": table}, **options).encoding.summary
    '3 columns: 1 category, 1 number, 1 left out (bottle: id)'
    """

    columns: str | Sequence[str]
    drop: str | Sequence[str]
    keep: str | Sequence[str]
    id: str
    categorical: str | Sequence[str]
    numeric: str | Sequence[str]
    common: bool
    # To name the type would be to import in a circle.
    encoding: Any


@dataclass(frozen=True)
class ColumnRules:
    """The same options, validated."""

    columns: tuple[str, ...] | None = None
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    id: str | None = None
    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    common: bool = False
    only_numbers: bool = False
    encoding: Any = None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> ColumnRules:
        """Return the rules that a user's options make."""
        given = {name: value for name, value in options.items() if value is not None}
        unknown = sorted(set(given) - ColumnOptions.__annotations__.keys())
        if unknown:
            known = ", ".join(ColumnOptions.__annotations__)
            raise ParameterError(f"{listed(unknown)} is no option for columns; those are {known}. Pass one of them.")
        # An encoding does not say whether columns that separate are kept.
        besides = sorted(set(given) - {"encoding", "keep"})
        if "encoding" in given and besides:
            found = f"encoding is given, and {listed(besides)} besides"
            raise ParameterError(f"{found}; an encoding says what becomes of all columns. Pass only one of the two.")
        if isinstance(given.get("categorical"), str) and given["categorical"] == "error":
            given |= {"categorical": (), "only_numbers": True}
        for name in given.keys() & {"columns", "drop", "keep", "categorical", "numeric"}:
            given[name] = as_names(name, given[name])
        for name, kind in {"id": str, "common": bool | np.bool_}.items():
            if name in given and not isinstance(given[name], kind):
                needed = "the name of a column" if kind is str else "True or False"
                raise ParameterError(f"{name} is {shown(given[name])}; needed is {needed}. Pass that.")
        rules = cls(**given)
        if both := sorted(set(rules.categorical) & set(rules.numeric)):
            found = f"{listed(both)} is in categorical= and in numeric="
            raise ParameterError(f"{found}; a column is one or the other. Name it once.")
        return rules

    @property
    def named(self) -> tuple[str, ...]:
        """All columns that are named, each of which must exist."""
        ids = () if self.id is None else (self.id,)
        return (*(self.columns or ()), *self.drop, *self.keep, *ids, *self.categorical, *self.numeric)
