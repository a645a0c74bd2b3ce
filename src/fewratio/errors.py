"""Errors and warnings of fewratio.

::

    FewRatioError
    |-- InputError (ValueError)            a sample or table that cannot be used
    |   |-- MissingColumnError             ... because a named column is not in it
    |   `-- CollectionError                ... together with others, for example because their columns differ
    |-- ParameterError (ValueError)        a parameter outside its range
    |-- DataFileError (ValueError)         a data file that cannot be read
    |-- DataNotFoundError (FileNotFoundError)
    |-- ModelFileError (ValueError)        not a model file, or a damaged one
    |   `-- ModelVersionError              written by a newer fewratio
    |-- MissingPackageError (ImportError)  an optional package that is not installed
    |-- TrainingError (RuntimeError)       training could not produce a usable model
    `-- NotFittedError                     lives in ``fewratio.estimators.base``: it is also scikit-learn's

Each message has three parts: what was found, what is needed, and what to do. A message names parameters with
`name_parameter`, so that Python can print the argument, the shell the option, and the page the label.
"""

import os
import re
import sys
import warnings
from collections.abc import Callable
from types import FrameType

_PACKAGE = os.path.dirname(__file__) + os.sep
_NAMED = re.compile("\x02(.*?)\x1f(.*?)\x1f(.*?)\x03", re.DOTALL)


def name_parameter(name: str, value: str | None = None, python: str | None = None) -> str:
    """Name a parameter within a message of an error or a warning.

    Parameters
    ----------
    name : str
        Python's name of the parameter.
    value : str, optional
        The value to pass; "" for any that fits.
    python : str, optional
        The text to print in Python; by default the name, or ``name=value`` with a value.

    Examples
    --------
    >>> error = ParameterError(f"{name_parameter('n_permutations')} is 3; 19 are needed. Pass more.")
    >>> print(error)
    n_permutations is 3; 19 are needed. Pass more.
    >>> error.parameter, error.write(lambda name, value: "--permutations")
    ('n_permutations', '--permutations is 3; 19 are needed. Pass more.')
    """
    shown = f"{name}={value if value == 'True' else repr(value)}" if value else name
    return f"\x02{name}\x1f{value or ''}\x1f{python or shown}\x03"


class _Message:
    """A message whose parameters can be renamed for the shell or the page."""

    args: tuple[object, ...]

    def write(self, word: Callable[[str, str], str | None]) -> str:
        """Write the message; `word` maps a parameter and a value ("" for none) to its name, or None for Python's."""
        return _NAMED.sub(lambda found: word(found[1], found[2]) or found[3], str(self.args[0]) if self.args else "")

    def __str__(self) -> str:
        return self.write(lambda name, value: None)

    @property
    def parameter(self) -> str | None:
        """The parameter that the message names first, if any."""
        found = _NAMED.search(str(self.args[0])) if self.args else None
        return found[1] if found else None


class FewRatioWarning(_Message, UserWarning):
    """A warning whose message names parameters."""


class LeftOutWarning(FewRatioWarning):
    """Columns that are left out automatically, since they cannot be measurements. Commands name them in answers."""


def warn(message: str, category: type[Warning] = FewRatioWarning) -> None:
    """Warn at the line of user code that called the library."""
    frame: FrameType | None = sys._getframe()
    caller = frame
    while frame is not None:
        if frame.f_code.co_filename.startswith(_PACKAGE):
            caller = frame.f_back or frame
        frame = frame.f_back
    assert caller is not None
    registry = caller.f_globals.setdefault("__warningregistry__", {})
    module = caller.f_globals.get("__name__")
    warnings.warn_explicit(category(message), None, caller.f_code.co_filename, caller.f_lineno, module, registry)


class FewRatioError(_Message, Exception):
    """Base class of all errors of fewratio.

    Attributes
    ----------
    parameter : str or None
        Python name of the parameter that the message is about, if any.

    Examples
    --------
    >>> import fewratio
    >>> try:
    ...     fewratio.compare_datasets([[1.0]], 3)
    ... except fewratio.FewRatioError as error:
    ...     print(error)
    B is a ...; expected a table with one row per instance and one column per feature. ...
    """


class InputError(FewRatioError, ValueError):
    """A sample or table that cannot be used.

    Examples
    --------
    >>> from fewratio import RuLSIF
    >>> RuLSIF().fit([[1.0], [2.0]], [])
    Traceback (most recent call last):
    ...
    fewratio.errors.InputError: X_de ...
    """


class MissingColumnError(InputError):
    """A named column is not in the table.

    Examples
    --------
    >>> import polars as pl
    >>> from fewratio import compare_datasets
    >>> table = pl.DataFrame({"size": [1.0, 2.0, 3.0]})
    >>> compare_datasets(table, table, drop="weight")
    Traceback (most recent call last):
    ...
    fewratio.errors.MissingColumnError: ...
    """


class ParameterError(FewRatioError, ValueError):
    """A parameter outside its range.

    Examples
    --------
    >>> from fewratio import RuLSIF
    >>> RuLSIF(alpha=2).fit([[1.0]], [[2.0]])
    Traceback (most recent call last):
    ...
    fewratio.errors.ParameterError: The 'alpha' parameter of RuLSIF must be a number in the range [0.0, 1.0). ...
    """


class CollectionError(InputError):
    """Tables or datasets that cannot be used together.

    Examples
    --------
    >>> from fewratio import RuLSIF
    >>> RuLSIF().fit([[1.0, 2.0]], [[3.0]])
    Traceback (most recent call last):
    ...
    fewratio.errors.CollectionError: X_de has 1 column but X_nu has 2; all must have the same columns. ...
    """


class DataFileError(FewRatioError, ValueError):
    r"""A data file that cannot be read.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from fewratio import Collection
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "monday.csv").write_text("size,weight\n1,2\n1,2,3\n")
    ...     Collection.from_folder(folder)
    Traceback (most recent call last):
    ...
    fewratio.errors.DataFileError: file 'monday.csv' cannot be read (line 1 has 2 fields but line 3 has 3); ...
    """


class DataNotFoundError(FewRatioError, FileNotFoundError):
    """A data file or folder that does not exist.

    Examples
    --------
    >>> from fewratio import Collection
    >>> Collection.from_folder("older_sensors")
    Traceback (most recent call last):
    ...
    fewratio.errors.DataNotFoundError: 'older_sensors' does not exist; expected a folder with one data file ...
    """


class ModelFileError(FewRatioError, ValueError):
    """Not a model file of fewratio, or a damaged one.

    Examples
    --------
    >>> import fewratio
    >>> fewratio.load_model(fewratio.__file__)
    Traceback (most recent call last):
    ...
    fewratio.errors.ModelFileError: ... seems to be text, such as a table; a model is needed. Use the right file.
    """


class ModelVersionError(ModelFileError):
    """A model file written by a newer fewratio.

    Examples
    --------
    >>> from fewratio import ModelFileError
    >>> from fewratio.errors import ModelVersionError
    >>> issubclass(ModelVersionError, ModelFileError)
    True
    """


class MissingPackageError(FewRatioError, ImportError):
    """An optional package is needed but not installed.

    Examples
    --------
    >>> from fewratio.errors import MissingPackageError
    >>> issubclass(MissingPackageError, ImportError)
    True
    """


class TrainingError(FewRatioError, RuntimeError):
    """Training could not produce a usable model.

    Examples
    --------
    >>> from fewratio.errors import TrainingError
    >>> issubclass(TrainingError, RuntimeError)
    True
    """
