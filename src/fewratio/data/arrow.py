"""The names of pyarrow and those of its modules that are used, imported only once one of them is asked for."""

from importlib import import_module
from typing import Any

_MODULES = ("compute", "csv", "feather", "ipc", "json", "parquet", "types")


def __getattr__(name: str) -> Any:
    return import_module(f"pyarrow.{name}") if name in _MODULES else getattr(import_module("pyarrow"), name)
