"""Cut series into windows of readings, which become rows of features."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fewratio.core.arguments import check_count
from fewratio.core.shapes import Floats
from fewratio.core.wording import write_count
from fewratio.data.column_kinds import read_days
from fewratio.data.raw_table import RawTable, as_raw
from fewratio.errors import InputError, warn

# The usual time between readings may be this many times as long in one series as in another.
_ALIKE = 1.5


class Window(NamedTuple):
    """How series are cut.

    Attributes
    ----------
    length : int
        Readings per window.
    step : int
        Readings from the start of one window to the start of the next.
    interval : float or None
        The usual time between readings in days, if there are dates.
    """

    length: int
    step: int
    interval: float | None = None

    @classmethod
    def of(cls, length: int, step: int | None, times: Sequence[Floats | None]) -> "Window":
        """Validate what a user gave, and find the time between readings of all series."""
        check_count("window", length, 2)
        check_count("step", length if step is None else step)
        found = [between for each in times if (between := find_interval(each)) is not None]
        return cls(int(length), int(length if step is None else step), float(np.median(found)) if found else None)

    @classmethod
    def of_file(cls, content: Any) -> "Window":
        """Return what a file says; raise ``ValueError`` if it is not as `of` makes it."""
        window = cls(*content)
        is_count = type(window.length) is type(window.step) is int and window.length > 1 and window.step > 0
        if not is_count or not (window.interval is None or (type(window.interval) is float and window.interval > 0)):
            raise ValueError(f"its window is {content}")
        return window

    def find(self, times: Floats | None, is_missing: NDArray[np.bool_], name: str) -> tuple[NDArray[np.intp], int]:
        """Find the windows of a series without a gap.

        Windows begin at multiples of the step: counted from 1970 where there are dates, so that those of all series
        begin at the same time of the day, otherwise from the first reading.

        Parameters
        ----------
        times : ndarray of shape (n,) or None
            Times of the readings, in days.
        is_missing : ndarray of bool of shape (n,)
            Which readings have a missing value.
        name : str
            Name of the series in messages.

        Returns
        -------
        (ndarray of int of shape (n_windows, length), int)
            The numbers of the readings of each, and how many windows have gaps.
        """
        order, slots = np.arange(len(is_missing)), np.arange(len(is_missing))
        between = find_interval(times)
        if self.interval is not None and between is None:
            warn(
                f"{name} has no dates, but other series have. Its windows begin at its first reading, not at the same "
                "time as theirs, and may look different for that reason alone. Add the dates."
            )
        if times is not None and self.interval is not None and between is not None:
            if not 1 / _ALIKE <= between / self.interval <= _ALIKE:
                found = f"{name} has a reading every {_write_time(between)}, others every {_write_time(self.interval)}"
                raise InputError(f"{found}; all series need the same time between readings. Resample it first.")
            order = np.argsort(times, kind="stable")
            # A jump over several readings leaves their places empty; no error of the interval adds up.
            steps = np.maximum(1, np.round(np.diff(times[order]) / self.interval)).astype(np.int64)
            slots = round(float(times[order][0]) / self.interval) + np.r_[0, np.cumsum(steps)]
        starts = np.flatnonzero((slots % self.step == 0) & (slots + self.length <= slots[-1] + 1))
        places = starts[:, None] + np.arange(self.length)
        is_whole = places[:, -1] < len(slots)
        is_whole[is_whole] = slots[places[is_whole, -1]] == slots[starts[is_whole]] + self.length - 1
        is_whole[is_whole] = ~is_missing[order[places[is_whole]]].any(1)
        if not is_whole.any():
            found = f"{name} has {write_count(len(slots), 'reading')}, and no window of {self.length} without a gap"
            at = f", from a multiple of {self.step} times {_write_time(self.interval)} on" if self.interval else ""
            raise InputError(f"{found}; one is needed{at}. Add readings, fill gaps, or learn with a shorter window.")
        return order[places[is_whole]], int((~is_whole).sum())


def as_series(X: Any, name: str) -> RawTable:
    """Read a table of readings; what has no columns has one."""
    is_flat = isinstance(X, list | tuple) and not any(map(np.ndim, X))
    if is_flat or (getattr(X, "ndim", None) == 1 and not hasattr(X, "to_frame")):
        X = np.reshape(X, (-1, 1))
    return as_raw(X, name)


def read_times(raw: RawTable, dates: Sequence[str]) -> Floats | None:
    """Return when readings were made, by a column of dates or an index of them, in days; None if nothing says it."""
    if len(dates) > 1:
        found = f"{raw.name} has several columns of dates ({', '.join(map(repr, dates))})"
        raise InputError(f"{found}; one can say when a reading was made. Drop the others.")
    times: Floats | None
    if dates and dates[0] in raw.places:
        times = raw.values(dates[0]).to_numbers("date")
    else:
        days = [None] if raw.index is None else [read_days(str(text)) for text in raw.index]
        times = None if None in days else np.array(days, dtype=np.float64)
    if times is not None and np.isnan(times).any():
        row = int(np.isnan(times).argmax())
        raise InputError(
            f"{raw.name} has no date at row {row} (counting from 0); each reading needs one. Drop such rows."
        )
    return times


def find_interval(times: Floats | None) -> float | None:
    """Return the usual time between readings, None if there is none."""
    steps = np.diff(np.unique(times)) if times is not None else np.empty(0)
    return float(np.median(steps)) if len(steps) else None


def name_features(channels: Sequence[str], length: int) -> list[str]:
    """Name what `compute_features` returns."""
    bands = [f"spectrum {first}" for first in _bands(length)]
    own = [*(f"[{place}]" for place in range(length)), " steps (mean size)", " steps (deviation)"]
    return [f"{channel}{each}" for channel in channels for each in (*own, *(f" {band}" for band in bands))]


def compute_features(windows: Floats) -> Floats:
    """Return the values of windows, the sizes of their differences, and their spectrum, all in the unit of the values.

    Parameters
    ----------
    windows : ndarray of shape (n, length, n_channels)

    Returns
    -------
    ndarray of shape (n, n_channels * (length + 2 + n_bands))
        For each channel: the values; the mean size and the deviation of the steps between them; and the amplitude in
        frequency bands from one wave per window on, each twice as wide as the last.
    """
    length = windows.shape[1]
    steps = np.diff(windows, axis=1)
    power = np.abs(np.fft.rfft(windows - windows.mean(1, keepdims=True), axis=1)) ** 2
    bands = [np.sqrt(power[:, first : 2 * first].sum(1)) / length for first in _bands(length)]
    parts = [windows, np.abs(steps).mean(1, keepdims=True), steps.std(1, keepdims=True), np.stack(bands, 1)]
    return np.concatenate(parts, axis=1).transpose(0, 2, 1).reshape(len(windows), -1)


def _bands(length: int) -> list[int]:
    """Return the first frequency of each band, in waves per window."""
    return [2**band for band in range(int(np.log2(length // 2)) + 1)]


def _write_time(days: float) -> str:
    unit, size = next(((u, s) for u, s in (("days", 1), ("h", 24), ("min", 1440)) if days * s > 0.999), ("s", 86400))
    return f"{days * size:.3g} {unit}"
