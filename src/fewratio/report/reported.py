"""What results that have a report share."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from fewratio.errors import MissingPackageError

if TYPE_CHECKING:
    from fewratio.charts.chart import Picture
    from fewratio.report.page import Report


class Reported(ABC):
    """A result that can be written as a report."""

    @abstractmethod
    def _report(self, command: str | None = None) -> "Report":
        """Return the report; `command` is what makes it again, by default a call in Python."""

    @abstractmethod
    def plot(self) -> "Picture":
        """Draw the result."""

    def to_html(self, path: Any = None) -> str | None:
        """Write a report as one HTML file that needs nothing else: no network, and no other file.

        Parameters
        ----------
        path : path, optional
            Where to; an existing file is replaced only once the new one is complete.

        Returns
        -------
        str or None
            The page if no path is given.
        """
        from fewratio.report.page import write

        return write(self._report(), path)

    def _repr_html_(self) -> str | None:
        """Return answer, picture and first tables for a notebook; None without the extra ``report``."""
        from fewratio.report.page import render_fragment

        try:
            return render_fragment(self._report(), self.plot())
        except MissingPackageError:
            return None
