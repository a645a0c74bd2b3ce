"""Where a demo puts what it makes."""

from importlib.util import find_spec
from pathlib import Path

from fewratio.errors import DataNotFoundError, MissingPackageError


def prepare_folder(folder: Path) -> None:
    """Make the folder for tables and pictures; fail before the work, not after it."""
    if find_spec("matplotlib") is None:
        raise MissingPackageError(
            "The demo draws a picture, which needs matplotlib. Install it: pip install 'fewratio[plot]'."
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataNotFoundError(
            f"The folder {folder} cannot be made ({error.strerror}). Give another one with --output."
        ) from error
