"""PyOD's view of a fitted detector."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fewratio.core.shapes import Floats


class PyODStyle:
    """A fitted detector with PyOD's attributes: outliers have larger scores and the label 1, others 0.

    Returned by `InlierOutlierDetector.as_pyod`. As in PyOD, `fit` gets the rows to score; the normals are those that
    the detector was fitted to.

    Parameters
    ----------
    detector : InlierOutlierDetector
        A detector fitted to normal rows.

    Attributes
    ----------
    decision_scores_ : ndarray of shape (n,)
        Scores of the batch; higher is more anomalous.
    threshold_ : float
        Rows with a higher score are labelled 1.
    labels_ : ndarray of shape (n,)
        1 for outliers, 0 for other rows.
    """

    def __init__(self, detector: Any) -> None:
        self.detector = detector

    def fit(self, X: Any, y: None = None) -> Self:
        """Score and label the rows of a batch."""
        scored, threshold = self.detector._score_batch(self.detector._read_batch(X))
        self.decision_scores_, self.threshold_ = -scored.rows, -threshold
        self.labels_ = (self.decision_scores_ > self.threshold_).astype(np.int64)
        return self

    def fit_predict(self, X: Any, y: None = None) -> NDArray[np.int64]:
        """Score the rows of a batch and return their labels."""
        return self.fit(X).labels_

    def decision_function(self, X: Any) -> Floats:
        """Return the scores of another batch; higher is more anomalous."""
        return -self.detector._score_batch(self.detector._read_batch(X))[0].rows

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the labels of another batch, using the threshold of that batch."""
        return PyODStyle(self.detector).fit(X).labels_
