"""Check arguments other than tables: paths, seeds, numbers, names of columns."""

import os
from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from difflib import get_close_matches
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np

from fewratio.core.shapes import Floats
from fewratio.core.wording import write_label
from fewratio.errors import InputError, ParameterError, name_parameter

# The largest 32-bit index: a larger count would only run out of memory or time.
MAX_COUNT = 2**31 - 1
# Other names in the shell and other libraries, besides counts (--permutations is n_permutations).
_WORDS = {"seed": "random_state", "model": "estimator", "label": "y", "sep": "separator", "delimiter": "separator"}
_NEAR = 0.7


def advise_names(unknown: Sequence[str], known: Sequence[str]) -> str:
    """Advise which of the known arguments unknown ones may mean.

    Examples
    --------
    >>> advise_names(["seed"], ["alpha", "random_state"]), advise_names(["x"], ["alpha"])
    ('Did you mean random_state?', 'Pass one of them.')
    """
    nearest = [
        [_WORDS[name]] if _WORDS.get(name) in known else get_close_matches(name, known, 1, _NEAR) for name in unknown
    ]
    meant = " and ".join(name for each in nearest for name in each)
    return f"Did you mean {meant}?" if meant else "Pass one of them."


def as_path(path: Any, argument: str = "path") -> Path:
    """Return a path, or raise an error if a value is not one."""
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        found = f"{argument} is {show_value(path)}"
        raise ParameterError(f"{found}; expected the path of a file or folder. Pass a string or a pathlib.Path.")
    try:
        # Also in UTF-8, in which libraries that read files expect names.
        if b"\0" in os.fsencode(path) + os.fspath(path).encode():
            raise ValueError("it holds a zero byte")
    except ValueError as error:
        # A system with ASCII names has no umlauts, and no system has half a character.
        found = f"{argument} is {os.fspath(path)!a}, which this system cannot name a file by ({error})"
        raise ParameterError(f"{found}; expected another name. Rename it, or set PYTHONUTF8=1.") from None
    return Path(path)


def as_rng(random_state: Any, argument: str = "random_state") -> np.random.Generator:
    """Return a generator for a seed, None or a generator."""
    if random_state is None or isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state)
    if isinstance(random_state, bool | np.bool_) or not isinstance(random_state, Integral) or random_state < 0:
        raise ParameterError(
            f"{name_parameter(argument)} is {show_value(random_state)}; expected a whole number of at least 0, a "
            "numpy Generator or None. Pass one of these, such as 0."
        )
    return np.random.default_rng(int(random_state))


def check_count(argument: str, value: Any, least: int = 1) -> None:
    """Refuse anything but a whole number of at least `least`."""
    is_whole = isinstance(value, Integral) and not isinstance(value, bool | np.bool_)
    if not is_whole or not least <= value <= MAX_COUNT:
        needed = f"a whole number of at least {least}" + f" and at most {MAX_COUNT}" * bool(
            is_whole and value > MAX_COUNT
        )
        raise ParameterError(f"{name_parameter(argument)} is {show_value(value)}; expected {needed}. Pass one.")


def check_number(argument: str, value: Any, low: float | int, high: float | int, needed: str) -> float:
    """Return a value as a float; refuse anything but a number strictly between two bounds."""
    number = np.nan
    if isinstance(value, Real) and not isinstance(value, bool | np.bool_):
        with suppress(OverflowError):
            number = float(value)
    if not low < number < high:
        raise ParameterError(f"{name_parameter(argument)} is {show_value(value)}; expected {needed}. Pass one.")
    return number


def check_switch(argument: str, value: Any) -> None:
    """Refuse anything but True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(
            f"{name_parameter(argument)} is {show_value(value)}; expected True or False. Pass one of them."
        )


def as_floats(argument: str, values: Any, needed: str) -> Floats:
    """Return numbers of any shape as an array of floats; refuse other values."""
    try:
        array = np.asarray(values.detach().cpu() if hasattr(values, "detach") else values)
        array = array.astype(np.float64) if array.dtype.kind in "iufO" else np.full((), np.nan)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        array = np.full((), np.nan)
    if not np.isfinite(array).all():
        raise InputError(f"{argument} is {show_value(values)}; needed {needed}. Pass finite numbers.")
    return array


def check_finite_result(what: str, *values: Any) -> None:
    """Refuse ratios or divergences that are not finite."""
    if not all(np.isfinite(each).all() for each in values):
        raise InputError(
            f"{what} is not finite: the values are too large to compute with. Rescale the columns (to about unit size, "
            'those of source datasets alike); where there is a scale, "columns" does that.'
        )


def as_names(argument: str, names: Any) -> tuple[str, ...]:
    """Return one name of a column, or several, as a tuple."""
    given = (names,) if isinstance(names, str) or not isinstance(names, Iterable) else _as_tuple(names)
    if any(name is None or isinstance(name, bool | np.bool_) or not isinstance(name, Hashable) for name in given):
        raise ParameterError(
            f"{name_parameter(argument)} is {show_value(names)}; expected names of columns. Pass a list of strings."
        )
    return tuple(map(write_label, given))


def show_value(value: Any) -> str:
    """Return a value as messages show it, in one short line."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:77]}..."


def _as_tuple(values: Iterable[Any]) -> tuple[Any, ...]:
    try:
        return tuple(values)
    except TypeError:
        # An array or tensor without an axis calls itself iterable.
        return (None,)
