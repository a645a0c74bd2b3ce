"""Estimators with scikit-learn's manners: NumPy (or tables) in, NumPy out.

Each is imported when it is first asked for: what one of them needs, another may do without.
"""

from typing import Any

from fewratio.lazy import import_name, importable, names_of_stub

_HOME = names_of_stub(__file__)

__all__ = importable(_HOME)


def __getattr__(name: str) -> Any:
    return import_name(name, _HOME, "fewratio.estimators")


def __dir__() -> list[str]:
    return __all__
