"""A detector as users of PyOD expect it."""

from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray


class Judge(Protocol):
    """What scores a batch, higher where more normal, and sets its threshold."""

    def _judge(self, X: Any) -> tuple[NDArray[np.float64], float]:
        """Give scores and the threshold below which a row is flagged."""


class PyODStyle:
    """A fitted detector with PyOD's attributes: larger scores are odder, and labels are 0 (normal) and 1 (odd).

    Made by `InlierOutlierDetector.as_pyod`. As in PyOD, `fit` takes the rows to be judged; the normals are those that
    the detector was fitted to.

    Parameters
    ----------
    detector : InlierOutlierDetector
        Fitted to normal rows.

    Attributes
    ----------
    decision_scores_ : ndarray of shape (n,)
        Scores of the batch, higher where odder.
    threshold_ : float
        Rows with a score above it are labelled 1.
    labels_ : ndarray of shape (n,)
        The labels.
    """

    decision_scores_: NDArray[np.float64]
    threshold_: float
    labels_: NDArray[np.int64]

    def __init__(self, detector: Judge) -> None:
        self.detector = detector

    def fit(self, X: Any, y: None = None) -> Self:
        """Judge the rows of a batch."""
        scores, threshold = self.detector._judge(X)
        self.decision_scores_, self.threshold_ = -scores, -threshold
        self.labels_ = (self.decision_scores_ > self.threshold_).astype(np.int64)
        return self

    def fit_predict(self, X: Any, y: None = None) -> NDArray[np.int64]:
        """Judge the rows of a batch and give their labels."""
        return self.fit(X).labels_

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Give the scores of a batch of its own; higher is odder."""
        return -self.detector._judge(X)[0]

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Give the labels of a batch of its own, at a threshold of its own."""
        scores, threshold = self.detector._judge(X)
        return (scores < threshold).astype(np.int64)
