"""Well-known tables whose classes are datasets."""

from collections.abc import Callable
from functools import cache

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine

from fewratio import Collection
from fewratio.data import load_collection

# Classes with fewer instances could not give two supports of ten and something to judge by.
_FEWEST = 40
_MOST_CLASSES = 10


@cache
def class_collection(name: str) -> Collection:
    """Return the classes of a table as datasets, every column standardised over the whole table."""
    X, label = _TABLES[name]()
    scale = X.std(0)
    X = (X - X.mean(0)) / np.where(scale > 0, scale, 1)
    classes = [value for value in np.unique(label) if (label == value).sum() >= _FEWEST][:_MOST_CLASSES]
    return Collection.from_arrays([X[label == value] for value in classes], names=[str(c) for c in classes], name=name)


def _diabetes() -> tuple[np.ndarray, np.ndarray]:
    """Patients in three classes, by how their disease went on."""
    X, progression = load_diabetes(return_X_y=True)
    return X, np.digitize(progression, np.quantile(progression, (1 / 3, 2 / 3)))


def _datasets(source: str) -> tuple[np.ndarray, np.ndarray]:
    """Take the datasets of a collection as the classes of a table."""
    collection = load_collection(source)
    label = np.repeat(np.arange(len(collection)), [len(dataset.X) for dataset in collection])
    return np.concatenate([dataset.X for dataset in collection]), label


_TABLES: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
    "Wine": lambda: load_wine(return_X_y=True),
    "Digits": lambda: load_digits(return_X_y=True),
    "Iris": lambda: load_iris(return_X_y=True),
    "Breast cancer": lambda: load_breast_cancer(return_X_y=True),
    "Diabetes": _diabetes,
    "Landmine fields": lambda: _datasets("landmine"),
    "Schools": lambda: _datasets("school"),
}
