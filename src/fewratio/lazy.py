"""Imports that happen when something is first used, and what is said where a package is missing."""

import ast
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from fewratio.errors import MissingPackageError

# Packages that not everybody needs, and the extra that each comes with.
_EXTRAS = {
    "torch": "networks",
    "matplotlib": "plot",
    "clarabel": "kmm",
    "openpyxl": "excel",
    "faiss": "index",
    "distributed": "dask",
    "ray": "ray",
    "jinja2": "report",
    "vl_convert": "report",
    "fastapi": "web",
    "uvicorn": "web",
}
# Modules with public names that need torch when they are imported.
_OF_TORCH = (
    *(f"fewratio.estimators.networks.{name}" for name in ("meta", "pair", "universal")),
    "fewratio.estimators.mixtures.ensemble",
)


def import_home(module: str, asked_by: str | None = None) -> ModuleType:
    """Import a module; if a package is missing that an extra installs, say so."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name not in _EXTRAS:
            raise
        advice = f"Install it: pip install 'fewratio[{_EXTRAS[error.name]}]'."
        raise MissingPackageError(
            f"{asked_by or module} needs {error.name}, which is not installed. {advice}"
        ) from error


def names_of_stub(package_file: str) -> dict[str, str]:
    """Read the names that a package's stub (``__init__.pyi``) imports, each with the module it is in."""
    stub = ast.parse(Path(package_file).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom) and node.module]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


def importable(homes: dict[str, str]) -> list[str]:
    """Give the names whose packages are there, sorted: what ``import *`` imports."""
    has_torch = torch_is_installed()
    return sorted(name for name, home in homes.items() if has_torch or home not in _OF_TORCH)


def import_name(name: str, homes: dict[str, str], package: str) -> Any:
    """Import a name of a package from the module it is in."""
    if name not in homes:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    return getattr(import_home(homes[name]), name)


def torch_is_installed() -> bool:
    """Tell whether torch can be imported, without importing it."""
    try:
        return find_spec("torch") is not None
    except (ImportError, ValueError):
        return False
