"""Tensors with a JSON header in one safetensors file: written whole or not at all, read without running code."""

import json
import os
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from fewratio.errors import DataNotFoundError, ModelFileError, ModelVersionError

# 2: a model file may hold several networks.
FORMAT_VERSION = 2
_KEY = "fewratio"
_ADVICE = {
    "model": "Write it again with save(), or use another copy.",
    "checkpoint": "Delete it to start afresh, or use another copy.",
}


def write_tensors(path: str | os.PathLike[str], kind: str, tensors: dict[str, Any], header: dict[str, Any]) -> None:
    """Write tensors and header to a file, atomically.

    Parameters
    ----------
    path : path
        Where to; an existing file is replaced only once the new one is complete.
    kind : str
        What the file holds; `read_tensors` refuses another kind.
    tensors : dict of str to Tensor
        The tensors.
    header : dict
        Anything JSON can say.
    """
    from safetensors.torch import save

    path = Path(path)
    if path.is_dir():
        raise ModelFileError(f"{path} is a folder, so no {kind} can be written there. Give the name of a file in it.")
    if not path.parent.is_dir():
        raise DataNotFoundError(
            f"The folder {path.parent} does not exist, so {path.name} cannot be written. Create it."
        )
    text = json.dumps({"format": FORMAT_VERSION, "kind": kind, **header})
    arrays = {name: torch.as_tensor(tensor).detach().cpu().contiguous() for name, tensor in tensors.items()}
    payload = save(arrays, {_KEY: text})
    write_atomically(path, payload)


def write_atomically(path: Path, payload: bytes) -> None:
    """Write a file whole or not at all; an existing one is replaced once the new one is complete."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as file:
            file.write(payload)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def read_tensors(path: str | os.PathLike[str], kind: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `write_tensors` wrote.

    Raises
    ------
    DataNotFoundError
        If there is no such file.
    ModelFileError
        If it is damaged, foreign or of another kind.
    ModelVersionError
        If a newer fewratio wrote it.
    """
    from safetensors import SafetensorError, safe_open

    path = Path(path)
    if not path.is_file():
        problem = f"{path} is a folder" if path.is_dir() else f"There is no file {path}"
        raise DataNotFoundError(f"{problem}; a {kind} is needed. Check the path.")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            header = _parse_header(path, metadata.get(_KEY), kind)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
    except SafetensorError as error:
        raise ModelFileError(
            f"{path} cannot be read ({error}): it is truncated, damaged or not a safetensors file. " + _ADVICE[kind]
        ) from error
    return tensors, header


def _parse_header(path: Path, text: str | None, kind: str) -> dict[str, Any]:
    if text is None:
        raise ModelFileError(f"{path} is a safetensors file, but not one of fewratio's. Use a file that save() wrote.")
    try:
        header = json.loads(text)
    except json.JSONDecodeError as error:
        raise ModelFileError(f"The header of {path} is damaged ({error}). Use another copy.") from error
    if not isinstance(header, dict) or not isinstance(header.get("format"), int):
        raise ModelFileError(f"The header of {path} names no format version: it is damaged. Use another copy.")
    if header["format"] > FORMAT_VERSION:
        raise ModelVersionError(
            f"{path} has format version {header['format']}; this fewratio reads up to {FORMAT_VERSION}. "
            "Upgrade fewratio to read it."
        )
    if header.get("kind") != kind:
        raise ModelFileError(f"{path} holds a {header.get('kind')}, but a {kind} is needed. Give the right file.")
    return header
