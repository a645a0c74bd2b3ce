"""The result of comparing all datasets: divergences, neighbours, and tests of new datasets."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial.distance import squareform

from fewratio.core.effects import means_apart, write_effect
from fewratio.core.shapes import Floats, Numbers
from fewratio.core.wording import join_names, quote_list, write_count, write_p
from fewratio.data.encoding import Encoding
from fewratio.errors import ParameterError
from fewratio.estimators import samples as inputs
from fewratio.many.novelty import ColumnOfDataset, Profiles
from fewratio.many.pair_blocks import PairTest
from fewratio.report.reported import Reported, make_plain
from fewratio.testing import LEVEL
from fewratio.testing.permutations import Exchange

if TYPE_CHECKING:
    from fewratio.charts.chart import Picture
    from fewratio.report.page import Report

# The most datasets for which notebooks show a report.
_MOST_SHOWN = 1000
# An effect counts if it is larger than this many standard errors, which allows for several columns.
_CHANCE = 3.0
# Divergences below this are 0 when rounded.
_ROUNDED = 0.005
# The most datasets that the answer calls outstanding, and the effect from which on they are far from the rest.
_MOST_OUTSTANDING, _FAR = 3, 1.0


@dataclass(frozen=True, eq=False, repr=False)
class AllPairsResult(Reported):
    """Result of `compare_all`.

    Attributes
    ----------
    names : sequence of str
        Names of the n datasets.
    divergences : ndarray of shape (n, n)
        The divergence of each pair; 0 on the diagonal. At alpha = 0.5, the default, the matrix is symmetric: the mean
        of the estimates in both directions. Otherwise rows are numerators and columns denominators.
    p_values : ndarray of shape (n, n) or None
        The permutation p-value of each pair; 1 on the diagonal. None without a test.
    settings : dict
        The arguments of `compare_all`.
    new : tuple of str
        Names of the new datasets.
    profiles : dict of str to Profiles
        For each new dataset, statistics of its columns and of those of the datasets that are not new.
    sizes : ndarray of shape (n,)
        Number of rows of each dataset, before drawing.
    encoding : Encoding or None
        How the columns were encoded.

    Examples
    --------
    >>> from fewratio import compare_all
    >>> result = compare_all({"a": [[0.0], [1.0]], "b": [[8.0], [9.0], [9.5]], "c": [[0.5], [0.8]]})
    >>> result
    AllPairsResult(3 datasets, divergences ... to ...)
    >>> [result.names[i] for i in result.order()]
    ['b', 'a', 'c']
    """

    names: Sequence[str]
    divergences: Floats
    p_values: Floats | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    new: tuple[str, ...] = ()
    profiles: dict[str, Profiles] = field(default_factory=dict)
    sizes: Numbers | None = None
    encoding: Encoding | None = None
    _samples: Sequence[Floats] = ()
    _test: PairTest | None = None

    @cached_property
    def nearest_divergences(self) -> Floats:
        """The mean divergence (of both directions) of each dataset from the nearest other one that is not new."""
        distance = (self.divergences + self.divergences.T) / 2
        np.fill_diagonal(distance, np.inf)
        return np.asarray(distance[:, [name not in self.new for name in self.names]].min(1))

    @cached_property
    def novelty_scores(self) -> dict[str, Floats]:
        """For each new dataset, how unlike the rest each dataset that is not new is, and last the new one itself.

        Each is the largest of three scores, in mean absolute deviations from the median: of the divergence from the
        nearest dataset, of the most extreme column (in its mean, its deviation, or the part that other columns do not
        predict), and of the most extreme rank correlation of two columns.
        """
        is_known = [name not in self.new for name in self.names]
        nearest = dict(zip(self.names, self.nearest_divergences.tolist(), strict=True))
        known = self.nearest_divergences[is_known]
        return {name: each.score_novelty(np.append(known, nearest[name])) for name, each in self.profiles.items()}

    @cached_property
    def new_p_values(self) -> dict[str, float]:
        """The p-value of each new dataset: small if it is unlike all others.

        It is the share of datasets, including the new one, that are at least as unlike the rest (`novelty_scores`). If
        all datasets are exchangeable and of equal size, and no model has learned from them, a p-value of 0.05 or less
        occurs at most 5 % of the time. At least 19 other datasets are needed for a p-value of 0.05.
        """
        return {name: float((scores >= scores[-1]).mean()) for name, scores in self.novelty_scores.items()}

    def new_columns(self, name: str) -> list[ColumnOfDataset]:
        """Compare the columns of a new dataset with those of the others; those outside their range come first.

        Parameters
        ----------
        name : str
            Name of a new dataset.
        """
        if name not in self.profiles:
            there = f"there are {quote_list(self.new)}" if self.new else "none was judged"
            raise ParameterError(
                f"{name!r} is not a new dataset; {there}. Name one that you passed to compare_all as new=."
            )
        return self.profiles[name].describe()

    @cached_property
    def adjusted_p_values(self) -> Floats | None:
        """The p-values adjusted by Benjamini and Hochberg; None without a test.

        Among pairs with adjusted p-values below q, at most a share q are false discoveries on average. Pairs with a
        common dataset are dependent; the rate is usually controlled nevertheless, but this is not proved.
        """
        if self.p_values is None:
            return None
        from scipy.stats import false_discovery_control

        adjusted: Floats = squareform(false_discovery_control(squareform(self.p_values, checks=False)))
        return adjusted + np.eye(len(self.names))

    def p_value(self, first: str, second: str) -> float | None:
        """Return the unadjusted permutation p-value of one pair; run the test if there was none.

        The test uses the rows that were drawn.

        Parameters
        ----------
        first, second : str
            Names of datasets.
        """
        i, j = sorted(map(self._find, (first, second)))
        if self.p_values is not None:
            return float(self.p_values[i, j])
        if self._test is None:
            return None
        return self._test.run(self._samples[i], self._samples[j], (i, j)).p_value

    def stands_out_by(self, name: str) -> list[tuple[str, float]]:
        """Compare the columns of a dataset with those of all others that are not new, the largest effect first.

        Parameters
        ----------
        name : str
            Name of the dataset.

        Returns
        -------
        list of (str, float)
            The columns (one feature of columns such as categories), and Cohen's d between the dataset and all rows of
            the others, positive if the dataset has larger values.
        """
        place = self._find(name)
        if not len(self._samples):
            return []
        others = [each for i, each in enumerate(self._samples) if i != place and self.names[i] not in self.new]
        first, second = self._samples[place], np.concatenate(others)
        encoding = self.encoding or Encoding.of_numbers(None, first.shape[1])
        found = []
        for column, each in encoding.places.items():
            effects = [means_apart(first[:, k], second[:, k]) for k in range(each.start, each.stop)]
            largest = int(np.abs(effects).argmax())
            is_one = len(effects) == 1
            found.append((column if is_one else encoding.features[each.start + largest], effects[largest]))
        return sorted(found, key=lambda pair: -abs(pair[1]))

    @cached_property
    def median_divergences(self) -> Floats:
        """The median divergence of each dataset from all others that are not new; it is small for typical datasets."""
        is_known = np.array([name not in self.new for name in self.names])
        medians = []
        # Row by row, since a copy of all pairs of ten thousand datasets takes 0.8 GB.
        for i in range(len(self.names)):
            others = is_known & (np.arange(len(is_known)) != i)
            medians.append(np.median((self.divergences[i, others] + self.divergences[others, i]) / 2))
        # A negative estimate means that no difference was found.
        return np.maximum(medians, 0)

    def list_datasets(self, most: int) -> list[tuple[str, float]]:
        """Return the datasets that stand out most, each with its median divergence from all others."""
        order = np.argsort(-self.median_divergences, kind="stable")[:most].tolist()
        return [(self.names[i], float(self.median_divergences[i])) for i in order]

    @property
    def p_heading(self) -> str:
        """The heading for the p-values of `write_p_value` in tables."""
        return "p" if self.p_values is None else "adjusted p"

    @property
    def p_note(self) -> str:
        """Whether the p-values of `write_p_value` are adjusted."""
        is_plain = self.p_values is None
        return "not adjusted for the number of datasets" if is_plain else "adjusted for the number of pairs"

    @cached_property
    def outstanding(self) -> str:
        """Name the datasets that are far from all others, and the columns in which all of them differ; "" if none.

        They are at most three and less than half of all datasets: those above the largest gap between sorted median
        divergences. Datasets with near neighbours, as in a group, do not count.
        """
        listed = self.list_datasets(_MOST_OUTSTANDING + 1)
        n_most = min(_MOST_OUTSTANDING, (len(self.names) - 1) // 2)
        gaps = [listed[k][1] - listed[k + 1][1] for k in range(n_most)]
        if not gaps or max(gaps) < _ROUNDED:
            return ""
        names, medians = zip(*listed[: int(np.argmax(gaps)) + 1], strict=True)
        named = np.isin(self.names, names)
        rest = ~named & ~np.isin(self.names, self.new)
        nearest = (self.divergences[np.ix_(named, rest)] + self.divergences[np.ix_(rest, named)].T) / 2
        # A dataset of a group does not stand out, since others are near it.
        if rest.any() and nearest.min() < np.median(self.median_divergences[rest]):
            return ""
        effects = [dict(self._list_large(name)) for name in names]
        signs = {column: {np.sign(each.get(column, 0.0)) for each in effects} for column in effects[0]}
        # Name only columns in which all these datasets differ in the same direction.
        alike = [(column, found) for column, found in signs.items() if len(found) == 1]
        shared = [column for column, found in alike if found == alike[0][1]][:2]
        said = ""
        if shared:
            far = "far " * (min(abs(each[column]) for each in effects for column in shared) > _FAR)
            # Columns of files without a header have numbers as names.
            called = "columns " * all(str(column).isdigit() for column in shared)
            called = called if len(shared) > 1 else called.replace("columns", "column")
            where = "above" if effects[0][shared[0]] > 0 else "below"
            said = f": {called}{join_names(list(map(str, shared)))} {far}{where} the rest"
        stand = "stands out most" if len(names) == 1 else "stand out most"
        return f"{join_names(names)} {stand} (median divergence {join_names([f'{x:.2f}' for x in medians])}){said}."

    @cached_property
    def summary(self) -> str:
        """A summary: the datasets that stand out, and the pairs that differ least and most, or that none do."""
        i, j = np.triu_indices(len(self.names), 1)
        apart = (self.divergences[i, j] + self.divergences[j, i]).clip(0) / 2
        least, most = (
            join_names([str(self.names[side[place]]) for side in (i, j)]) for place in (apart.argmin(), apart.argmax())
        )
        n_alike, found = int((apart < _ROUNDED).sum()), f"{apart.max():.2f}"
        farthest = (str(self.names[side[apart.argmax()]]) for side in (i, j))
        p_value = self.write_p_value(*farthest)
        if len(apart) == 1:
            return f"The divergence of {least} is {found} ({self.p_heading} = {p_value})."
        first = f"{self.outstanding} " * bool(self.outstanding)
        if self.adjusted_p_values is not None:
            # Each pair appears twice in the table.
            n_different = int((self.adjusted_p_values <= LEVEL).sum()) // 2
            differ = "differs" if n_different == 1 else "differ"
            pairs = f"{n_different} of {len(apart)} pairs {differ} (adjusted p-value at most {LEVEL})"
            return f"{pairs}; {most} differ most (divergence {found}). {first}".rstrip()
        if n_alike == len(apart) or (p_value[:1].isdigit() and float(p_value) > LEVEL):
            said = f"No difference was found between any two of the {len(self.names)} datasets"
            return f"{said}: {most} differ most (divergence {found}), and chance explains that (p = {p_value})."
        if n_alike > 1:
            alike = f"{n_alike} of {len(apart)} pairs show no difference"
            return f"{first}{most} differ most (divergence {found}); {alike}."
        similar = f"{least} are the most similar (divergence {apart.min():.2f})"
        return f"{first}{similar}, {most} the most different ({found})."

    @property
    def scale(self) -> str:
        """The meaning of the divergences in a few words."""
        estimator = self.settings.get("estimator")
        alpha = getattr(estimator, "alpha", 0.5 if estimator is None else 0)
        most = f", {(1 - alpha) / (2 * alpha):.3g} with nothing in common" if alpha else ""
        closer = " One quick model serves all pairs; a comparison of two tables looks closer and may find more."
        return f"0 if alike{most}.{closer * (estimator is None)}"

    @property
    def data_used(self) -> dict[str, str]:
        """The columns and rows that were used, in words."""
        said = {} if self.encoding is None else {"Columns": self.encoding.summary}
        if self.sizes is not None:
            used, low, high = list(map(len, self._samples)), self.sizes.min(), self.sizes.max()
            rows = f"{low:,}" if low == high else f"{low:,} to {high:,}"
            drawn = f"; at most {max(used)} of each, drawn at random, are used" if sum(used) < self.sizes.sum() else ""
            said["Rows"] = f"{rows} of each dataset{drawn}"
        return said

    def write_p_value(self, first: str, second: str) -> str:
        """Write the p-value of a pair, adjusted if all pairs were tested; or say that there are too few rows."""
        if self._test is None:
            return ""
        i, j = map(self._find, (first, second))
        sizes = len(self._samples[i]), len(self._samples[j])
        if Exchange((sum(sizes),), sizes[:1]).smallest_p_value(self._test.n_permutations) > LEVEL:
            return "too few rows"
        adjusted = self.adjusted_p_values
        return write_p(self.p_value(first, second) if adjusted is None else adjusted[i, j])

    def write_columns(self, name: str, most: int = 3) -> str:
        """Write the columns in which a dataset stands out by more than chance, with their effects."""
        return ", ".join(f"{column} {write_effect(effect)}" for column, effect in self._list_large(name)[:most])

    def _list_large(self, name: str) -> list[tuple[str, float]]:
        """Return the columns in which a dataset stands out by more than chance."""
        n = len(self._samples[self._find(name)]) if len(self._samples) else 1
        return [(column, effect) for column, effect in self.stands_out_by(name) if abs(effect) > _CHANCE / n**0.5]

    def _find(self, name: str) -> int:
        """Return the number of a dataset."""
        if name not in self.names:
            raise ParameterError(f"There is no dataset {name!r}; there are {quote_list(self.names)}. Name one of them.")
        return list(self.names).index(name)

    def verdict(self, name: str) -> str:
        """Say whether a new dataset is unlike the others.

        Parameters
        ----------
        name : str
            Name of a new dataset.
        """
        p_value, n_others = self.new_p_values[name], len(self.names) - len(self.new)
        others = write_count(n_others, "other dataset")
        if p_value <= LEVEL:
            first = self.new_columns(name)[0]
            found = f"Farthest: {first}." if first.is_outside else "No column by itself is outside their range."
            return f"{name} is unlike all {others} (p = {write_p(p_value)}). {found}"
        smallest = 1 / (1 + n_others)
        if p_value <= smallest:
            return (
                f"{name} differs more from the {others} than any of these does, but they are too few to rule out "
                f"chance: no p-value can be below {write_p(smallest)}."
            )
        few = f" There are too few to decide: no p-value can be below {write_p(smallest)}." * (smallest > LEVEL)
        return f"Nothing shows that {name} is unlike the {others} (p = {write_p(p_value)}).{few}"

    def nearest(self, name: str, k: int = 5) -> list[tuple[str, float]]:
        """Return the datasets that differ least from one, the nearest first, each with its mean divergence.

        Parameters
        ----------
        name : str
            Name of the dataset.
        k : int
            The most datasets to return.
        """
        inputs.check_count("k", k)
        place = self._find(name)
        distance = (self.divergences[place] + self.divergences[:, place]) / 2
        # New datasets are compared only with the others.
        left_out = {*self.new, name} if name in self.new else {name}
        order = [i for i in np.argsort(distance, kind="stable").tolist() if self.names[i] not in left_out]
        return [(self.names[i], float(distance[i])) for i in order[:k]]

    def order(self) -> Numbers:
        """Return the numbers of the datasets in an order that puts similar datasets next to each other.

        It is the order of the leaves of a hierarchical clustering (average linkage on the mean divergence of both
        directions).
        """
        from scipy.cluster.hierarchy import leaves_list, linkage

        # Row by row, since with ten thousand datasets each matrix of all pairs takes 0.8 GB.
        n, start = len(self.names), 0
        distance = np.empty(n * (n - 1) // 2)
        for i in range(n):
            row = distance[start : start + n - 1 - i]
            row[:] = (self.divergences[i, i + 1 :] + self.divergences[i + 1 :, i]) / 2
            start += len(row)
        # Distances must not be negative: shift all estimates by the same amount.
        distance -= distance.min()
        return np.asarray(leaves_list(linkage(distance, "average")), dtype=np.intp)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, strings and lists."""
        known = make_plain(self, "names", "divergences", "p_values", "adjusted_p_values", "median_divergences")
        judged = make_plain(self, "new_p_values", "nearest_divergences") if self.new else {}
        if self.new:
            judged["new_columns"] = {name: [each._asdict() for each in self.new_columns(name)] for name in self.new}
        return known | judged | {"order": self.order().tolist()}

    def plot(self) -> "Picture":
        """Draw the divergences as a heat map, with similar datasets side by side.

        Returns
        -------
        Picture
            A chart that notebooks display; ``save(path)`` writes it to a file.
        """
        from fewratio.many.report import draw_all_pairs

        return draw_all_pairs(self)

    def _report(self, command: str | None = None) -> "Report":
        from fewratio.many.report import report_all_pairs

        return report_all_pairs(self, command)

    def _repr_html_(self) -> str | None:
        # Clustering many datasets is too slow for a notebook's default display.
        return super()._repr_html_() if len(self.names) <= _MOST_SHOWN else None

    def __repr__(self) -> str:
        apart = self.divergences[~np.eye(len(self.names), dtype=np.bool_)]
        parts = [write_count(len(self.names), "dataset"), f"divergences {apart.min():.3g} to {apart.max():.3g}"]
        if self.p_values is not None:
            parts.append(f"p-values from {write_p(self.p_values.min())}")
        return f"AllPairsResult({', '.join(parts)})"
