"""Everything that fewratio raises on purpose.

::

    FewRatioError
    |-- InputError (ValueError)            a sample or table that cannot be used
    |   |-- MissingColumnError             ... because a named column is not in it
    |   `-- CollectionError                ... together with others, which have other columns, say
    |-- ParameterError (ValueError)        a parameter outside its range
    |-- DataFileError (ValueError)         a data file that cannot be read
    |-- DataNotFoundError (FileNotFoundError)
    |-- ModelFileError (ValueError)        not a model file, or a damaged one
    |   `-- ModelVersionError              written by a newer fewratio
    |-- MissingPackageError (ImportError)  an optional package that is not installed
    |-- TrainingError (RuntimeError)       training could not produce a usable model
    `-- NotFittedError                     lives in ``fewratio.estimators.base``: it is also scikit-learn's

Each message has three parts: what was found, what is needed, what to do.
"""


class FewRatioError(Exception):
    """Base of every error that fewratio raises on purpose."""


class InputError(FewRatioError, ValueError):
    """A sample or table that cannot be used."""


class MissingColumnError(InputError):
    """A named column is not in the table."""


class ParameterError(FewRatioError, ValueError):
    """A parameter outside its range."""


class CollectionError(InputError):
    """Tables or datasets that cannot be used together."""


class DataFileError(FewRatioError, ValueError):
    """A data file that cannot be read."""


class DataNotFoundError(FewRatioError, FileNotFoundError):
    """A data file or folder that is not there."""


class ModelFileError(FewRatioError, ValueError):
    """Not a model file of fewratio, or a damaged one."""


class ModelVersionError(ModelFileError):
    """A model file written by a newer fewratio."""


class MissingPackageError(FewRatioError, ImportError):
    """Something needs an optional package that is not installed."""


class TrainingError(FewRatioError, RuntimeError):
    """Training could not produce a usable model."""
