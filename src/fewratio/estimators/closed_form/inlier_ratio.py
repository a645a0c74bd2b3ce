"""Learn in closed form from related datasets with marked outliers: the ratio of normal rows to all rows."""

import operator
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property, reduce
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from fewratio.core.arrays import real_deviation
from fewratio.core.blocks import row_blocks
from fewratio.core.container import check_arrays
from fewratio.core.draws import dataset_key, draw_seed
from fewratio.core.kernels import check_squares
from fewratio.core.ridge import Moments, RidgePath, ridge_weights_of_moments
from fewratio.core.shapes import Floats
from fewratio.core.units import ColumnScaling
from fewratio.core.wording import write_count
from fewratio.data.collection import Collection
from fewratio.data.dataset import Dataset
from fewratio.errors import CollectionError
from fewratio.estimators.learned_file import LearnedEstimator, make_header, read_source_columns
from fewratio.estimators.parameters import COUNT, common
from fewratio.estimators.source_columns import SourceColumns, check_collection
from fewratio.progress import track

# Widths of the kernels, from the first to the last, in units of the root mean square distance of rows; there is
# no record of how they were chosen.
_WIDTHS = 1.0, 8.0
# Candidates for cross-validation over the sources: the weight of a dataset's mean, and the regulariser.
_CONTEXTS, _REGS = (0.0, 0.5), np.geomspace(1e-4, 10, 11)
_N_FOLDS, _DEFAULT_REG = 5, 0.1
# A mean farther away than this, in deviations of the sources' means, counts as this far.
_FARTHEST = 3.0

# Rows of a dataset, and which of them are normal.
Marked = tuple[Floats, NDArray[np.bool_]]
# Smaller values are bent upwards rather than clipped at 0, to keep the order of outliers.
_SMALL = 0.05
# Arrays of a file with a value for each column.
_PER_COLUMN = "mean", "scale", "low", "high", "between", "within"


@dataclass(frozen=True, eq=False)
class RowAndDatasetFeatures:
    """Features of a row and of the dataset that it is from: a constant, the columns, and random cosines of both.

    Attributes
    ----------
    scaling : ColumnScaling
        Origin and units of the columns.
    low, high : ndarray of shape (d,)
        Smallest and largest value of each column in the sources, in these units. Beyond them nothing was learned.
    between, within : ndarray of shape (d,)
        Variances of the sources' means, and of rows about the mean of their dataset, in these units.
    context : float
        Weight of the dataset's mean; 0 leaves it out.
    n_components, seed : int
        Number of cosines, and seed of their draw.
    """

    scaling: ColumnScaling
    low: Floats
    high: Floats
    between: Floats
    within: Floats
    context: float
    n_components: int
    seed: int

    @property
    def n_outputs(self) -> int:
        """Number of features."""
        return 1 + self._n_columns + self.n_components

    @property
    def _n_columns(self) -> int:
        # With many columns the moments are large; the widest kernels are nearly linear anyway.
        return len(self.within) if len(self.within) <= self.n_components else 0

    @cached_property
    def _waves(self) -> tuple[Floats, Floats, Floats]:
        # The stream of RandomState is frozen (NEP 19), so that a file means the same with any version of NumPy.
        draws, d = np.random.RandomState(self.seed), len(self.within)
        of_rows, of_means = draws.standard_normal((2, d, self.n_components)) / np.sqrt(2 * d)
        phases = draws.uniform(0, 2 * np.pi, self.n_components)
        return of_rows / np.geomspace(*_WIDTHS, self.n_components), of_means * self.context, phases

    @cached_property
    def _factor(self) -> float:
        """The factor that makes the mean variance of a column 1."""
        return float(1 / np.sqrt((self.within + self.between).mean() or 1.0))

    def _scale(self, rows: Floats) -> Floats:
        return np.clip(self.scaling(rows), self.low, self.high)

    def excess(self, rows: Floats) -> Floats:
        """Return how many units each row is outside the sources' ranges, summed over the columns."""
        return np.abs(self.scaling(rows) - self._scale(rows)).sum(1)

    def dataset(self, rows: Floats) -> Floats:
        """Return the place of a dataset's mean among the sources' means, shrunk to their centre if it has few rows."""
        variance = self.between + self.within / len(rows)
        factor = np.divide(np.sqrt(self.between), variance, out=np.zeros_like(variance), where=self.between > 0)
        return np.clip(self._scale(rows).mean(0) * factor, -_FARTHEST, _FARTHEST)

    def __call__(self, rows: Floats, dataset: Floats) -> Floats:
        """Return the features of rows, of shape (n, n_outputs), given the output of `dataset` for all rows."""
        of_rows, of_means, phases = self._waves
        scaled = self._scale(rows) * self._factor
        cosines = np.cos(scaled @ of_rows + (dataset @ of_means + phases))
        return np.column_stack([np.ones(len(rows)), scaled[:, : self._n_columns], np.sqrt(2) * cosines])


class InlierMoments(NamedTuple):
    """The moments in Eq. 5: means over the rows of a dataset, summed or averaged over datasets.

    Attributes
    ----------
    squares_nu, squares_de : ndarray of shape (t, t)
        Mean of phi phi' over the normal rows, and over all rows, with the marked ones together counted as much as all.
    mean_nu : ndarray of shape (t,)
        Mean of phi over the normal rows.
    """

    squares_nu: Floats
    squares_de: Floats
    mean_nu: Floats

    @classmethod
    def of(cls, source: Marked, features: RowAndDatasetFeatures) -> "InlierMoments":
        """Compute the means over one dataset."""
        rows, is_normal = source
        dataset, blocks = features.dataset(rows), row_blocks(len(rows), features.n_outputs)
        values = ((features(rows[block], dataset), is_normal[block]) for block in blocks)
        first, *others = (Moments.of(phi[normal], phi) for phi, normal in values)
        total = sum(others, first)
        squares_de, n_marked = total.squares_de / total.n_de, total.n_de - total.n_nu
        if n_marked:
            # A few marked rows among many say most about outliers, so together they count as much as all rows.
            squares_de = (squares_de + (total.squares_de - total.squares_nu) / n_marked) / 2
        return cls(total.squares_nu / total.n_nu, squares_de, total.k)

    def K(self, alpha: float) -> Floats:
        """Return K of Eq. 5."""
        return alpha * self.squares_nu + (1 - alpha) * self.squares_de


class InlierModel(NamedTuple):
    """The model learned from sources.

    Attributes
    ----------
    features : RowAndDatasetFeatures
        The ratio is linear in these; ``features.context`` was chosen.
    moments : InlierMoments
        Averages over the sources.
    reg : float
        The regulariser that was chosen.
    """

    features: RowAndDatasetFeatures
    moments: InlierMoments
    reg: float

    def weights(self, alpha: float) -> Floats:
        """Solve Eq. 5."""
        return np.asarray(ridge_weights_of_moments(self.moments.K(alpha), self.moments.mean_nu, self.reg))


def learn(sources: Sequence[Marked], alpha: float, n_components: int, seed: int) -> InlierModel:
    """Choose settings by the squared error (Eq. 8) on sources held out in turn, then use all of them."""
    sources = sorted(sources, key=lambda source: dataset_key(source[0]))
    scaling = ColumnScaling.of([rows for rows, _ in sources], "columns")
    scaled = [scaling(rows) for rows, _ in sources]
    means, within = np.array([rows.mean(0) for rows in scaled]), np.mean([rows.var(0) for rows in scaled], axis=0)
    low, high = (of([of(rows, 0) for rows in scaled], 0) for of in (np.min, np.max))
    between = real_deviation(means.mean(0), means.std(0)) ** 2
    n_folds = min(_N_FOLDS, len(sources))
    found: list[tuple[float, InlierModel]] = []
    contexts = _CONTEXTS if n_folds > 1 else _CONTEXTS[:1]
    for context in track(contexts, len(contexts), "learning", unit="settings"):
        features = RowAndDatasetFeatures(scaling, low, high, between, within, context, n_components, seed)
        folds = [_sum(InlierMoments.of(each, features) for each in sources[fold::n_folds]) for fold in range(n_folds)]
        total = _sum(folds)
        losses = np.abs(np.log(_REGS / _DEFAULT_REG)) if n_folds == 1 else _held_out_losses(folds, total, alpha)
        mean = InlierMoments(*(each / len(sources) for each in total))
        found.append((losses.min(), InlierModel(features, mean, float(_REGS[losses.argmin()]))))
    return min(found, key=lambda each: each[0])[1]


def _sum(parts: Iterable[InlierMoments]) -> InlierMoments:
    return reduce(lambda one, other: InlierMoments(*map(operator.add, one, other)), parts)


def _held_out_losses(folds: Sequence[InlierMoments], total: InlierMoments, alpha: float) -> Floats:
    """Return the squared error (Eq. 8) on sources held out, fold by fold, for each regulariser."""
    losses = np.zeros(len(_REGS))
    for fold in folds:
        others = InlierMoments(*map(operator.sub, total, fold))
        # The square of the constant feature counts the datasets.
        n_others = others.squares_de[0, 0]
        weights = RidgePath.of(others.K(alpha) / n_others, _REGS).solve(others.mean_nu / n_others)
        losses += ((weights @ fold.K(alpha)) * weights).sum(1) / 2 - weights @ fold.mean_nu
    return losses


@dataclass(eq=False, repr=False)
class InlierRatioEstimator(LearnedEstimator):
    """Estimate the ratio of normal rows to all rows, after learning from related datasets with marked outliers.

    Use it for outliers that are close to normal rows, so that only related datasets show which rows are outliers. The
    relative density ratio of the normal rows of the sources (numerator) to all their rows (denominator, in which the
    marked rows have the same total weight as all rows) is fitted to all sources at once, by least squares in random
    Fourier features of the row and of the mean of its dataset: Eq. 5 with moments averaged over the datasets. `fit`
    computes the mean of a new dataset, and scales the ratio so that its mean is 1. Outside the range of the sources,
    the ratio falls with the distance from it.

    A single row per sample suffices, and you may change ``alpha`` after `pretrain`. The few known normals of a new
    dataset do not change the weights. Learning takes seconds.

    Parameters
    ----------
    alpha : float, default=0.5
        Relative parameter, 0 <= alpha < 1; the ratio is at most 1 / alpha.
    n_components : int, default=200
        Number of random features.
    random_state : int, numpy Generator or None, default=0
        Seed of the random features.

    Attributes
    ----------
    model_ : InlierModel
        The learned model. The weight of the mean of a dataset (``model_.features.context``) and the regulariser
        (``model_.reg``) were chosen by cross-validation over the sources.
    n_sources_, n_rows_ : int or None
        Numbers of sources and of their rows; None if unknown.
    ratio_nu_, ratio_de_ : ndarray of shape (n_nu,) and (n_de,)
        The ratio at the rows passed to `fit`.

    See Also
    --------
    InlierOutlierDetector : Accepts it as ``estimator`` once it is pretrained.
    MetaRatioEstimator : Learns a network for the same purpose with ``episodes=Inliers()``, in minutes.

    Examples
    --------
    >>> import numpy as np
    >>> from fewratio import Collection, InlierOutlierDetector
    >>> from fewratio.estimators import InlierRatioEstimator
    >>> rng = np.random.default_rng(0)
    >>> is_outlier = np.arange(50) < 5
    >>> fields = [rng.normal(size=(50, 3)) + [0, 0, 2] * is_outlier[:, None] for _ in range(8)]
    >>> estimator = InlierRatioEstimator().pretrain(Collection.from_arrays(fields, outliers=[is_outlier] * 8))
    >>> detector = InlierOutlierDetector(estimator, contamination=0.3).fit([[0.0, 0.0, 0.0]])
    >>> detector.predict([[2.0, 0.1, -0.2], [0.3, 0.1, 2.5], [-2.0, -1.0, 0.1]])
    array([ 1, -1,  1])
    """

    only_finds_outliers = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {**common("alpha", "random_state"), "n_components": [COUNT]}

    alpha: float = 0.5
    _: KW_ONLY
    n_components: int = 200
    random_state: int | np.random.Generator | None = 0
    model_: InlierModel = field(init=False)

    def pretrain(self, collection: Collection) -> Self:
        """Learn from related datasets.

        Parameters
        ----------
        collection : Collection
            The source datasets, all with marked outliers; unmarked rows are normal. If you only know normal rows, mark
            all other rows.

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
        self.model_ = learn(sources, float(self.alpha), int(self.n_components), draw_seed(self.random_state))
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
        # The parameters of the training, even if they were changed since.
        parameters = {"n_components": features.n_components, "random_state": features.seed}
        header = make_header(type(self).__name__, self._source_columns, {"alpha": float(self.alpha), **parameters})
        return arrays, header | self._of_sources() | {"context": features.context, "reg": model.reg}

    def _restore(self, arrays: dict[str, NDArray[Any]], header: dict[str, Any]) -> None:
        columns = read_source_columns(header)
        features = RowAndDatasetFeatures(
            ColumnScaling(arrays["mean"], arrays["scale"]),
            **{name: arrays[name] for name in _PER_COLUMN[2:]},
            context=float(header["context"]),
            n_components=self.n_components,
            seed=draw_seed(self.random_state),
        )
        t, d = features.n_outputs, columns.n_features
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(_PER_COLUMN, (d,))
        shapes |= {"squares_nu": (t, t), "squares_de": (t, t), "mean_nu": (t,)}
        check_arrays(arrays, shapes)
        moments = InlierMoments(*(arrays[name] for name in InlierMoments._fields))
        self.model_ = InlierModel(features, moments, float(header["reg"]))
        self._restore_of_sources(header)
        self._keep_columns(columns)

    def _fit(self, X_nu: Floats, X_de: Floats) -> None:
        check_squares(X_nu, X_de)
        model, alpha = self._learned(), float(self.alpha)
        self._dataset, self._weights = model.features.dataset(np.concatenate([X_nu, X_de])), model.weights(alpha)
        self._mean = 1.0
        # The mean of a relative ratio over its denominator mixture is 1.
        self._mean = float(alpha * self._ratio(X_nu).mean() + (1 - alpha) * self._ratio(X_de).mean())
        self.ratio_nu_, self.ratio_de_ = self._ratio(X_nu), self._ratio(X_de)

    def _ratio(self, X: Floats) -> NDArray[Any]:
        features = self.model_.features
        value = features(X, self._dataset) @ self._weights
        ratio = (value + np.hypot(value, _SMALL)) / 2 / (1 + features.excess(X)) / self._mean
        return ratio.clip(max=1 / self.alpha) if self.alpha else ratio


def _normal(dataset: Dataset) -> NDArray[np.bool_]:
    """Return which rows of a source are normal."""
    if dataset.is_outlier is None:
        raise CollectionError(
            f"Dataset {dataset.name!r} does not say which rows are outliers, and that is what is learned. Give an "
            "outlier column or array, or leave the dataset out."
        )
    if dataset.is_outlier.all():
        raise CollectionError(
            f"Dataset {dataset.name!r} has {write_count(len(dataset), 'row')}, all marked as outliers; at least one "
            "normal row is needed. Leave the dataset out."
        )
    return ~dataset.is_outlier
