"""Threads and processes: every estimator gives the same bits from four threads and from workers of loky."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from joblib import Parallel, delayed

from hostile.python_calls import ESTIMATORS, LEARNED, _fitted
from hostile.values import good_table


def _predicted(estimator: Any) -> bytes:
    return bytes(estimator.predict(good_table(50, 3)).tobytes())


def answers() -> Iterator[tuple[str, str]]:
    """Give, for each estimator, whether threads and processes agree with the main thread."""
    for name in (*ESTIMATORS, "UniversalRatioEstimator", *LEARNED):
        estimator = _fitted(name)
        alone = _predicted(estimator)
        with ThreadPoolExecutor(4) as pool:
            same = set(pool.map(_predicted, [estimator] * 8)) == {alone}
        yield "threads", "same bits" if same else f"{name}: four threads give something else"
        found = Parallel(2, backend="loky")(delayed(_predicted)(estimator) for _ in range(2))
        same = set(found) == {alone}
        yield "processes", "same bits" if same else f"{name}: workers of loky give something else"
