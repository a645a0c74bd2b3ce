"""Base of results, with a dictionary of plain values, a picture and a report."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fewratio.core.arguments import as_path
from fewratio.core.container import new_file, write_atomically
from fewratio.errors import MissingPackageError, ParameterError

if TYPE_CHECKING:
    from fewratio.charts.chart import Picture
    from fewratio.report.page import Report


class Reported(ABC):
    """A result with a dictionary, a picture and a report, and the settings that produced it.

    Fields are in this order: the findings, the tables, and the settings.

    Attributes
    ----------
    settings : dict
        The options that the function was called with.
    """

    settings: dict[str, Any]

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain numbers, strings and lists."""

    @abstractmethod
    def _report(self, command: str | None = None) -> "Report":
        """Return the report; `command` reproduces it, by default a call in Python."""

    @abstractmethod
    def plot(self) -> "Picture":
        """Draw the result."""

    def to_html(self, path: Any = None) -> str | None:
        """Write a report as one self-contained HTML file, which needs no network and no other file.

        Parameters
        ----------
        path : path, optional
            A file name that ends in .html; an existing file is replaced only once the new one is complete.

        Returns
        -------
        str or None
            The page if no path is given.
        """
        from fewratio.report.page import render

        if path is not None and as_path(path).suffix.lower() not in (".html", ".htm"):
            found = f"path is {str(path)!r}, but a report is an HTML file"
            raise ParameterError(f"{found}. Pass a name that ends in .html; pictures come from plot().save({path!r}).")
        page = render(self._report())
        if path is None:
            return page
        write_atomically(new_file(path, "report"), page.encode())
        return None

    def _repr_html_(self) -> str | None:
        """Return answer, picture and first tables for a notebook; None without the extra ``report``."""
        from fewratio.report.page import render_fragment

        try:
            return render_fragment(self._report(), self.plot())
        except MissingPackageError:
            return None


def make_plain(result: Any, *names: str) -> dict[str, Any]:
    """Return attributes of a result by name, as numbers, strings and lists; None for NaN, which JSON lacks."""
    return {name: _simplify(getattr(result, name)) for name in names}


def _simplify(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if hasattr(value, "_asdict"):
        return {name: _simplify(each) for name, each in value._asdict().items()}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_simplify(each) for each in value]
    return None if isinstance(value, float) and math.isnan(value) else value
