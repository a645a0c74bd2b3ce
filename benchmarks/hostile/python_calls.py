"""Bad values for every parameter of what is public in Python."""

import inspect
import os
import signal
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import chdir
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import fewratio
from fewratio.errors import FewRatioError
from fewratio.estimators.base import NotFittedError
from hostile.values import good_table, paths, scalars, tables

ESTIMATORS = ("RuLSIF", "ULSIF", "KLIEP", "KMM", "ClassifierRatio", "AutoRatioEstimator")
LEARNED = ("DiscriminantRatioEstimator", "InlierRatioEstimator", "MetaRatioEstimator")
SETTINGS = {"architecture": "Architecture", "episodes": "Pairs", "training": "Training"}
# What is not changed: callbacks may do what they like, a device is torch's.
LEFT_OUT = {"callback", "progress", "n_jobs"}


# Seconds after which a call is taken to be at work: a billion steps may be asked for.
_PATIENCE = 15.0


class _StillAtWork(BaseException):
    """Raised by the alarm."""


def _alarm(number: int, frame: object) -> None:
    raise _StillAtWork


class Call(NamedTuple):
    """One call with one bad value; refused is whether it must be, if that is known."""

    name: str
    run: Callable[[], Any]
    refused: bool | None = None


def calls() -> Iterator[Call]:
    """Go through all calls."""
    yield from _estimators()
    yield from _learned()
    yield from _functions()
    yield from _files()
    yield from _senseless()


def outcome(call: Call) -> str:
    """Give "answered", "refused" or, of what must not happen, a sentence that says what did."""
    signal.signal(signal.SIGALRM, _alarm)
    with warnings.catch_warnings(), np.errstate(all="ignore"), tempfile.TemporaryDirectory() as folder, chdir(folder):
        warnings.simplefilter("ignore")
        signal.setitimer(signal.ITIMER_REAL, _PATIENCE)
        try:
            answer = call.run()
        except FewRatioError as error:
            # Found, needed, to do: two sentences at least.
            short = not isinstance(error, NotFittedError) and len(str(error)) < 20
            return f"{call.name}: says too little: {error}" if short else "refused"
        except OSError as error:
            # What the system says of a file is said in its words.
            return "refused" if error.strerror else f"{call.name}: {error!r}"
        except _StillAtWork:
            return "answered"
        except Exception as error:
            return f"{call.name}: {type(error).__name__}: {str(error)[:200]}"
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    if call.refused:
        return f"{call.name}: accepted, which makes no sense"
    values = answer if isinstance(answer, float | np.ndarray) else None
    if values is not None and not np.isfinite(values).all():
        return f"{call.name}: answers with what is not finite"
    return "answered"


def _good() -> tuple[np.ndarray, np.ndarray]:
    return good_table(8, 1), good_table(6, 2) + 0.5


def _quick(name: str) -> dict[str, Any]:
    return {"MetaRatioEstimator": {"training": _training()}}.get(name, {})


def _training(**changed: Any) -> Any:
    return fewratio.estimators.networks.Training(**{"max_steps": 4, "tasks_per_step": 2, "validate_every": 2} | changed)


def _parameters(function: Callable[..., Any]) -> list[str]:
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    given = inspect.signature(function).parameters.values()
    return [each.name for each in given if each.kind in kinds and each.name not in LEFT_OUT and each.name != "self"]


@cache
def _collection() -> Any:
    rng = np.random.default_rng(0)
    arrays = [rng.normal(rng.normal(size=2), 1, (12, 2)) for _ in range(12)]
    return fewratio.Collection.from_arrays(arrays, outliers=[np.arange(12) < 3] * 12)


@cache
def _fitted(name: str) -> Any:
    estimator = getattr(fewratio.estimators, name)(**_quick(name))
    if name in LEARNED:
        estimator.pretrain(*(2 if name == "MetaRatioEstimator" else 1) * (_collection(),))
    return estimator.fit(*_good())


def _estimators() -> Iterator[Call]:
    for name in (*ESTIMATORS, "UniversalRatioEstimator", *LEARNED):
        kind = getattr(fewratio.estimators, name)
        is_learned = name in LEARNED
        for parameter in _parameters(kind):
            for value_name in scalars():

                def run(kind=kind, name=name, parameter=parameter, value_name=value_name, is_learned=is_learned) -> Any:
                    estimator = kind(**_quick(name) | {parameter: scalars()[value_name]})
                    if is_learned:
                        estimator.pretrain(_collection(), _collection()) if name == "MetaRatioEstimator" else (
                            estimator.pretrain(_collection())
                        )
                    return estimator.fit(*_good()).predict(_good()[0])

                yield Call(f"{name}({parameter}={value_name})", run)
        for table in tables():
            yield Call(f"{name}.predict({table})", lambda n=name, t=table: _fitted(n).predict(tables()[t]))
            if not is_learned:
                yield Call(
                    f"{name}.fit({table}, fine)",
                    lambda k=kind, n=name, t=table: k(**_quick(n)).fit(tables()[t], _good()[1]).divergence(),
                )
                yield Call(
                    f"{name}.fit(same, {table})",
                    lambda k=kind, n=name, t=table: k(**_quick(n)).fit(tables()[t], tables()[t]).divergence(),
                )
        for value_name in scalars():
            for side in ("nu", "de"):

                def run(name=name, side=side, value_name=value_name) -> Any:
                    pairs = {"nu": [[0, 1], [2, 3]], "de": [[4], [5]]} | {side: scalars()[value_name]}
                    return _fitted(name).divergences(_good()[0], **pairs)

                yield Call(f"{name}.divergences({side}={value_name})", run)


def _learned() -> Iterator[Call]:
    for parameter, name in SETTINGS.items():
        kind = getattr(fewratio.estimators.networks, name)
        for setting in _parameters(kind):
            for value_name in scalars():

                def run(parameter=parameter, kind=kind, setting=setting, value_name=value_name) -> Any:
                    changed = {setting: scalars()[value_name]}
                    group = _training(**changed) if parameter == "training" else kind(**changed)
                    owner = "network" if parameter == "architecture" else parameter
                    estimator = fewratio.MetaRatioEstimator(**{"training": _training()} | {owner: group})
                    return estimator.pretrain(_collection(), _collection()).fit(*_good()).divergence()

                yield Call(f"{name}({setting}={value_name})", run)
    for name in LEARNED:
        for value_name in tables():
            yield Call(
                f"{name}.pretrain({value_name})",
                lambda n=name, v=value_name: getattr(fewratio.estimators, n)(**_quick(n)).pretrain(tables()[v]),
            )

            def run(name=name, value_name=value_name) -> Any:
                sources = [tables()[value_name], *(each.X for each in _collection())]
                outliers = [[*[True] * 2, *[False] * 4], *[np.arange(12) < 3] * 12]
                collection = fewratio.Collection.from_arrays(sources, outliers=outliers)
                estimator = getattr(fewratio.estimators, name)(**_quick(name)).pretrain(collection)
                return estimator.fit(*_good()).divergence()

            yield Call(f"{name}.pretrain([{value_name}, ...])", run)


def _functions() -> Iterator[Call]:
    A, B = _good()
    two = {"A": A, "B": B, "n_permutations": 9}
    functions: dict[str, tuple[Callable[..., Any], dict[str, Any], set[str]]] = {
        "compare_datasets": (fewratio.compare_datasets, two, {"A", "B"}),
        "compare_all": (fewratio.compare_all, {"collection": [A, B, A + 1], "n_permutations": 2}, {"collection"}),
        "importance_weights": (fewratio.importance_weights, {"X_train": A, "X_target": B}, {"X_train", "X_target"}),
        "detect_changes": (fewratio.detect_changes, {"series": good_table(40), "n_permutations": 3}, {"series"}),
        "mmd2": (fewratio.estimators.mmd2, {"X": A, "Y": B}, {"X", "Y"}),
        "gaussian_relative_ratio": (
            fewratio.estimators.gaussian_relative_ratio,
            {"X": A, "nu_mean": 0, "nu_std": 1, "de_mean": 0, "de_std": 1},
            {"X"},
        ),
        **{
            name: (getattr(fewratio.estimators, name), {"ratio_nu": [1.0, 2.0], "ratio_de": [0.5]}, set())
            for name in ("relative_pearson_divergence", "relative_squared_error")
        },
        "DatasetIndex.build": (fewratio.DatasetIndex.build, {"collection": [A, B, A + 1]}, {"collection"}),
        "DatasetIndex.search": (_index().search, {"table": A, "k": 2}, {"table"}),
        "DatasetIndex.add": (lambda tables: _index().add(tables), {"tables": {"new": A}}, {"tables"}),
        "Collection.from_arrays": (fewratio.Collection.from_arrays, {"arrays": [A, B]}, {"arrays"}),
        "Collection.from_frame": (fewratio.Collection.from_frame, {"frame": _frame(), "dataset": "d"}, {"frame"}),
        "Dataset": (fewratio.Dataset, {"name": "a", "group": None, "X": A}, {"X"}),
        "SourceMap.from_table": (
            fewratio.estimators.SourceMap.from_table,
            {"example": A, "n_components": 8},
            {"example"},
        ),
        "SourceMap.summarise": (_map().summarise, {"table": B}, {"table"}),
        "InlierOutlierDetector": (_detect, {"X": A}, {"X"}),
        "InlierOutlierDetector.fit": (fewratio.InlierOutlierDetector().fit, {"X_inlier": A}, {"X_inlier"}),
        "InlierOutlierDetector.explain": (_detector().explain, {"x": A[0]}, {"x"}),
        "InlierOutlierDetector.p_values": (_detector().p_values, {"X": B}, {"X"}),
        "InlierOutlierDetector.threshold": (_detector().threshold, {"X": B}, {"X"}),
        "DiscriminantRatioEstimator.interval": (
            lambda X, level=0.9: _fitted("DiscriminantRatioEstimator").interval(X, level),
            {"X": A},
            {"X"},
        ),
        "DiscriminantRatioEstimator.add_source": (
            lambda source: (
                fewratio.DiscriminantRatioEstimator(features="columns").pretrain(_collection()).add_source(source)
            ),
            {"source": A},
            {"source"},
        ),
        "load_collection": (fewratio.data.load_collection, {"name": "gaussian-1d"}, set()),
        "register_source": (fewratio.data.register_source, {"source": None}, set()),
    }
    options = ("columns", "drop", "keep", "id", "categorical", "numeric", "common")
    for name, (function, good, of_tables) in functions.items():
        names = [*_parameters(function), *(options if "columns" in inspect.signature(function).parameters else ())]
        for parameter in dict.fromkeys(names):
            values = tables if parameter in of_tables else scalars
            for value_name in values():
                yield Call(
                    f"{name}({parameter}={value_name})",
                    lambda f=function, g=good, p=parameter, s=values, v=value_name: f(**g | {p: s()[v]}),
                )


def _detect(
    X: Any, estimator: Any = None, contamination: Any = None, false_discovery_rate: Any = 0.1, random_state: Any = None
) -> Any:
    detector = fewratio.InlierOutlierDetector(
        estimator, contamination, false_discovery_rate=false_discovery_rate, random_state=random_state
    )
    return detector.fit(_good()[1]).score_samples(X)


@cache
def _detector() -> Any:
    return fewratio.InlierOutlierDetector().fit(good_table(30))


@cache
def _map() -> Any:
    return fewratio.estimators.SourceMap.from_table(_good()[0], n_components=8)


def _index() -> Any:
    return fewratio.DatasetIndex.build({"a": _good()[0], "b": _good()[1], "c": _good()[0] + 1})


def _frame() -> Any:
    import pandas as pd

    return pd.DataFrame(_good()[0], columns=["a", "b"]).assign(d=["x", "y"] * 4)


def _files() -> Iterator[Call]:
    readers: dict[str, Callable[[Any], Any]] = {
        "load_model": fewratio.load_model,
        "DatasetIndex.load": fewratio.DatasetIndex.load,
        "Collection.from_folder": fewratio.Collection.from_folder,
        "Collection.from_table": lambda path: fewratio.Collection.from_table(path, "d"),
        **{
            f"{name}.load": getattr(fewratio.estimators, name).load
            for name in (*LEARNED, "AutoRatioEstimator", "Summary", "SourceMap")
        },
    }
    writers: dict[str, Callable[[Any], Any]] = {
        **{f"{name}.save": lambda path, n=name: _fitted(n).save(path) for name in LEARNED},
        "DatasetIndex.save": lambda path: _index().save(path),
        "Summary.save": lambda path: _map().summarise(_good()[1]).save(path),
        "SourceMap.save": lambda path: _map().save(path),
        "compare_all(checkpoint)": lambda path: fewratio.compare_all([*_good(), _good()[0] + 1], checkpoint=path),
    }
    for name, reader in readers.items():
        for value_name, value in paths():
            # Nothing can be read there.
            yield Call(f"{name}({value_name})", lambda r=reader, v=value: r(v), refused=True)
    for name, writer in writers.items():
        for value_name, value in paths():
            is_name = isinstance(value, str | os.PathLike) and str(value) not in ("", "/", ".")
            if is_name and Path(str(value)).is_absolute() and Path(str(value)).exists():
                continue
            is_none = value is None and name.startswith("compare_all")
            yield Call(
                f"{name}({value_name})", lambda w=writer, v=value: w(v), refused=None if is_name or is_none else True
            )


def _senseless() -> Iterator[Call]:
    """Go through what must be refused, and (``refused=None``) what must be taken."""
    A, B = _good()
    for name in ("RuLSIF", "ULSIF", "KLIEP", "KMM"):
        for value in (True, np.bool_(True), [1e-300], 1e-300, [True], 0, -1, float("nan"), [[1.0]], []):
            yield Call(
                f"{name}(sigma={value!r})",
                lambda n=name, v=value: getattr(fewratio.estimators, n)(sigma=v).fit(A, B).predict(A),
                refused=True,
            )
    for value in (-1, float("nan"), True):
        yield Call(
            f"detect_changes(threshold={value})",
            lambda v=value: fewratio.detect_changes(good_table(40), window=5, threshold=v),
            refused=True,
        )
    for name in ("RuLSIF", "ClassifierRatio", "UniversalRatioEstimator", *LEARNED):
        for value in (True, "0.5", -0.1, 1, None):
            yield Call(
                f"{name}(alpha={value!r})",
                lambda n=name, v=value: getattr(fewratio.estimators, n)(**_quick(n), alpha=v).fit(A, B),
                refused=True,
            )
