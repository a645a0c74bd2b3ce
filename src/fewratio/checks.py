"""What every ratio estimator must satisfy; users may run it on their own.

A check is a function whose docstring says what is expected and whose error says what was found instead.
"""

import random
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import joblib
import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from fewratio.data.collection import Collection

# Far above the rounding of a float32 network, far below what another row order or block size may change.
_RELATIVE, _ABSOLUTE = 1e-4, 1e-5


def check_ratio_estimator(estimator: Any, *, random_state: int = 0) -> None:
    """Check that an estimator keeps the contract of a ratio estimator.

    The contract is that of `fewratio.estimators.RatioEstimator`: parameters as in scikit-learn, ``fit(X_nu, X_de)``,
    ``predict(X)``, ``divergence()``. An estimator with a method ``pretrain(collection)`` is pretrained, twice, on a few
    Gaussian datasets with two features, so give it few training steps.

    Parameters
    ----------
    estimator : object
        The estimator; only clones of it are fitted.
    random_state : int
        Seed of the samples, and of the clones if they have a parameter ``random_state``.

    Raises
    ------
    AssertionError
        If a check fails: which one, what was found, what was expected.

    Examples
    --------
    >>> from fewratio import RuLSIF, check_ratio_estimator
    >>> check_ratio_estimator(RuLSIF(reg=0.3))
    """
    subject = _Subject(estimator, random_state)
    for check in _CHECKS:
        with _finding(f"{type(estimator).__name__} fails the check '{check.__name__.lstrip('_')}'", check.__doc__):
            check(subject)


class _Subject:
    """The estimator to be checked, and the samples to check it on."""

    def __init__(self, estimator: Any, random_state: int) -> None:
        self.estimator = estimator
        self.random_state = random_state
        self.moved_by_pretraining: set[str] = set()

    def fresh(self) -> Any:
        """Give an estimator that is ready for its first fit."""
        return deepcopy(self._prepared[0])

    def twin(self) -> Any:
        """Give another such, which came about independently."""
        return deepcopy(self._prepared[1])

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
            before = _fingerprints(estimator.get_params(deep=False)), _random_states()
            _expect(estimator.pretrain(self._collection()) is estimator, "pretrain does not return self")
            self.moved_by_pretraining |= _changed(before[1], _random_states())
            _expect_unchanged(before[0], estimator, "pretrain")
        return estimator

    def _collection(self) -> Collection:
        """Datasets around means of their own, each with a few outliers, for estimators that learn of those."""
        rng = np.random.default_rng(self.random_state)
        n_datasets, n_rows, n_outliers = 10, 60, 6
        X = rng.normal(rng.uniform(-2, 2, (n_datasets, 1, 2)), 1, (n_datasets, n_rows, 2))
        X[:, :n_outliers] += 6
        flags = np.arange(n_rows) < n_outliers
        return Collection.from_arrays(list(X), outliers=[flags] * n_datasets)


def _parameters_round_trip(subject: _Subject) -> None:
    """`get_params`, `set_params` and `sklearn.base.clone` agree on the parameters."""
    parameters = subject.estimator.get_params(deep=False)
    copy = clone(subject.estimator)
    _expect_unchanged(_fingerprints(parameters), copy, "clone")
    marks = {name: object() for name in parameters}
    _expect(copy.set_params(**marks) is copy, "set_params does not return self")
    lost = [name for name, value in copy.get_params(deep=False).items() if value is not marks[name]]
    _expect(not lost, f"get_params does not give what set_params was given for {_listed(lost)}")


def _constructor_only_stores(subject: _Subject) -> None:
    """`__init__` stores its parameters under their names, unchanged and unchecked."""
    # Objects that can be stored, and nothing else.
    marks: dict[str, Any] = {name: object() for name in subject.estimator.get_params(deep=False)}
    made = type(subject.estimator)(**marks)
    different = [name for name, mark in marks.items() if getattr(made, name) is not mark]
    _expect(not different, f"another value is stored for {_listed(different)}")


def _fit_changes_no_parameter(subject: _Subject) -> None:
    """`fit` returns self; neither it nor `predict` nor `divergence` changes a parameter."""
    X_nu, X_de = subject.samples(8, 12)
    estimator = subject.fresh()
    before = _fingerprints(estimator.get_params(deep=False))
    _expect(estimator.fit(X_nu, X_de) is estimator, "fit does not return self")
    _expect_unchanged(before, estimator, "fit")
    estimator.predict(X_nu)
    estimator.divergence()
    _expect_unchanged(before, estimator, "predict or divergence")


def _refit_equals_fresh_fit(subject: _Subject) -> None:
    """Fitting again gives, bit for bit, what a new estimator gives, whatever was fitted and predicted before."""
    X_nu, X_de = subject.samples(9, 14)
    used = subject.fresh().fit(5 * X_de - 3, X_nu[:4])
    used.predict(X_de)
    used.divergence()
    _expect_equal(used.fit(X_nu, X_de), subject.fresh().fit(X_nu, X_de), X_de, "an earlier fit")


def _same_random_state_same_answer(subject: _Subject) -> None:
    """Two estimators with the same `random_state` give the same, bit for bit."""
    # Enough rows for an estimator that draws some of them.
    X_nu, X_de = subject.samples(350, 60)
    _expect_equal(subject.fresh().fit(X_nu, X_de), subject.twin().fit(X_nu, X_de), X_de, "chance")


def _global_random_state_untouched(subject: _Subject) -> None:
    """Nothing draws from, or seeds, the global random state of NumPy, Python or torch."""
    X_nu, X_de = subject.samples(350, 60)
    estimator = subject.fresh()
    _expect(not subject.moved_by_pretraining, f"pretrain changes that of {_listed(subject.moved_by_pretraining)}")
    before = _random_states()
    estimator.fit(X_nu, X_de).predict(X_nu)
    estimator.divergence()
    moved = _changed(before, _random_states())
    _expect(not moved, f"fit, predict or divergence changes that of {_listed(moved)}")


def _inputs_untouched(subject: _Subject) -> None:
    """`fit` and `predict` leave the arrays that they are given as they are, and take read-only ones."""
    given = *subject.samples(8, 12), subject.samples(5, 1)[0]
    kept = [array.copy() for array in given]
    subject.fresh().fit(*given[:2]).predict(given[2])
    for name, array, copy in zip(("X_nu", "X_de", "X"), given, kept, strict=True):
        _expect(np.array_equal(array, copy), f"{name} was changed")
        array.flags.writeable = False
    subject.fresh().fit(*given[:2]).predict(given[2])


def _answers_are_valid(subject: _Subject) -> None:
    """`predict` gives an array of shape (n,) of finite floats, none below zero, and `divergence` a finite float."""
    X_nu, X_de = subject.samples(8, 12)
    estimator = subject.fresh().fit(X_nu, X_de)
    for X in (X_nu, X_de, X_nu[:1], 100 * X_de):
        _expect_answers(estimator, X)


def _ratio_is_larger_on_the_numerator(subject: _Subject) -> None:
    """For well separated samples, the mean ratio is larger on the numerator's instances than on the denominator's."""
    X_nu, X_de = subject.samples(15, 20, shift=4.0)
    estimator = subject.fresh().fit(X_nu, X_de)
    on_nu, on_de = estimator.predict(X_nu).mean(), estimator.predict(X_de).mean()
    _expect(on_nu > on_de, f"the means are {on_nu:.3g} and {on_de:.3g}")


def _sample_sizes_do_not_mix(subject: _Subject) -> None:
    """For samples of one law, the mean ratio is near 1 and the divergence near 0, whatever their sizes are."""
    # Where one sample's size stands for the other's, a mean is 20 times too large or too small.
    for sizes in ((100, 2000), (2000, 100)):
        X_nu, X_de = subject.samples(*sizes, shift=0.0)
        estimator = subject.fresh().fit(X_nu, X_de)
        mean, divergence = estimator.predict(np.concatenate([X_nu, X_de])).mean(), estimator.divergence()
        found = (
            f"with {sizes[0]} and {sizes[1]} instances the mean ratio is {mean:.3g}, the divergence {divergence:.3g}"
        )
        _expect(0.25 < mean < 4 and abs(divergence) < 1.5, found)


def _row_order_does_not_matter(subject: _Subject) -> None:
    """Permuting the rows of either sample changes nothing but rounding."""
    # Few rows, and enough for an estimator that draws some of them.
    for sizes in ((9, 14), (400, 500)):
        X_nu, X_de = subject.samples(*sizes)
        expected = subject.fresh().fit(X_nu, X_de)
        for name, samples in (("X_nu", (X_nu[::-1], X_de)), ("X_de", (X_nu, np.roll(X_de, 5, axis=0)))):
            found, where = subject.fresh().fit(*samples), f"of {len(X_nu)} and {len(X_de)} rows, with {name}"
            _expect_close(found.predict(X_de), expected.predict(X_de), f"{where} in another order the ratio")
            _expect_close(found.divergence(), expected.divergence(), f"{where} in another order the divergence")


def _rows_are_predicted_independently(subject: _Subject) -> None:
    """`predict` of many rows gives what it gives row by row, up to rounding."""
    X_nu, X_de = subject.samples(9, 14)
    estimator = subject.fresh().fit(X_nu, X_de)
    row_by_row = np.concatenate([estimator.predict(row[None]) for row in X_de])
    _expect_close(estimator.predict(X_de), row_by_row, "the ratio of many rows")


def _poor_samples_are_accepted(subject: _Subject) -> None:
    """One instance a side, duplicate rows, constant columns and equal samples give finite ratios."""
    X_nu, X_de = subject.samples(8, 12)
    poor = {
        "one instance a side": (X_nu[:1], X_de[:1]),
        "one instance against many": (X_nu[:1], X_de),
        "duplicate rows": (np.repeat(X_nu, 3, axis=0), np.repeat(X_de, 2, axis=0)),
        "a constant column": (X_nu * [1, 0] + [0, 0.1], X_de * [1, 0] + [0, 0.1]),
        "all rows alike": (np.ones((3, 2)), np.ones((5, 2))),
        "equal samples": (X_nu, X_nu),
    }
    for what, samples in poor.items():
        with _finding(f"with {what}"):
            estimator = subject.fresh().fit(*samples)
            for X in (*samples, X_de):
                _expect_answers(estimator, X)


def _kinds_of_numbers_are_accepted(subject: _Subject) -> None:
    """Integers, booleans, float32 and nested lists give what the same numbers give as float64."""
    whole = [np.rint(2 * X) for X in subject.samples(8, 12)]
    kinds: dict[str, list[Any]] = {
        "integers": [X.astype(np.int64) for X in whole],
        "float32": [X.astype(np.float32) for X in whole],
        "lists": [X.tolist() for X in whole],
        "booleans": [X > 1 for X in whole],
    }
    for what, given in kinds.items():
        floats = [np.asarray(X, dtype=np.float64) for X in given]
        expected = subject.fresh().fit(*floats).predict(floats[1])
        with _finding(f"with {what}"):
            _expect_close(subject.fresh().fit(*given).predict(given[1]), expected, "the ratio")


def _bad_input_is_named(subject: _Subject) -> None:
    """Input that cannot be used is a `ValueError` that names the argument, and the column if that is to blame."""
    X_nu, X_de = subject.samples(8, 12)
    ready, fitted = subject.fresh(), subject.fresh().fit(X_nu, X_de)
    # In rows, and so often, that only the column's number is a 1.
    with_nan, with_infinity, wide = X_nu.copy(), X_de.copy(), np.column_stack([X_de, X_de[:, 0]])
    with_nan[4:7, 1], with_infinity[4:7, 1] = np.nan, np.inf
    for what, call, samples, words in (
        ("NaN in X_nu", ready.fit, (with_nan, X_de), ("X_nu", "1")),
        ("infinity in X_de", ready.fit, (X_nu, with_infinity), ("X_de", "1")),
        ("X_de with more columns than X_nu", ready.fit, (X_nu, wide), ("X_nu", "X_de")),
        ("an empty X_nu", ready.fit, (X_nu[:0], X_de), ("X_nu",)),
        ("an empty X_de", ready.fit, (X_nu, X_de[:0]), ("X_de",)),
        ("X_nu with one axis", ready.fit, (X_nu[:, 0], X_de), ("X_nu",)),
        ("X_de with one axis", ready.fit, (X_nu, X_de[:, 0]), ("X_de",)),
        ("NaN in X", fitted.predict, (with_nan,), ("X", "1")),
        ("X with more columns than were fitted", fitted.predict, (wide,), ("X",)),
        ("X with one axis", fitted.predict, (X_nu[:, 0],), ("X",)),
    ):
        _expect_refusal(ValueError, what, words, call, *samples)


def _fit_comes_first(subject: _Subject) -> None:
    """`predict` and `divergence` before `fit` raise scikit-learn's `NotFittedError`."""
    estimator = subject.fresh()
    _expect_refusal(NotFittedError, "predict before fit", (), estimator.predict, subject.samples(3, 3)[0])
    _expect_refusal(NotFittedError, "divergence before fit", (), estimator.divergence)


def _feature_names_are_compared(subject: _Subject) -> None:
    """Columns of a data frame with other names than those that were fitted are refused (`ValueError`)."""
    if find_spec("pandas") is None or find_spec("narwhals") is None:
        return
    import narwhals.stable.v2 as nw

    def frame(X: NDArray[np.float64], *names: str) -> Any:
        return nw.from_dict(dict(zip(names, X.T, strict=True)), backend="pandas").to_native()

    X_nu, X_de = subject.samples(8, 12)
    estimator = subject.fresh().fit(frame(X_nu, "a", "b"), frame(X_de, "a", "b"))
    _expect_close(estimator.predict(frame(X_de, "a", "b")), estimator.predict(X_de), "the ratio of a data frame")
    _expect_refusal(ValueError, "another name in X", ("X", "c"), estimator.predict, frame(X_de, "a", "c"))
    _expect_refusal(ValueError, "another order in X", ("X",), estimator.predict, frame(X_de, "b", "a"))
    frames = frame(X_nu, "a", "b"), frame(X_de, "a", "c")
    _expect_refusal(ValueError, "another name in X_de than in X_nu", ("X_nu", "X_de", "c"), estimator.fit, *frames)


_CHECKS: tuple[Callable[[_Subject], None], ...] = (
    _parameters_round_trip,
    _constructor_only_stores,
    _fit_changes_no_parameter,
    _global_random_state_untouched,
    _inputs_untouched,
    _same_random_state_same_answer,
    _refit_equals_fresh_fit,
    _answers_are_valid,
    _poor_samples_are_accepted,
    _kinds_of_numbers_are_accepted,
    _sample_sizes_do_not_mix,
    _row_order_does_not_matter,
    _rows_are_predicted_independently,
    _bad_input_is_named,
    _fit_comes_first,
    _feature_names_are_compared,
    _ratio_is_larger_on_the_numerator,
)


@contextmanager
def _finding(where: str, expected: str | None = None) -> Iterator[None]:
    """Say where a check failed. Whatever an estimator raises where it should not is a finding too."""
    try:
        yield
    except Exception as error:
        found = str(error) if isinstance(error, AssertionError) else f"{type(error).__name__} was raised: {error}"
        expectation = f"\nExpected: {expected}" if expected else ""
        raise AssertionError(f"{where}: {found}{expectation}") from error


def _expect(satisfied: bool, found: str) -> None:
    # Not an assert statement: those vanish under python -O.
    if not satisfied:
        raise AssertionError(found)


def _expect_answers(estimator: Any, X: NDArray[np.float64]) -> None:
    ratio, divergence = estimator.predict(X), estimator.divergence()
    _expect(isinstance(ratio, np.ndarray) and ratio.shape == (len(X),), f"the ratio of {len(X)} rows is {ratio!r}")
    _expect(ratio.dtype.kind == "f", f"the ratio is of type {ratio.dtype}")
    _expect(bool(np.isfinite(ratio).all()), "a ratio is not finite")
    _expect(ratio.min() >= 0, f"a ratio is {ratio.min():.3g}")
    _expect(isinstance(divergence, float) and bool(np.isfinite(divergence)), f"the divergence is {divergence!r}")


def _expect_equal(found: Any, expected: Any, X: NDArray[np.float64], cause: str) -> None:
    mine, other = ((each.predict(X), each.divergence()) for each in (found, expected))
    for what, a, b in zip(("ratio", "divergence"), mine, other, strict=True):
        _expect(np.array_equal(a, b, equal_nan=True), f"the {what} depends on {cause}")


def _expect_close(found: ArrayLike, expected: ArrayLike, what: str) -> None:
    off = np.abs(np.asarray(found) - np.asarray(expected)).max()
    _expect(np.allclose(found, expected, _RELATIVE, _ABSOLUTE), f"{what} is another one, by up to {off:.3g}")


def _expect_unchanged(before: dict[str, str], estimator: Any, by: str) -> None:
    changed = _changed(before, _fingerprints(estimator.get_params(deep=False)))
    _expect(not changed, f"{by} changes the parameter {_listed(changed)}")


def _expect_refusal(
    kind: type[Exception], what: str, words: Sequence[str], call: Callable[..., Any], *arguments: Any
) -> None:
    with _finding(what):
        try:
            call(*arguments)
        except kind as error:
            silent = [word for word in words if not re.search(rf"(?<!\w){re.escape(word)}(?!\w)", str(error))]
            _expect(not silent, f"the message does not name {_listed(silent)}: {error}")
        else:
            raise AssertionError("it is accepted")


def _fingerprints(values: dict[str, Any]) -> dict[str, str]:
    return {name: joblib.hash(value) for name, value in values.items()}


def _changed(before: dict[str, str], after: dict[str, str]) -> set[str]:
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


def _random_states() -> dict[str, str]:
    on_gpu = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
    states = {
        "NumPy": np.random.get_state(),  # noqa: NPY002 - looked at, not drawn from
        "Python": random.getstate(),
        "torch": [state.numpy() for state in (torch.get_rng_state(), *on_gpu)],
    }
    return _fingerprints(states)


def _listed(names: set[str] | Sequence[str]) -> str:
    return ", ".join(sorted(names))
