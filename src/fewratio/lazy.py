"""Imports that happen when something is first used, and what is said where torch is missing."""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from fewratio.errors import MissingPackageError


def import_home(module: str, asked_by: str | None = None) -> ModuleType:
    """Import a module of this package; if it needs torch and there is none, say how to install it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise MissingPackageError(
            f"{asked_by or module} needs torch, which is not installed. Install it: pip install 'fewratio[networks]'."
        ) from error


def torch_is_installed() -> bool:
    """Tell whether torch can be imported, without importing it."""
    try:
        return find_spec("torch") is not None
    except (ImportError, ValueError):
        return False
