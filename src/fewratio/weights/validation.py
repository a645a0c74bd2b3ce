"""Measure whether weights lower the error of a model on the target."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from fewratio.core.draws import deal, row_order, set_seed
from fewratio.core.shapes import Floats, Numbers
from fewratio.data.column_kinds import NUMBER
from fewratio.data.raw_table import RawTable, align_labels, as_raw, open_files, open_frame
from fewratio.errors import InputError, ParameterError, name_parameter
from fewratio.progress import track

_N_FOLDS = 5
# The chance, on each side, of calling two equally good models different.
_CHANCE = 0.025


class Validation(NamedTuple):
    """The cross-validated error of a model with and without weights, as weighted means over held-out training rows.

    Attributes
    ----------
    model : str
        Name of the model.
    measure : str
        "mean squared error" or "share of wrong predictions".
    unweighted, weighted : float
        The error of the model fitted without and with weights.
    standard_error : float
        Standard error of their difference.
    margin : float
        Smaller differences do not count: the standard error times the 97.5 % quantile of Student's t, with degrees of
        freedom from the effective sample size.
    """

    model: str
    measure: str
    unweighted: float
    weighted: float
    standard_error: float
    margin: float

    @property
    def advice(self) -> str:
        """Whether to use the weights, and the measured errors."""
        gain = self.unweighted - self.weighted
        measured = (
            f"the cross-validated {self.measure} of {self.model} on the target is {self.weighted:.3g} with weights and "
            f"{self.unweighted:.3g} without (standard error of the difference {self.standard_error:.2g})"
        )
        if gain > self.margin:
            return f"use the weights: {measured}"
        if -gain > self.margin:
            return f"do not use the weights for this model: {measured}; a mean over the target needs them all the same"
        return f"no difference seen: {measured}"


def split_off_label(X_train: Any, X_target: Any, y: Any) -> tuple[Any, Any, NDArray[Any] | None]:
    """Return both tables without the column to predict, and the values of this column in the training rows."""
    if y is None:
        return X_train, X_target, None
    if isinstance(y, str):
        opened = open_files({"X_train": X_train, "X_target": X_target})
        train, target = (as_raw(X, name) for name, X in opened.items())
        train.check_has([y])
        held = train.values(y)
        values = held.numbers if held.kind == NUMBER else np.array(train.cells(y), dtype=object)
        return train.drop([y]), target.drop([y]) if y in target.places else target, _check_label(values, train.n_rows)
    n_rows = X_train.n_rows if isinstance(X_train, RawTable) else as_raw(X_train, "X_train").n_rows
    return X_train, X_target, _check_label(np.asarray(align_labels(y, X_train, "y", "X_train")), n_rows)


def _check_label(values: NDArray[Any], n_rows: int) -> NDArray[Any]:
    called = name_parameter("y")
    if values.shape != (n_rows,):
        raise InputError(
            f"{called} has shape {values.shape}; expected one value per row of X_train. Pass {n_rows} values."
        )
    is_missing = np.array([value is None or value != value for value in values.tolist()])
    if is_missing.any():
        row = int(is_missing.argmax())
        raise InputError(
            f"{called} is missing at row {row} (counting from 0); every row needs a value. Drop such rows."
        )
    if (values == values[0]).all():
        raise InputError(f"{called} is {values[0]!r} in every row; there is nothing to predict. Leave it out.")
    return values


def validate(
    model: Any, given: Any, numbers: Floats, y: NDArray[Any], weights: Floats, rng: np.random.Generator
) -> Validation:
    """Cross-validate a model with and without weights on the training rows.

    Parameters
    ----------
    model : scikit-learn estimator or None
        None for ridge regression if `y` is numeric, else logistic regression, on the encoded columns.
    given : array or data frame
        The rows to validate at; for a user's model, as returned by `select_given`.
    numbers : ndarray of shape (n, d)
        The same rows, encoded.
    y, weights : ndarray of shape (n,)
        Labels and weights of the rows.
    rng : numpy Generator
        Draws the folds.
    """
    from sklearn.base import clone, is_classifier
    from sklearn.model_selection import cross_val_predict

    is_number = y.dtype.kind in "iuf"
    # The order of the rows must not matter, and every fold needs all classes.
    codes = np.unique(y if is_number else y.astype(str), return_inverse=True)[1]
    order = row_order(np.column_stack([numbers, codes]))
    X = numbers if model is None else given
    model = set_seed(_default_model(is_number) if model is None else clone(model), rng)
    is_class = is_classifier(model)
    folds = np.empty(len(y), dtype=np.intp)
    for part in [order[codes[order] == each] for each in np.unique(codes)] if is_class else [order]:
        folds[part] = deal(len(part), _N_FOLDS, rng)
    splits = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(_N_FOLDS) if (folds == k).any()]
    name, argument = _find_weight_argument(model)
    losses = []
    for params in track(({}, {argument: weights}), 2, "validating", unit="models"):
        predicted = cross_val_predict(model, X, y, cv=splits, params=params)
        losses.append((predicted != y).astype(np.float64) if is_class else (predicted.reshape(len(y)) - y) ** 2)
    share = weights / weights.sum()
    unweighted, weighted = (float(share @ loss) for loss in losses)
    deviations = losses[0] - losses[1] - (unweighted - weighted)
    error = float(np.square(share * deviations).sum() ** 0.5)
    margin = error * float(stdtrit(1 / np.square(share).sum(), 1 - _CHANCE))
    measure = "share of wrong predictions" if is_class else "mean squared error"
    return Validation(name, measure, unweighted, weighted, error, margin)


def select_given(X_train: Any, y: Any, rows: Numbers) -> Any:
    """Return rows of the user's table without the column to predict, as the user's model expects them."""
    frame = open_frame(X_train, "X_train")
    if frame is not None:
        return (frame.drop(y) if isinstance(y, str) else frame)[rows.tolist()].to_native()
    if not isinstance(X_train, list | tuple) and not hasattr(X_train, "__array__"):
        found = f"X_train is a {type(X_train).__name__}, which {name_parameter('model')} cannot be fitted to"
        raise InputError(f"{found}; expected an array or a data frame. Read the table first, for instance by pandas.")
    return np.asarray(X_train)[rows]


def _default_model(is_number: bool) -> Any:
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), Ridge() if is_number else LogisticRegression(max_iter=1_000))


def _find_weight_argument(model: Any) -> tuple[str, str]:
    """Return the name of a model, and the argument of its `fit` for the weights."""
    from sklearn.utils.validation import has_fit_parameter

    step, last = model.steps[-1] if hasattr(model, "steps") else ("", model)
    name = type(last).__name__
    if not has_fit_parameter(last, "sample_weight"):
        found = f"{name_parameter('model')} is {name}, whose fit has no sample_weight"
        raise ParameterError(f"{found}; weights cannot change it. Pass another model.")
    return name, f"{step}__sample_weight" if step else "sample_weight"
