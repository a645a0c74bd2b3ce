"""Base classes of all estimators."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any, Self

import numpy as np
import sklearn.exceptions
from numpy.typing import ArrayLike, NDArray

from fewratio.core.arguments import check_finite_result as check_finite_result
from fewratio.core.blocks import in_blocks
from fewratio.core.draws import draw_rows
from fewratio.core.shapes import Floats, Numbers
from fewratio.data.columns import AS_GIVEN, ColumnRules
from fewratio.data.encoding import Encoding, encode_together
from fewratio.data.lazy_predictions import predict_lazily
from fewratio.data.table import Table, as_table
from fewratio.errors import FewRatioError, InputError
from fewratio.estimators.parameters import Parameters
from fewratio.estimators.quantities import relative_pearson_divergence


def fit_to_drawn(
    fit: Callable[[Floats, Floats], None],
    estimator: "RatioEstimator",
    samples: Sequence[Floats],
    most: int,
    rng: np.random.Generator,
) -> list[Floats]:
    """Fit an estimator to a limited number of rows of each sample, and return the ratio at all rows."""
    drawn = [draw_rows(X, most, rng) if len(X) > most else np.arange(len(X)) for X in samples]
    fit(*(X[rows] for X, rows in zip(samples, drawn, strict=True)))
    ratios = []
    for X, rows, at_drawn in zip(samples, drawn, (estimator.ratio_nu_, estimator.ratio_de_), strict=True):
        ratios.append(at_drawn if len(rows) == len(X) else in_blocks(estimator._ratio, X))
        ratios[-1][rows] = at_drawn
    return ratios


class NotFittedError(FewRatioError, sklearn.exceptions.NotFittedError):
    """Raised when an estimator is used before it is fitted.

    Examples
    --------
    >>> from fewratio import RuLSIF
    >>> RuLSIF().predict([[1.0]])
    Traceback (most recent call last):
    ...
    fewratio.estimators.base.NotFittedError: This RuLSIF has not seen the two samples yet. Call fit(X_nu, X_de) first.
    """


class TableEstimator(Parameters):
    """Base of all estimators: a table of parameter constraints, and tables whose features are remembered.

    Please think twice before adding anything here.
    """

    encoding_: Encoding | None = None
    # Whether source datasets define the columns; and the name of the fitted sample in messages.
    has_sources = False
    # Whether it has learned from marked outliers, and so nothing about how datasets differ.
    only_finds_outliers = False
    _reference = "the fitted sample"
    # The attribute that `fit` sets last, and the message before that.
    _fitted_attribute, _not_fitted = "ratio_nu_", "has not seen the two samples yet. Call fit(X_nu, X_de) first."

    def _read(self, tables: Mapping[str, Any], rules: ColumnRules = AS_GIVEN) -> tuple[Encoding | None, list[Table]]:
        """Encode samples together.

        An estimator that has learned from sources encodes them like the sources, and accepts no rules.
        """
        return encode_together(tables, rules)

    def _open(self, X: Any, name: str) -> Table:
        """Encode a sample like the fitted samples."""
        n_features = self.n_features_in_
        if isinstance(X, np.ndarray) and X.ndim == 2 and X.shape[1] != n_features and not self.has_sources:
            found = f"{name} has {X.shape[1]} features, but {type(self).__name__} is expecting {n_features} features"
            raise InputError(f"{found} as input, those of {self._reference}. Select the same columns.")
        if self.encoding_ is not None:
            return self.encoding_.encode(X, name, self._reference)
        table = as_table(X, name)
        table.check_features(self._feature_names() or self.n_features_in_, self._reference)
        return table

    def _by_blocks(self, X: Any, of_rows: Callable[[Floats], NDArray[Any]]) -> Floats:
        """Compute a value for each row of a user's table in blocks of rows; values may be infinite or NaN."""
        return in_blocks(of_rows, self._open(X, "X").numbers)

    def __sklearn_tags__(self) -> Any:
        """Declare that text and missing numbers are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.allow_nan = True
        return tags

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"This {type(self).__name__} {self._not_fitted}")

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether `fit` was called."""
        return hasattr(self, self._fitted_attribute)

    def _remember(self, encoding: Encoding | None, table: Table) -> None:
        """Keep the columns and their encoding."""
        self.encoding_ = encoding
        if encoding is None or encoding.is_identity or self.has_sources:
            self._set_features(table.n_features, table.feature_names)
        else:
            given = tuple(column.name for column in encoding.columns)
            self._set_features(len(given), given if encoding.is_named else None)

    def _set_features(self, n_features: int, names: tuple[str, ...] | None) -> None:
        self.n_features_in_ = n_features
        # scikit-learn's convention: the attribute exists only if the columns have names.
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)

    def _feature_names(self) -> tuple[str, ...] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else tuple(names)


class RatioEstimator(TableEstimator):
    """Base class of all ratio estimators: ``fit(X_nu, X_de)``, ``predict(X)``, ``divergence()``.

    A subclass defines a table of parameter constraints (as in scikit-learn), `_fit` and `_ratio`. Please think twice
    before adding anything here.

    Attributes
    ----------
    ratio_nu_, ratio_de_ : ndarray of shape (n_nu,) and (n_de,)
        The ratio at the rows passed to `fit`, in their order, from which `divergence` is computed. If the features of
        a fitted row depend on that row (relational networks), the row itself is left out; `predict` treats every row
        as new.

    Examples
    --------
    >>> from fewratio import RatioEstimator
    >>> class Everywhere(RatioEstimator):
    ...     def _fit(self, X_nu, X_de):
    ...         self.ratio_nu_, self.ratio_de_ = self._ratio(X_nu), self._ratio(X_de)
    ...
    ...     def _ratio(self, X):
    ...         return np.ones(len(X))
    >>> Everywhere().fit([[0.0], [1.0]], [[2.0]]).predict([[3.0]])
    array([1.])
    """

    ratio_nu_: Floats
    ratio_de_: Floats

    @property
    def has_intervals(self) -> bool:
        """Whether `interval` can be used."""
        return False

    def fit(self, X_nu: Any, X_de: Any) -> Self:
        """Estimate the ratio of the density of the numerator to that of the denominator.

        Do not use it in scikit-learn's `Pipeline`, which would transform only the first sample. Scale columns with
        ``scale="columns"``, and choose parameters with `fewratio.estimators.HeldOutSelection`.

        Parameters
        ----------
        X_nu : array-like of shape (n_nu, n_features)
            Sample of the numerator: NumPy array, list, pandas / polars / pyarrow table or torch tensor.
        X_de : array-like of shape (n_de, n_features)
            Sample of the denominator.

        Returns
        -------
        self
        """
        self._check_parameters()
        encoding, (nu, de) = self._read({"X_nu": X_nu, "X_de": X_de})
        self._fit(nu.to_numpy(), de.to_numpy())
        self._remember(encoding, nu)
        return self

    def predict(self, X: Any) -> Any:
        """Return the ratio at each row; it is finite and not negative.

        Rows are processed in blocks, so memory is bounded. Lazy tables stay lazy: their parts are read when the result
        is.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows at which to evaluate the ratio; or a dask DataFrame, a polars LazyFrame or a pyarrow Dataset.

        Returns
        -------
        ndarray of shape (n,)
            Or a dask Series, a polars LazyFrame or a pyarrow RecordBatchReader of one column, "ratio".
        """
        self._check_fitted()
        lazy = predict_lazily(X, self.predict, "ratio")
        if lazy is not None:
            return lazy
        result = self._by_blocks(X, self._ratio)
        check_finite_result("The ratio of some rows of X", result)
        return result

    def log_ratio(self, X: Any) -> Floats:
        """Return the logarithm of `predict`; -inf where the ratio is 0.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Rows at which to evaluate the ratio.

        Returns
        -------
        ndarray of shape (n,)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict(X))

    def divergences(self, X: Any, nu: ArrayLike, de: ArrayLike) -> Floats:
        """Return the divergences of many pairs of samples from one table, the same as `fit` and `divergence` give.

        The fitted estimator does not change. Estimators that can solve many pairs at once do so.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            All rows.
        nu : array-like of int, shape (n_pairs, n_nu)
            Row numbers of the numerator of each pair.
        de : array-like of int, shape (n_pairs, n_de)
            Row numbers of the denominator of each pair.

        Returns
        -------
        ndarray of shape (n_pairs,)

        Examples
        --------
        >>> from fewratio import RuLSIF
        >>> RuLSIF().divergences([[0.0], [1.0], [5.0]], nu=[[0], [0]], de=[[1], [2]]).shape
        (2,)
        """
        self._check_parameters()
        _, (table,) = self._read({"X": X})
        rows = table.to_numpy()
        numbers = [check_row_numbers(side, len(rows), name) for name, side in (("nu", nu), ("de", de))]
        if len(numbers[0]) != len(numbers[1]):
            raise InputError(
                f"nu has {len(numbers[0])} samples but de has {len(numbers[1])}; each pair needs one of both. "
                "Pass arrays with equally many rows."
            )
        return self._divergences(rows, *numbers)

    def _divergences(self, rows: Floats, nu: Numbers, de: Numbers) -> Floats:
        """Return the divergences of valid samples, one by one unless a subclass overrides this."""
        # A shallow copy shares the learned model, and is fitted separately.
        estimator = copy(self)
        found = []
        for numerator, denominator in zip(nu, de, strict=True):
            estimator._fit(rows[numerator], rows[denominator])
            found.append(estimator.divergence())
        return np.array(found, dtype=np.float64)

    def _both_divergences(self, rows: Floats, first: Numbers, second: Numbers) -> Floats:
        """Return the divergences of valid samples in both directions, of shape (2, n_pairs)."""
        return np.stack([self._divergences(rows, first, second), self._divergences(rows, second, first)])

    def _for_many_pairs(self) -> "RatioEstimator":
        """Return an estimator that is fast enough for hundreds of pairs or permutations."""
        return self

    def divergence(self) -> float:
        """Return the divergence between the fitted samples: the relative Pearson divergence (plain at alpha = 0)."""
        self._check_fitted()
        return self._divergence_of(self.ratio_nu_, self.ratio_de_)

    def _divergence_of(self, ratio_nu: Floats, ratio_de: Floats) -> float:
        """Return the divergence, given the ratio at the rows of both samples; override it for another divergence."""
        return relative_pearson_divergence(ratio_nu, ratio_de, float(getattr(self, "alpha", 0.0)))

    @abstractmethod
    def _fit(self, X_nu: Floats, X_de: Floats) -> None:
        """Fit two valid samples, and set `ratio_nu_` and `ratio_de_`."""

    @abstractmethod
    def _ratio(self, X: Floats) -> NDArray[Any]:
        """Return the ratio at the rows of a valid block."""


def check_row_numbers(numbers: ArrayLike, n_rows: int, argument: str) -> Numbers:
    """Return row numbers as an array of shape (n_samples, n), or raise an error if they are invalid."""
    try:
        array = np.asarray(numbers)
    except (TypeError, ValueError, RuntimeError) as error:
        found = f"{argument} cannot be read as rows of numbers ({error})"
        raise InputError(f"{found}; expected samples of equally many instances. Pass as many for each.") from error
    if array.ndim != 2 or array.dtype.kind not in "iu" or array.shape[1] == 0:
        raise InputError(
            f"{argument} has shape {array.shape} and type {array.dtype}; expected whole numbers, one row per sample "
            "and at least one instance each. Pass the numbers of the table's rows."
        )
    if array.size and (array.min() < 0 or array.max() >= n_rows):
        raise InputError(
            f"{argument} names row {array.min() if array.min() < 0 else array.max()}, but the table has {n_rows}. Rows "
            "are numbered from 0; pass numbers below that."
        )
    return array.astype(np.intp)
