"""Checks for ratio estimators, including those of users.

The docstring of a check says what is expected, its error message what was found instead.
"""

import random
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from copy import deepcopy
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import joblib
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from fewratio.data.collection import Collection as Datasets

# Far above the rounding errors of a float32 network, far below the effects of another row order or block size.
_RELATIVE, _ABSOLUTE = 1e-4, 1e-5
_HAS_FRAMES = find_spec("pandas") is not None and find_spec("narwhals") is not None
# Changes of a table that need not change the ratio.
_CHANGES: dict[str, dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]]] = {
    "column order": {"columns in another order": lambda X: X[:, ::-1]},
    "scale": {"values doubled": lambda X: 2 * X, "values a thousand times as large": lambda X: 1000 * X},
    "shift": {"values shifted": lambda X: X + np.array([3.0, -40.0])},
}


def check_ratio_estimator(estimator: Any, *, random_state: int = 0, invariant_under: Collection[str] = ()) -> None:
    """Check that an estimator adheres to the conventions of ratio estimators.

    They are those of `fewratio.estimators.RatioEstimator`: parameters as in scikit-learn, ``fit(X_nu, X_de)``,
    ``predict(X)``, ``divergence()``, ``divergences(X, nu, de)`` and the ratio at the fitted rows as ``ratio_nu_`` and
    ``ratio_de_``. An estimator with a method ``pretrain(collection)`` is pretrained twice on a few Gaussian datasets
    with two features, so use few training steps.

    Parameters
    ----------
    estimator : object
        The estimator, which is cloned before fitting.
    random_state : int
        Seed of the samples, and of the clones if they have a parameter ``random_state``.
    invariant_under : collection of {"column order", "scale", "shift"}
        Changes to the columns of all samples that must not change the ratio (nor the random draws) of this estimator.
        The order of rows and the sign of zero must never change it.

    Raises
    ------
    AssertionError
        If a check fails; the message names the check and says what was expected and found.

    Examples
    --------
    >>> from fewratio import RuLSIF, check_ratio_estimator
    >>> check_ratio_estimator(RuLSIF(reg=0.3), invariant_under=["column order", "scale", "shift"])
    """
    subject = _Subject(estimator, random_state, invariant_under)
    for name, check in vars(_Subject).items():
        if name.startswith("check_"):
            what = f"{type(estimator).__name__} fails the check '{name.removeprefix('check_')}'"
            with _finding(what, check.__doc__):
                check(subject)


class _Subject:
    """The estimator to be checked, the samples to check it on, and the checks, in their order."""

    def __init__(self, estimator: Any, random_state: int, invariant_under: Collection[str]) -> None:
        self.estimator, self.random_state, self.invariant_under = estimator, random_state, invariant_under

    def make_estimator(self, twin: bool = False) -> Any:
        """Return an estimator that is ready for its first fit; a twin is created independently."""
        return deepcopy(self._prepared[twin])

    def samples(self, n_nu: int, n_de: int, shift: float = 1.5) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Draw two Gaussian samples with two features, always the same ones."""
        rng = np.random.default_rng(self.random_state)
        return rng.normal(0, 1, (n_nu, 2)), rng.normal(shift, 1, (n_de, 2))

    # Copying a pretrained estimator is as good as pretraining it again, and much cheaper.
    @cached_property
    def _prepared(self) -> tuple[Any, Any]:
        return self._prepare(), self._prepare()

    def _prepare(self) -> Any:
        estimator = clone(self.estimator)
        if "random_state" in estimator.get_params(deep=False):
            estimator.set_params(random_state=self.random_state)
        if hasattr(estimator, "pretrain"):
            with _nothing_changes("pretrain", estimator):
                _expect(estimator.pretrain(self._collection()) is estimator, "pretrain does not return self")
        return estimator

    def _collection(self) -> Datasets:
        """Datasets with different means and a few outliers each, for estimators that learn from them."""
        rng = np.random.default_rng(self.random_state)
        outlier = np.arange(60) < 6
        X = rng.normal(rng.uniform(-2, 2, (10, 1, 2)), 1, (10, 60, 2)) + 6 * outlier[:, None]
        return Datasets.from_arrays(list(X), outliers=[outlier] * len(X))

    def check_parameters_round_trip(self) -> None:
        """`__init__` only stores; `get_params`, `set_params` and `sklearn.base.clone` agree on the parameters."""
        parameters = self.estimator.get_params(deep=False)
        # Objects that can be stored, and nothing else.
        marks: dict[str, Any] = {name: object() for name in parameters}
        copy, made = clone(self.estimator), type(self.estimator)(**marks)
        different = [name for name, mark in marks.items() if getattr(made, name) is not mark]
        _expect(not different, f"__init__ stores another value for {_write_names(different)}")
        changed = _find_changed(_fingerprints(parameters), _fingerprints(copy.get_params(deep=False)))
        _expect(not changed, f"clone changes the parameter {_write_names(changed)}")
        _expect(copy.set_params(**marks) is copy, "set_params does not return self")
        lost = [name for name, value in copy.get_params(deep=False).items() if value is not marks[name]]
        _expect(not lost, f"get_params does not give what set_params was given for {_write_names(lost)}")

    def check_nothing_else_is_changed(self) -> None:
        """`fit` returns self, and changes no parameters, no arguments and no global random state."""
        # Enough rows for an estimator that draws some of them.
        given = dict(zip(("X_nu", "X_de", "X"), (*self.samples(350, 60), self.samples(5, 1)[0]), strict=True))
        kept = {name: array.copy() for name, array in given.items()}
        for writeable in (True, False):
            estimator = self.make_estimator()
            for array in given.values():
                array.flags.writeable = writeable
            with _nothing_changes("fit, predict or divergence", estimator):
                _expect(estimator.fit(given["X_nu"], given["X_de"]) is estimator, "fit does not return self")
                estimator.predict(given["X"])
                estimator.divergence()
            changed = [name for name, array in given.items() if not np.array_equal(array, kept[name])]
            _expect(not changed, f"{_write_names(changed)} was changed")

    def check_answers_are_reproducible(self) -> None:
        """`fit` with the same samples and `random_state` is bit-identical, whatever was fitted before."""
        X_nu, X_de = self.samples(350, 60)
        used = self.make_estimator().fit(5 * X_de - 3, X_nu[:4])
        used.predict(X_de)
        fitted = [each.fit(X_nu, X_de) for each in (used, self.make_estimator(), self.make_estimator(twin=True))]
        found = [(each.predict(X_de), each.divergence()) for each in fitted]
        for cause, answers in (("an earlier fit", found[0]), ("chance", found[2])):
            for what, mine, other in zip(("ratio", "divergence"), answers, found[1], strict=True):
                _expect(np.array_equal(mine, other, equal_nan=True), f"the {what} depends on {cause}")

    def check_answers_are_valid(self) -> None:
        """Ratios are arrays of shape (n,) of finite floats, none below zero, and `divergence` is a finite float."""
        X_nu, X_de = self.samples(8, 12)
        estimator = self.make_estimator().fit(X_nu, X_de)
        for X in (X_nu, X_de, X_nu[:1], 100 * X_de):
            _expect_answers(estimator, X)
        for name, X in (("ratio_nu_", X_nu), ("ratio_de_", X_de)):
            with _finding(name):
                _expect_ratio(getattr(estimator, name), len(X))

    def check_poor_samples_are_accepted(self) -> None:
        """One instance per side, duplicate rows, constant columns and equal samples give finite ratios."""
        X_nu, X_de = self.samples(8, 12)
        poor = {
            "one instance per side": (X_nu[:1], X_de[:1]),
            "one instance against many": (X_nu[:1], X_de),
            "duplicate rows": (np.repeat(X_nu, 3, axis=0), np.repeat(X_de, 2, axis=0)),
            "a constant column": (X_nu * [1, 0] + [0, 0.1], X_de * [1, 0] + [0, 0.1]),
            "all rows alike": (np.ones((3, 2)), np.ones((5, 2))),
            "equal samples": (X_nu, X_nu),
        }
        for what, samples in poor.items():
            with _finding(f"with {what}"):
                estimator = self.make_estimator().fit(*samples)
                for X in (*samples, X_de):
                    _expect_answers(estimator, X)

    def check_kinds_of_numbers_are_accepted(self) -> None:
        """Integers, booleans, float32 and nested lists give what the same numbers give as float64."""
        whole = [np.rint(2 * X) for X in self.samples(8, 12)]
        kinds: dict[str, list[Any]] = {
            "integers": [X.astype(np.int64) for X in whole],
            "float32": [X.astype(np.float32) for X in whole],
            "lists": [X.tolist() for X in whole],
            "booleans": [X > 1 for X in whole],
        }
        expected = self.make_estimator().fit(*whole).predict(whole[1])
        for what, given in kinds.items():
            if what == "booleans":
                floats = [X.astype(np.float64) for X in given]
                expected = self.make_estimator().fit(*floats).predict(floats[1])
            with _finding(f"with {what}"):
                _expect_close(self.make_estimator().fit(*given).predict(given[1]), expected, "the ratio")

    def check_sample_sizes_do_not_mix(self) -> None:
        """For samples of one distribution, the mean ratio is near 1 and the divergence near 0, whatever their sizes."""
        # If the two sizes are mixed up, a mean is 20 times too large or too small.
        for sizes in ((100, 2000), (2000, 100)):
            estimator = self.make_estimator().fit(*self.samples(*sizes, shift=0.0))
            ratios, divergence = (estimator.ratio_nu_, estimator.ratio_de_), estimator.divergence()
            mean = np.concatenate(ratios).mean()
            # With r = 1 + e the relative Pearson divergence is (1 - alpha) (E_nu e - E_de e) - E e^2 / 2; log r <= e.
            errors = [ratio - 1 for ratio in ratios]
            bound = sum(np.abs(e).mean() for e in errors) + max(np.square(e).mean() for e in errors) / 2
            found = f"with {sizes[0]} and {sizes[1]} rows the mean ratio is {mean:.3g}, the divergence {divergence:.3g}"
            _expect(0.25 < mean < 4, found)
            _expect(abs(divergence) <= bound + _ABSOLUTE, f"{found}, but ratios so near 1 bound it by {bound:.3g}")

    def check_equivalent_samples_give_the_same(self) -> None:
        """Permuting rows, the sign of zero, and changes that the estimator is invariant under change only rounding."""
        # Few rows, and enough for an estimator that draws some of them.
        for sizes in ((9, 14), (190, 160)):
            X_nu, X_de = (np.where(np.abs(X) < 0.1, 0.0, X) for X in self.samples(*sizes))
            expected = self.make_estimator().fit(X_nu, X_de)
            samples = {
                "X_nu in another order": (X_nu[::-1], X_de, X_de),
                "X_de in another order": (X_nu, np.roll(X_de, 5, axis=0), X_de),
                "-0.0 for 0.0": tuple(np.where(X == 0, -0.0, X) for X in (X_nu, X_de, X_de)),
            }
            for kind in self.invariant_under:
                samples |= {name: (of(X_nu), of(X_de), of(X_de)) for name, of in _CHANGES[kind].items()}
            for name, (nu, de, X) in samples.items():
                found, where = self.make_estimator().fit(nu, de), f"of {len(X_nu)} and {len(X_de)} rows, with {name}"
                _expect_close(found.predict(X), expected.predict(X_de), f"{where}, the ratio")
                _expect_close(found.divergence(), expected.divergence(), f"{where}, the divergence")

    def check_threads_may_share_it(self) -> None:
        """`predict` and `divergences` change nothing, and give the same from several threads at once."""
        X_nu, X_de = self.samples(9, 14)
        estimator, rows = self.make_estimator().fit(X_nu, X_de), np.concatenate([X_nu, X_de])
        before, starts = estimator.predict(rows), [0, 5, 10]

        def read(start: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
            numbers = np.roll(np.arange(len(rows)), start)
            return estimator.predict(rows[numbers]), estimator.divergences(rows, [numbers[:9]], [numbers[9:]])

        alone = [read(start) for start in starts]
        _expect_close(estimator.predict(rows), before, "after divergences of other samples the ratio")
        with ThreadPoolExecutor(len(starts)) as pool:
            together = list(pool.map(read, starts))
        for found, expected in zip(together, alone, strict=True):
            for what, mine, known in zip(("ratio", "divergence"), found, expected, strict=True):
                _expect_close(mine, known, f"among threads the {what}")

    def check_rows_are_predicted_independently(self) -> None:
        """`predict` gives the same for many rows as row by row, up to rounding."""
        X_nu, X_de = self.samples(9, 14)
        predict = self.make_estimator().fit(X_nu, X_de).predict
        row_by_row = np.concatenate([predict(row[None]) for row in X_de])
        _expect_close(predict(X_de), row_by_row, "the ratio of many rows")

    def check_bad_calls_are_refused(self) -> None:
        """Bad input is a `ValueError` that names the argument, and the column; without `fit`, `NotFittedError`."""
        X_nu, X_de = self.samples(8, 12)
        ready, fitted = self.make_estimator(), self.make_estimator().fit(X_nu, X_de)
        _expect_refusal(NotFittedError, "predict before fit", (), ready.predict, X_nu)
        _expect_refusal(NotFittedError, "divergence before fit", (), ready.divergence)
        # In rows, and so often, that only the column's number is a 1.
        with_infinity, wide = [X_nu.copy(), X_de.copy()], np.column_stack([X_de, X_de[:, 0]])
        for X in with_infinity:
            X[4:7, 1] = np.inf
        for what, call, samples, words in (
            ("infinity in X_nu", ready.fit, (with_infinity[0], X_de), ("X_nu", "1")),
            ("infinity in X_de", ready.fit, (X_nu, with_infinity[1]), ("X_de", "1")),
            ("X_de with more columns than X_nu", ready.fit, (X_nu, wide), ("X_de",)),
            ("an empty X_nu", ready.fit, (X_nu[:0], X_de), ("X_nu",)),
            ("an empty X_de", ready.fit, (X_nu, X_de[:0]), ("X_de",)),
            ("X_nu with one axis", ready.fit, (X_nu[:, 0], X_de), ("X_nu",)),
            ("X_de with one axis", ready.fit, (X_nu, X_de[:, 0]), ("X_de",)),
            ("infinity in X", fitted.predict, (with_infinity[0],), ("X", "1")),
            ("X with more columns than were fitted", fitted.predict, (wide,), ("X",)),
            ("X with one axis", fitted.predict, (X_nu[:, 0],), ("X",)),
        ):
            _expect_refusal(ValueError, what, words, call, *samples)

    def check_feature_names_are_compared(self) -> None:
        """Columns of a data frame may come in any order; names that were not fitted are refused (`ValueError`)."""
        if not _HAS_FRAMES:
            return
        X_nu, X_de = self.samples(8, 12)
        nu, de = (_frame(a=X[:, 0], b=X[:, 1]) for X in (X_nu, X_de))
        estimator = self.make_estimator().fit(nu, de)
        swapped, renamed = _frame(b=X_de[:, 1], a=X_de[:, 0]), _frame(a=X_de[:, 0], c=X_de[:, 1])
        for what, X in (("a data frame", de), ("a data frame in another order", swapped)):
            _expect_close(estimator.predict(X), estimator.predict(X_de), f"the ratio of {what}")
        _expect_refusal(ValueError, "another name in X", ("X", "c"), estimator.predict, renamed)
        _expect_refusal(ValueError, "another name in X_de", ("X_nu", "X_de", "c"), estimator.fit, nu, renamed)

    def check_mixed_tables_are_taken(self) -> None:
        """Frames with text and missing values give finite ratios, also for categories that were not fitted."""
        # Estimators trained on numbers need numbers.
        if not _HAS_FRAMES or hasattr(self.estimator, "pretrain"):
            return
        X_nu, X_de = self.samples(8, 12)
        texts = (np.where(X[:, 1] > 0, "x", "y").tolist() for X in (X_nu, X_de))
        nu, de = (_frame(a=np.where(X > 2, np.nan, X)[:, 0], b=b) for X, b in zip((X_nu, X_de), texts, strict=True))
        estimator = self.make_estimator().fit(nu, de)
        for X in (nu, de, _frame(a=[np.nan, 0.5], b=["z", "x"])):
            _expect_answers(estimator, X)

    def check_ratio_is_larger_on_the_numerator(self) -> None:
        """For well separated samples, the mean ratio is larger on the numerator than on the denominator."""
        samples = self.samples(15, 20, shift=4.0)
        on_nu, on_de = map(np.mean, map(self.make_estimator().fit(*samples).predict, samples))
        _expect(bool(on_nu > on_de), f"the means are {on_nu:.3g} and {on_de:.3g}")


def _frame(**columns: Any) -> Any:
    import narwhals.stable.v2 as nw

    return nw.from_dict(columns, backend="pandas").to_native()


@contextmanager
def _finding(where: str, expected: str | None = None) -> Iterator[None]:
    """Say where a check failed. An unexpected error of the estimator is also a failure."""
    try:
        yield
    except Exception as error:
        found = str(error) if isinstance(error, AssertionError) else f"{type(error).__name__} was raised: {error}"
        raise AssertionError(f"{where}: {found}" + (f"\nExpected: {expected}" if expected else "")) from error


@contextmanager
def _nothing_changes(by: str, estimator: Any) -> Iterator[None]:
    """Expect that parameters and global random states stay as they are."""
    before = _fingerprints(estimator.get_params(deep=False)), _random_states()
    yield
    changed = _find_changed(before[0], _fingerprints(estimator.get_params(deep=False)))
    _expect(not changed, f"{by} changes the parameter {_write_names(changed)}")
    moved = _find_changed(before[1], _random_states())
    _expect(not moved, f"{by} changes the global random state of {_write_names(moved)}")


def _expect(satisfied: bool, found: str) -> None:
    # Not an assert statement, which python -O would skip.
    if not satisfied:
        raise AssertionError(found)


def _expect_answers(estimator: Any, X: Any) -> None:
    _expect_ratio(estimator.predict(X), len(X))
    divergence = estimator.divergence()
    _expect(isinstance(divergence, float) and bool(np.isfinite(divergence)), f"the divergence is {divergence!r}")


def _expect_ratio(ratio: Any, n_rows: int) -> None:
    _expect(isinstance(ratio, np.ndarray) and ratio.shape == (n_rows,), f"the ratio of {n_rows} rows is {ratio!r}")
    _expect(ratio.dtype.kind == "f", f"the ratio is of type {ratio.dtype}")
    _expect(bool(np.isfinite(ratio).all()), "a ratio is not finite")
    _expect(ratio.min() >= 0, f"a ratio is {ratio.min():.3g}")


def _expect_close(found: ArrayLike, expected: ArrayLike, what: str) -> None:
    off = np.abs(np.asarray(found) - np.asarray(expected)).max()
    _expect(np.allclose(found, expected, _RELATIVE, _ABSOLUTE), f"{what} is another one, by up to {off:.3g}")


def _expect_refusal(
    kind: type[Exception], what: str, words: Iterable[str], call: Callable[..., Any], *arguments: Any
) -> None:
    with _finding(what):
        try:
            call(*arguments)
        except kind as error:
            silent = [word for word in words if not re.search(rf"(?<!\w){re.escape(word)}(?!\w)", str(error))]
            _expect(not silent, f"the message does not name {_write_names(silent)}: {error}")
        else:
            raise AssertionError("it is accepted")


def _fingerprints(values: dict[str, Any]) -> dict[str, str]:
    return {name: joblib.hash(value) for name, value in values.items()}


def _find_changed(before: dict[str, str], after: dict[str, str]) -> set[str]:
    return {name for name, value in before.items() if value != after.get(name)}


def _random_states() -> dict[str, str]:
    states: dict[str, Any] = {"NumPy": np.random.get_state(), "Python": random.getstate()}  # noqa: NPY002 - read
    # Check only modules that are imported.
    if (torch := sys.modules.get("torch")) is not None:
        on_gpu = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
        states["torch"] = [state.numpy() for state in (torch.get_rng_state(), *on_gpu)]
    return _fingerprints(states)


def _write_names(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
