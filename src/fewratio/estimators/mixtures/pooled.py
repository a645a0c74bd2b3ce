"""Outliers from related datasets in closed form: the ratio of normal rows to all rows, pooled over the datasets."""

from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from fewratio.core.kernels import check_squares
from fewratio.core.shapes import Floats
from fewratio.core.units import ColumnScaling
from fewratio.core.wording import counted
from fewratio.data.collection import Collection
from fewratio.data.dataset import Dataset
from fewratio.errors import CollectionError
from fewratio.estimators.learned_file import LearnedEstimator, columns_of, header_of
from fewratio.estimators.mixtures.pooled_model import PooledModel, PooledMoments, RowAndDatasetFeatures, learn
from fewratio.estimators.parameters import COUNT, Interval, common
from fewratio.estimators.source_columns import SourceColumns, check_collection

# Values below it are bent upwards rather than cut off at 0, so that the order of outliers is kept.
_SMALL = 0.05
# Arrays of a file with a value for each column.
_PER_COLUMN = "mean", "scale", "low", "high", "between", "within"


@dataclass(eq=False, repr=False)
class PooledRatioEstimator(LearnedEstimator):
    """Ratio of normal rows to all rows, learned from related datasets with marked outliers, in seconds.

    For outlier detection where an outlier is not far from the others, so that only related datasets tell which rows are
    outliers. The relative density ratio of the sources' normal rows (numerator) to all their rows (denominator, in
    which the marked rows together count as much as all rows) is fitted to all sources at once, by least squares in
    random Fourier features of the row and of its dataset's mean: Eq. 5 with moments that are averages over the
    datasets. `fit` takes the mean of a new dataset, and scales the ratio so that its mean is 1. Outside of the range of
    the sources' values the ratio falls with the distance from it.

    Any number of rows from 1 on will do, and ``alpha`` may be changed after `pretrain`. The few known normals of a new
    dataset do not change the weights.

    Parameters
    ----------
    alpha : float, default=0.5
        Relative parameter, 0 <= alpha < 1; the ratio is at most 1 / alpha.
    n_components : int, default=200
        Number of random features.
    random_state : int, default=0
        Seed of the random features.

    Attributes
    ----------
    model_ : PooledModel
        What was learned; the weight of a dataset's mean (``model_.features.context``) and the regulariser
        (``model_.reg``) were chosen by cross-validation over the sources.
    n_sources_, n_rows_ : int or None
        Numbers of sources and of their rows; None in a model from a file that does not say.
    ratio_nu_, ratio_de_ : ndarray of shape (n_nu,) and (n_de,)
        The ratio at the rows given to `fit`.

    See Also
    --------
    InlierOutlierDetector : Takes it as ``estimator`` once it is pretrained.
    MetaRatioEstimator : Learns a network for the same purpose with ``episodes=Inliers()``, in minutes.

    Examples
    --------
    >>> import numpy as np
    >>> from fewratio import Collection, InlierOutlierDetector
    >>> from fewratio.estimators import PooledRatioEstimator
    >>> rng = np.random.default_rng(0)
    >>> is_outlier = np.arange(50) < 5
    >>> fields = [rng.normal(size=(50, 3)) + [0, 0, 2] * is_outlier[:, None] for _ in range(8)]
    >>> estimator = PooledRatioEstimator().pretrain(Collection.from_arrays(fields, outliers=[is_outlier] * 8))
    >>> detector = InlierOutlierDetector(estimator, contamination=0.3).fit([[0.0, 0.0, 0.0]])
    >>> detector.predict([[2.0, 0.1, -0.2], [0.3, 0.1, 2.5], [-2.0, -1.0, 0.1]])
    array([ 1, -1,  1])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **common("alpha"),
        "n_components": [COUNT],
        "random_state": [Interval(Integral, 0, 2**32 - 1, closed="both")],
    }

    alpha: float = 0.5
    _: KW_ONLY
    n_components: int = 200
    random_state: int = 0
    model_: PooledModel = field(init=False)

    def pretrain(self, collection: Collection) -> Self:
        """Learn from related datasets.

        Parameters
        ----------
        collection : Collection
            The source datasets, all with marked outliers; the other rows are the normal ones. Where only normals are
            known, mark every row that is not known to be normal.

        Returns
        -------
        self
        """
        self._check_parameters()
        check_collection(collection, "collection")
        sources = [(np.asarray(dataset.X, np.float64), _normal(dataset)) for dataset in collection]
        if all(normal.all() for _, normal in sources):
            raise CollectionError(
                f"collection {collection.name!r} has no row that is marked as an outlier; without any there is nothing "
                "to learn. Mark those that are known, or all that are not known to be normal."
            )
        check_squares(*(rows for rows, _ in sources))
        self.model_ = learn(sources, float(self.alpha), int(self.n_components), int(self.random_state))
        self.n_sources_, self.n_rows_ = len(sources), sum(len(rows) for rows, _ in sources)
        self._keep_columns(SourceColumns.of(collection))
        return self

    def _payload(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        model = self._learned()
        features = model.features
        arrays = {
            "mean": features.scaling.mean,
            "scale": np.asarray(features.scaling.scale),
            **{name: getattr(features, name) for name in _PER_COLUMN[2:]},
            **model.moments._asdict(),
        }
        # Those of the training, whatever was set since.
        parameters = {"n_components": features.n_components, "random_state": features.seed}
        header = header_of(type(self).__name__, self._source_columns, {"alpha": float(self.alpha), **parameters})
        return arrays, header | self._of_sources() | {"context": features.context, "reg": model.reg}

    def _restore(self, arrays: dict[str, NDArray[Any]], header: dict[str, Any]) -> None:
        columns = columns_of(header)
        features = RowAndDatasetFeatures(
            ColumnScaling(arrays["mean"], arrays["scale"]),
            low=arrays["low"],
            high=arrays["high"],
            between=arrays["between"],
            within=arrays["within"],
            context=float(header["context"]),
            n_components=self.n_components,
            seed=self.random_state,
        )
        t, d = features.n_outputs, columns.n_features
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(_PER_COLUMN, (d,))
        shapes |= {"squares_nu": (t, t), "squares_de": (t, t), "mean_nu": (t,)}
        if {name: array.shape for name, array in arrays.items()} != shapes:
            raise ValueError("its arrays are not those of its settings")
        moments = PooledMoments(*(arrays[name] for name in PooledMoments._fields))
        self.model_ = PooledModel(features, moments, float(header["reg"]))
        self._restore_of_sources(header)
        self._keep_columns(columns)

    def _fit(self, X_nu: Floats, X_de: Floats) -> None:
        check_squares(X_nu, X_de)
        model, alpha = self._learned(), float(self.alpha)
        self._dataset, self._weights = model.features.dataset(np.concatenate([X_nu, X_de])), model.weights(alpha)
        self._mean = 1.0
        # The mean of a relative ratio over what it is relative to is 1.
        self._mean = float(alpha * self._ratio(X_nu).mean() + (1 - alpha) * self._ratio(X_de).mean())
        self.ratio_nu_, self.ratio_de_ = self._ratio(X_nu), self._ratio(X_de)

    def _ratio(self, X: Floats) -> NDArray[Any]:
        features = self.model_.features
        value = features(X, self._dataset) @ self._weights
        ratio = (value + np.hypot(value, _SMALL)) / 2 / (1 + features.excess(X)) / self._mean
        return ratio.clip(max=1 / self.alpha) if self.alpha else ratio


def _normal(dataset: Dataset) -> NDArray[np.bool_]:
    """Give which rows of a source are normal."""
    if dataset.is_outlier is None:
        raise CollectionError(
            f"Dataset {dataset.name!r} does not say which rows are outliers, and that is what is learned. Give an "
            "outlier column or array, or leave the dataset out."
        )
    if dataset.is_outlier.all():
        raise CollectionError(
            f"Dataset {dataset.name!r} has {counted(len(dataset), 'row')}, all marked as outliers; at least one normal "
            "row is needed. Leave the dataset out."
        )
    return ~dataset.is_outlier
