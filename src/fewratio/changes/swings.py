"""Find slow swings as changes with ruptures."""

import numpy as np

from fewratio.changes.significance import FoundChanges
from fewratio.core.shapes import Floats
from fewratio.lazy import import_home


def find_swings(rows: Floats) -> FoundChanges:
    """Cut a series wherever its level moves, by binary segmentation with the penalty of BIC.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        The series; columns are compared in units of their deviation.
    """
    ruptures = import_home("ruptures", 'swings="changes"')
    spread = np.where(np.ptp(rows, axis=0) > 0, rows.std(0), 1.0)
    scaled, n = (rows - rows.mean(0)) / np.where(spread > 0, spread, 1.0), len(rows)
    search = ruptures.Binseg("l2").fit(scaled)
    points = [int(point) for point in search.predict(pen=2 * np.log(n))[:-1]]
    scores, cost = np.full(n, np.nan), search.cost.error
    for start, point, stop in zip([0, *points], points, [*points[1:], n], strict=False):
        scores[point] = max(0.0, cost(start, stop) - cost(start, point) - cost(point, stop))
    return FoundChanges(np.array(points, dtype=np.intp), scores)
