"""Tell how two datasets differ, instance by instance, from a handful of instances.

Everything public is here (``__init__.pyi`` lists it); it is imported when first used, so that ``import fewratio`` costs
nothing.
"""

from typing import Any

from fewratio.lazy import import_home, import_name, importable, names_of_stub

__version__ = "0.1.0"

_SUBMODULES = ("changes", "compare", "core", "data", "estimators", "many", "outliers", "testing", "weights")
_HOME = names_of_stub(__file__)

__all__ = importable(_HOME)


def __getattr__(name: str) -> Any:
    return import_home(f"fewratio.{name}") if name in _SUBMODULES else import_name(name, _HOME, "fewratio")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
