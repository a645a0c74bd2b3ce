"""The result of looking for changes."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fewratio.errors import FewRatioError

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class ChangePoints:
    """Where a series changed, made by `detect_changes`.

    Attributes
    ----------
    points : ndarray of int
        Numbers of the first rows after each change.
    scores : ndarray of shape (n_rows,)
        How far the windows before and from each row are apart; NaN where a window would leave the series.
    threshold : float
        What a score must exceed.
    p_values : ndarray or None
        Of the points, over all positions together; None where the threshold was given.
    window : int
        Rows of a window.
    estimator : RatioEstimator
        What gave the scores; for a `ChangeDetector` that goes on with later rows.
    """

    points: NDArray[np.intp]
    scores: NDArray[np.float64]
    threshold: float
    p_values: NDArray[np.float64] | None
    window: int
    estimator: Any

    def to_dict(self) -> dict[str, Any]:
        """Give all of it as plain numbers and lists; None stands for a score that is not there."""
        return {
            "points": self.points.tolist(),
            "scores": [None if np.isnan(score) else float(score) for score in self.scores],
            "threshold": self.threshold,
            "p_values": None if self.p_values is None else self.p_values.tolist(),
            "window": self.window,
        }

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the scores, the threshold and the points.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to; a new figure by default.

        Returns
        -------
        matplotlib Axes
        """
        try:
            from matplotlib.figure import Figure
        except ImportError as error:
            raise FewRatioError(
                "matplotlib is not installed; plot needs it. Run pip install 'fewratio[plot]'."
            ) from error
        if ax is None:
            ax = Figure(figsize=(8, 3), layout="constrained").add_subplot()
        ax.plot(self.scores, color="C0", label="score")
        ax.axhline(self.threshold, color="0.5", linestyle="--", label="threshold")
        for number, point in enumerate(self.points):
            ax.axvline(point, color="C3", label="change" if number == 0 else None)
        ax.set(xlabel="row", ylabel="symmetric divergence")
        ax.legend(frameon=False)
        return ax

    def __repr__(self) -> str:
        found = ", ".join(map(str, self.points)) or "none"
        return f"ChangePoints: {found} (threshold {self.threshold:.3g}, windows of {self.window} rows)"
