"""Learn from related datasets in closed form: probabilistic discriminant analysis as a density ratio."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import KW_ONLY, dataclass, field
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from fewratio.core.arrays import equal_shares
from fewratio.core.blocks import CACHED_VALUES, row_blocks
from fewratio.core.container import check_arrays
from fewratio.core.discriminant import Coordinates, Support
from fewratio.core.divergence import relative_pearson_divergence
from fewratio.core.draws import draw_seed
from fewratio.core.shapes import Floats, Numbers
from fewratio.core.threads import n_threads, one_thread
from fewratio.core.units import ColumnScaling, RankScaling, column_scaling
from fewratio.core.wording import write_count
from fewratio.data.collection import Collection
from fewratio.errors import CollectionError, InputError, ParameterError
from fewratio.estimators.base import NotFittedError
from fewratio.estimators.certainty import CertainEstimator, read_certainty
from fewratio.estimators.closed_form.discriminant_choice import (
    Learned,
    Source,
    learn,
    learn_from_summaries,
    order_sources,
)
from fewratio.estimators.closed_form.discriminant_model import (
    Calibration,
    DiscriminantModel,
    Settings,
    assemble_model,
    ratio_of_log,
)
from fewratio.estimators.closed_form.feature_map import FeatureMap
from fewratio.estimators.closed_form.summary import Summary
from fewratio.estimators.learned_file import LearnedEstimator, make_header, read_source_columns
from fewratio.estimators.parameters import COUNT, POSITIVE, Interval, StrOptions, common
from fewratio.estimators.source_columns import SourceColumns, check_collection
from fewratio.progress import track

# Values to try if a setting is "auto", chosen on collections of benchmarks/sources.py; `python benchmarks/constants.py`
# shows what each does. The largest shrinkage is for columns only: something rare, such as a category, can weigh a lot.
_WIDTHS, _SHRINKAGES, _POWERS = (2.5, 0.8), (0.03, 0.1, 0.3, 0.6), (0.0, 1.0)
# Variances that datasets may have, where they may differ; and shares of the variance of means outside of the sources'.
_N_SPREADS, _BACKGROUNDS = 16, (0.1, 0.3)
# With a background there is one coordinate per feature, so that more would take too long.
_MOST_COMPONENTS_WITH_BACKGROUND = 512


@dataclass(eq=False, repr=False)
class DiscriminantRatioEstimator(CertainEstimator, LearnedEstimator):
    """Estimate the relative density ratio from few rows, after learning from related datasets in seconds.

    Two covariance matrices describe what the sources have in common: that of rows about the mean of their dataset, and
    that of these means. They define coordinates in which each dataset is a Gaussian about its own mean. The few rows
    passed to `fit` then give the posterior of the mean of each sample, and the ratio of the two predictive densities,
    in closed form. There is no iteration, a single row per sample suffices, and you may change ``alpha`` after
    `pretrain`.

    Parameters
    ----------
    alpha : float, default=0.5
        Relative parameter, 0 <= alpha < 1; the true ratio is at most 1 / alpha.
    features : {"auto", "columns", "cosines"}, default="auto"
        Features whose covariances are computed: the columns (then datasets may also differ in their spread), or random
        Fourier features of them. "auto" chooses the better one on held-out sources.
    n_components : int, default=1024
        Number of random features; more are better but slower.
    width : "auto" or float, default="auto"
        Width of the kernel that the random features approximate, in units of the root mean square distance of rows.
    shrinkage : "auto" or float, default="auto"
        How far the covariance within datasets is shrunk towards a multiple of the identity, from 0 to 1.
    scale : {"ranks", "columns", "none"}, default="ranks"
        How to scale columns first. "ranks" replaces values by their ranks among all rows of the sources, so that units
        and long tails do not matter; "columns" divides them by their deviations over all sources; "none" does nothing.
    device : str, default="cpu"
        Device that computes the features of rows after `pretrain`: "cpu", or (with torch) "cuda" or "auto" for CUDA if
        available. You may change it at any time; it is not saved.
    random_state : int, numpy Generator or None, default=0
        Seed of the random features.

    Attributes
    ----------
    model_ : DiscriminantModel
        The learned model.
    settings_ : Settings
        The settings that were chosen.
    summary_ : Summary or None
        Sums over the sources; None in a model that was loaded from a file.
    n_sources_, n_rows_ : int or None
        Numbers of sources and of their rows; None if unknown.
    certainty_ : float or None
        The certainty of ratios: from samples of n rows, they are as certain as with this times sqrt(n) labelled rows.
    epsilon_ : float or None
        Largest epsilon of the differential privacy of the sources; None if a source has none, or if it is unknown.
    ratio_nu_, ratio_de_ : ndarray of shape (n_nu,) and (n_de,)
        The ratio at the rows passed to `fit`, each left out of its own sample; `predict` treats every row as new.

    See Also
    --------
    MetaRatioEstimator : Learns a network by gradient descent, as the paper does.

    Examples
    --------
    >>> from fewratio import DiscriminantRatioEstimator
    >>> from fewratio.data.sources.gaussian import gaussian_family
    >>> sources = gaussian_family(20, n_instances=50, random_state=0).collection
    >>> estimator = DiscriminantRatioEstimator().pretrain(sources)
    >>> estimator.fit([[0.1], [0.3], [-0.2]], [[1.0], [1.4]]).predict([[0.0], [1.2]]).round(1)
    array([1.6, 0.3])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **common("alpha", "device", "random_state"),
        "features": [StrOptions({"auto", "columns", "cosines"})],
        "n_components": [COUNT],
        "width": [StrOptions({"auto"}), POSITIVE],
        "shrinkage": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both")],
        "scale": [StrOptions({"ranks", "columns", "none"})],
    }

    alpha: float = 0.5
    _: KW_ONLY
    features: str = "auto"
    n_components: int = 1024
    width: str | float = "auto"
    shrinkage: str | float = "auto"
    scale: str = "ranks"
    device: str = "cpu"
    random_state: int | np.random.Generator | None = 0
    model_: DiscriminantModel = field(init=False)
    settings_: Settings = field(init=False)
    summary_: Summary | None = field(default=None, init=False)
    # With two to five sources, intervals were far too narrow in a trial on Gaussians, of which there is no record.
    _fewest_sure: ClassVar[int] = 8
    # Far from all rows the ratio is near 1, so outliers are not found.
    finds_outliers: ClassVar[bool] = False  # type: ignore[misc]

    @property
    def has_intervals(self) -> bool:
        """Whether the certainty of ratios is known, from eight sources or more."""
        return super().has_intervals and (self.n_sources_ is None or self.n_sources_ >= self._fewest_sure)

    def pretrain(
        self, collection: Collection | Summary | Sequence[Summary], validation: Collection | None = None
    ) -> Self:
        """Learn from related datasets.

        Parameters
        ----------
        collection : Collection, Summary or sequence of Summary
            At least two source datasets, or their summaries by `SourceMap.summarise`. In the second case, the map
            defines features and units, and summaries of single sources are held out in turn to choose other settings.
        validation : Collection, optional
            Datasets for choosing the settings. By default, or if there are fewer than four, sources are held out in
            turn; with fewer than four sources, nothing is chosen.

        Returns
        -------
        self
        """
        self._check_parameters()
        if summaries := _check_summaries(collection, validation):
            return self._pretrain_on_summaries(summaries)
        check_collection(collection, "collection", at_least=2)
        assert isinstance(collection, Collection)
        check_collection(validation, "validation", optional=True)
        learn_together([self], collection, validation)
        return self

    def _pretrain_on_summaries(self, summaries: list[Summary]) -> Self:
        features = summaries[0].features
        assert features.columns is not None
        kind, n_components = ("cosines", features.n_components) if features.n_components else ("columns", 1)
        of_map = type(self)(features=kind, n_components=n_components, width=features.width, shrinkage=self.shrinkage)
        candidates = [each for each in of_map._candidates() if each.n_components == features.n_components]
        learned = learn_from_summaries(summaries, candidates, float(self.alpha))
        self._set_model(learned.model, learned.settings, learned.summary, features.columns)
        return self

    def summarise(self, X: Any) -> Summary:
        """Summarise one dataset for `add_source`; summaries of several datasets can be added.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            All rows of one dataset.

        Returns
        -------
        Summary
        """
        features = self._learned().features
        return Summary.of_many([self._open(X, "X").to_numpy()], features)

    def add_source(self, source: Any) -> Self:
        """Learn from one more dataset without processing the others again; settings do not change.

        Parameters
        ----------
        source : array-like of shape (n, n_features) or Summary
            All rows of the dataset, or what `summarise` gave for it.

        Returns
        -------
        self
        """
        return self._relearn(self._summary() + self._as_summary(source))

    def remove_source(self, source: Any) -> Self:
        """Remove a dataset from the sources, as if it had never been added; settings do not change.

        Sources are not stored, so removing a dataset that was never added cannot always be detected.

        Parameters
        ----------
        source : array-like of shape (n, n_features) or Summary
            All rows of the dataset, or what `summarise` gave for it.

        Returns
        -------
        self
        """
        return self._relearn(self._summary() - self._as_summary(source))

    def _payload(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return the learned model as arrays and a JSON header."""
        model: DiscriminantModel = self._learned()
        parameters = self.get_params(deep=False)
        del parameters["device"]
        header = make_header(type(self).__name__, self._source_columns, parameters)
        header |= {
            "settings": self.settings_._asdict(),
            "calibration": model.calibration._asdict(),
            "map": model.features.to_dict(),
            **self._of_sources(),
        }
        scaling = model.features.scaling
        ranks = vars(scaling) if isinstance(scaling, RankScaling) else {}
        return {**model.coordinates._asdict(), "spreads": model.spreads, **ranks}, header

    def _restore(self, arrays: dict[str, NDArray[Any]], header: dict[str, Any]) -> None:
        columns, settings = read_source_columns(header), Settings(**header["settings"])
        calibration = header["calibration"]
        calibration |= {"temperatures": tuple(map(float, calibration["temperatures"]))}
        calibration = Calibration(**calibration | {"certainty": read_certainty(calibration["certainty"])})
        ranks = RankScaling.of_arrays(arrays, columns.n_features) if "ranks" in arrays else None
        features = FeatureMap.from_dict(header["map"], ranks)
        coordinates = Coordinates(*(arrays[name] for name in Coordinates._fields))
        n_axes = len(coordinates.signal)
        shapes = {"centre": (features.n_outputs,), "axes": (features.n_outputs, n_axes), "signal": (n_axes,)}
        shapes |= {} if ranks is None else dict.fromkeys(("values", "ranks"), ranks.values.shape)
        check_arrays(arrays, shapes | {"spreads": (max(len(arrays["spreads"]), 1),)})
        if (features.n_components, features.n_columns) != (settings.n_components, columns.n_features):
            raise ValueError("its map is not that of its settings and columns")
        model = DiscriminantModel(features, coordinates, arrays["spreads"], settings.power, calibration)
        self._set_model(model, settings, None, columns)
        self._restore_of_sources(header)

    def _candidates(self) -> list[Settings]:
        """Return the settings to choose from, the safest first."""
        shrinkages: tuple[float, ...] = _SHRINKAGES if self.shrinkage == "auto" else (float(self.shrinkage),)
        widths = _WIDTHS if self.width == "auto" else (float(self.width),)
        of_columns = [Settings(0, 1.0, shrinkage, 0.0, _N_SPREADS) for shrinkage in shrinkages]
        of_columns += [Settings(0, 1.0, shrinkage, 1.0, 1) for shrinkage in shrinkages]
        shrinkages = shrinkages[:-1] or shrinkages
        of_cosines = [
            Settings(self.n_components, width, shrinkage, power, 1)
            for width in widths
            for shrinkage in shrinkages
            for power in _POWERS
        ]
        # With few sources, datasets differ mostly in directions in which the sources do not.
        n_components = min(self.n_components, _MOST_COMPONENTS_WITH_BACKGROUND)
        of_cosines += [
            Settings(n_components, widths[-1], shrinkage, 1.0, 1, background)
            for shrinkage in shrinkages[-2:]
            for background in _BACKGROUNDS
        ]
        return {"columns": of_columns, "cosines": of_cosines, "auto": of_columns + of_cosines}[self.features]

    def _set_model(
        self, model: DiscriminantModel, settings: Settings, summary: Summary | None, columns: SourceColumns
    ) -> None:
        self.model_, self.settings_, self.summary_ = model, settings, summary
        self.certainty_ = model.calibration.certainty
        if summary is not None:
            self.n_sources_, self.n_rows_, self.epsilon_ = summary.n_sources, summary.n_rows, summary.epsilon
        self._keep_columns(columns)

    def _known_ranges(self) -> tuple[Floats, Floats] | None:
        scaling = self.model_.features.scaling
        return scaling.ranges if isinstance(scaling, RankScaling) else None

    def _learned(self) -> DiscriminantModel:
        self.model_ = super()._learned().on(self.device)
        return self.model_

    def _summary(self) -> Summary:
        self._learned()
        if self.summary_ is None:
            raise NotFittedError(
                "This model was read from a file, which holds no sums over its sources, so none can be added or "
                "removed. Call pretrain(collection) again."
            )
        return self.summary_

    def _as_summary(self, source: Any) -> Summary:
        return source if isinstance(source, Summary) else self.summarise(source)

    def _relearn(self, summary: Summary) -> Self:
        assert self._source_columns is not None
        if summary.n_sources < 2:
            raise CollectionError(
                f"{write_count(summary.n_sources, 'source')} left; at least two are needed to learn how datasets "
                "differ. Keep more."
            )
        model = assemble_model(self.model_.features, summary, self.settings_, self.model_.calibration)
        self._set_model(model, self.settings_, summary, self._source_columns)
        return self

    def _fit(self, X_nu: Floats, X_de: Floats) -> None:
        model = self._learned()
        nu, de = model(X_nu), model(X_de)
        at_nu, at_de = model.fitted_log_ratios(nu, de)
        self._supports = Support.of(nu), Support.of(de)
        self.ratio_nu_, self.ratio_de_ = (ratio_of_log(found, float(self.alpha)) for found in (at_nu, at_de))

    @np.errstate(over="ignore", invalid="ignore")
    def _ratio(self, X: Floats) -> NDArray[Any]:
        nu, de = self._supports
        model = self._learned()
        return ratio_of_log(model.log_ratio(model(X), nu, de), float(self.alpha))

    def _divergences(self, rows: Floats, nu: Numbers, de: Numbers) -> Floats:
        ratios = self._ratios_at_samples(rows, nu, de)
        return relative_pearson_divergence(ratios, equal_shares(nu.shape[1], de.shape[1], ratios), float(self.alpha))

    def _ratios_at_samples(self, rows: Floats, nu: Numbers, de: Numbers) -> Floats:
        """Return the ratios at the rows of both samples of many pairs, as `fit` would for each."""
        model, alpha = self._learned(), float(self.alpha)
        # Compute each row once, however many pairs contain it.
        places, numbers = np.unique(np.concatenate([nu, de], axis=1), return_inverse=True)
        coordinates, n_nu, n_de = model(rows[places]), nu.shape[1], de.shape[1]
        numbers = numbers.reshape(len(nu), n_nu + n_de)
        row_values = numbers.shape[1] * max(min(coordinates.shape[1], 128), 1)
        found, log_ratios_of = np.empty(numbers.shape), model.fitted_log_ratios_of(coordinates, len(nu), n_nu, n_de)
        for block in row_blocks(len(numbers), row_values, CACHED_VALUES):
            log_ratios = log_ratios_of(*np.split(numbers[block], [n_nu], axis=1))
            found[block] = ratio_of_log(np.concatenate(log_ratios, axis=1), alpha)
        return found


def _check_summaries(given: Any, validation: Any) -> list[Summary] | None:
    """Return summaries as a list, checked to have one map and no validation datasets; None for anything else."""
    found = [given] if isinstance(given, Summary) else given
    if not isinstance(found, list | tuple) or not any(isinstance(each, Summary) for each in found):
        return None
    if validation is not None:
        raise ParameterError(
            "validation is given with summaries, but some of them are held out to choose settings by. Leave it out."
        )
    for number, each in enumerate(found):
        if not isinstance(each, Summary):
            raise ParameterError(
                f"Source {number} is a {type(each).__name__}; with others that are summaries, all must be. Make it one "
                "with SourceMap.summarise."
            )
        if each.features.fingerprint != found[0].features.fingerprint:
            raise InputError(
                f"Summaries 0 and {number} were made with different maps, so that their numbers mean different things. "
                "Make all with one map."
            )
        if each.features.columns is None:
            raise InputError(
                f"Summary {number} does not know what its columns are: an estimator made it. Make it with a SourceMap."
            )
    n_sources = sum(each.n_sources for each in found)
    if n_sources < 2:
        raise CollectionError(
            "There is a summary of one source; at least two sources are needed to learn how datasets differ. Add more."
        )
    return list(found)


def learn_together(
    estimators: Sequence[DiscriminantRatioEstimator], collection: Collection, validation: Collection | None
) -> list[Learned]:
    """Let estimators with different features and units learn from the same sources.

    Return what each learned; all hold out the same sources in the same turns.
    """
    rows = [np.asarray(dataset.X, np.float64) for dataset in collection]
    sources = order_sources(rows, collection.groups)
    held_out = [] if validation is None else [Source(np.asarray(dataset.X, np.float64)) for dataset in validation]
    scalings = {scale: _find_scaling(scale, rows) for scale in {each.scale for each in estimators}}
    n_at_once = min(len(estimators), n_threads())
    n_workers, is_alone = n_threads() // n_at_once, len(estimators) == 1

    def learn_one(estimator: DiscriminantRatioEstimator) -> Learned:
        settings = estimator._candidates(), float(estimator.alpha), draw_seed(estimator.random_state)
        # One progress bar at a time.
        show = None if is_alone else False
        return learn(sources, held_out, scalings[estimator.scale], *settings, n_workers, show)

    # Columns are fastest, so they run last.
    slow_first = sorted(estimators, key=lambda each: each.features == "columns")
    with one_thread(), ThreadPoolExecutor(n_at_once) as workers:
        # In this thread, a single model can be interrupted at once; of several, those that have begun are completed.
        done = map(learn_one, slow_first) if is_alone else workers.map(learn_one, slow_first)
        tracked = track(done, len(estimators), "learning", show=False if is_alone else None, unit="models")
        found = dict(zip(slow_first, tracked, strict=True))
    columns = SourceColumns.of(collection)
    for estimator, learned in found.items():
        estimator._set_model(learned.model, learned.settings, learned.summary, columns)
    return [found[each] for each in estimators]


def _find_scaling(scale: str, sources: Sequence[Floats]) -> ColumnScaling | RankScaling:
    if scale == "ranks":
        return RankScaling.of(sources)
    if scale == "columns":
        return ColumnScaling(*column_scaling(sources))
    with np.errstate(over="ignore", invalid="ignore"):
        mean = sum(rows.sum(0) for rows in sources) / sum(map(len, sources))
    return ColumnScaling(mean, np.ones_like(mean))
