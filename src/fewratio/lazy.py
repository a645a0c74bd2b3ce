"""Imports on first use, and the message if a package is missing."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import lazy_loader

from fewratio.errors import MissingPackageError

# Optional packages, and the extra that installs each.
_EXTRAS = {
    "torch": "networks",
    "clarabel": "kmm",
    "openpyxl": "excel",
    "faiss": "index",
    "ruptures": "swings",
    "jinja2": "report",
    "vl_convert": "report",
    "fastapi": "web",
    "uvicorn": "web",
}
# Public names that need torch: `import *` leaves them out without it.
_OF_TORCH = {"MetaRatioEstimator", "UniversalRatioEstimator", "make_best_members", "pretrain_together"}


def attach(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package whose stub ``__init__.pyi`` lists its names."""
    load, names, found = lazy_loader.attach_stub(package, file)

    def get(name: str) -> Any:
        with _explain_missing(f"{package}.{name}"):
            return load(name)

    # Subpackages are attributes, but nobody wants them from `import *`.
    folder = os.path.dirname(file)
    public = [name for name in found if not os.path.isdir(os.path.join(folder, name))]
    return get, names, public if torch_is_installed() else [name for name in public if name not in _OF_TORCH]


def import_home(module: str, asked_by: str | None = None) -> ModuleType:
    """Import a module; if a package is missing that an extra installs, say so."""
    with _explain_missing(asked_by or module):
        return import_module(module)


@contextmanager
def _explain_missing(asked_by: str) -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in _EXTRAS:
            raise
        advice = f"Install it: pip install 'fewratio[{_EXTRAS[error.name]}]'."
        raise MissingPackageError(f"{asked_by} needs {error.name}, which is not installed. {advice}") from error


def torch_is_installed() -> bool:
    """Look for torch without importing it."""
    try:
        return find_spec("torch") is not None
    except (ImportError, ValueError):
        return False
