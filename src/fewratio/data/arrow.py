"""The names and modules of pyarrow, which is imported only once one of them is used."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    package = import_module("pyarrow")
    return getattr(package, name) if hasattr(package, name) else import_module(f"pyarrow.{name}")
