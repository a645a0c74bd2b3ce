"""What comparing all pairs of datasets gives."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fewratio.applications.parameters import check_count
from fewratio.data.columns import counted, listed
from fewratio.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class AllPairsResult:
    """What `compare_all` found.

    Attributes
    ----------
    names : sequence of str
        Names of the n datasets.
    divergences : ndarray of shape (n, n)
        The divergence of the row's dataset (numerator) from the column's; 0 on the diagonal.
    p_values : ndarray of shape (n, n) or None
        The permutation p-value of each pair, whichever is first; 1 on the diagonal. None if not asked for.

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
    divergences: NDArray[np.float64]
    p_values: NDArray[np.float64] | None = None

    @cached_property
    def adjusted_p_values(self) -> NDArray[np.float64] | None:
        """The p-values adjusted by Benjamini and Hochberg: those below q make a share of at most q false discoveries.

        Pairs that share a dataset are not independent; the control under such dependence is not proved, but usual.
        """
        if self.p_values is None:
            return None
        from scipy.stats import false_discovery_control

        i, j = np.triu_indices(len(self.names), 1)
        adjusted = np.ones_like(self.p_values)
        adjusted[i, j] = adjusted[j, i] = false_discovery_control(self.p_values[i, j])
        return adjusted

    def nearest(self, name: str, k: int = 5) -> list[tuple[str, float]]:
        """Give the datasets that differ least from one, the nearest first, with the mean divergence of both directions.

        Parameters
        ----------
        name : str
            The dataset.
        k : int
            How many at most.
        """
        check_count("k", k, 1)
        if name not in self.names:
            raise ParameterError(f"There is no dataset {name!r}; there are {listed(self.names)}. Name one of them.")
        place = list(self.names).index(name)
        distance = (self.divergences[place] + self.divergences[:, place]) / 2
        order = [i for i in np.argsort(distance, kind="stable").tolist() if i != place]
        return [(self.names[i], float(distance[i])) for i in order[:k]]

    def order(self) -> NDArray[np.intp]:
        """Give the datasets' numbers in an order in which like ones are neighbours.

        They are the leaves of hierarchical clustering by average linkage on the mean divergence of both directions.
        """
        from scipy.cluster.hierarchy import leaves_list, linkage

        i, j = np.triu_indices(len(self.names), 1)
        distance = (self.divergences[i, j] + self.divergences[j, i]) / 2
        # An estimate may be negative, a distance may not; all are moved alike.
        return np.asarray(leaves_list(linkage(distance - distance.min(), "average")), dtype=np.intp)

    def to_dict(self) -> dict[str, Any]:
        """Return everything in words of JSON."""
        adjusted = self.adjusted_p_values
        return {
            "names": list(self.names),
            "divergences": self.divergences.tolist(),
            "p_values": None if self.p_values is None else self.p_values.tolist(),
            "adjusted_p_values": None if adjusted is None else adjusted.tolist(),
            "order": self.order().tolist(),
        }

    def plot(self) -> "Figure":
        """Draw the divergences as a heat map, like datasets side by side.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from fewratio.applications.pictures import draw_all_pairs

        return draw_all_pairs(self)

    def __repr__(self) -> str:
        apart = self.divergences[~np.eye(len(self.names), dtype=np.bool_)]
        parts = [counted(len(self.names), "dataset"), f"divergences {apart.min():.3g} to {apart.max():.3g}"]
        if self.p_values is not None:
            parts.append(f"p-values from {self.p_values.min():.3g}")
        return f"AllPairsResult({', '.join(parts)})"
