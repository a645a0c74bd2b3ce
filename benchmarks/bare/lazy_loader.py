"""Stands in for lazy_loader where only numpy, scipy and scikit-learn are installed: PYTHONPATH=src:benchmarks/bare."""

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def attach_stub(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package whose stub lists ``from .home import name``."""
    homes = {
        name.name: f"{package}.{node.module}" if node.module else None
        for node in ast.parse(Path(file).with_suffix(".pyi").read_text()).body
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(name)
        home = homes[name]
        return import_module(f"{package}.{name}") if home is None else getattr(import_module(home), name)

    return load, lambda: list(homes), list(homes)
