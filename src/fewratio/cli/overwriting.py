"""Refuse results that would overwrite their inputs."""

from collections.abc import Iterable
from pathlib import Path

from fewratio.errors import ParameterError

# The only name of a file that standard input was redirected from.
_REDIRECTED = Path("/dev/stdin")


def check_not_input(path: Path, option: str, inputs: Iterable[Path | None]) -> None:
    """Refuse to overwrite an input, by any path or link, or to write into a folder of inputs.

    Parameters
    ----------
    path : path
        The file to write.
    option : str
        The option that named it.
    inputs : iterable of path or None
        Files and folders to read; ``-`` for standard input. None is ignored.
    """
    for source in inputs:
        if source is None:
            continue
        if source.is_dir():
            # The next run would treat the result as another dataset. A link in the folder may lead out of it.
            places = (path.resolve(), path.parent.resolve() / path.name)
            inside = any(place.is_relative_to(source.resolve()) for place in places)
            if inside or (path.exists() and any(_is_same(path, file) for file in source.rglob("*"))):
                raise ParameterError(
                    f"{option} is {str(path)!r}, in the folder {str(source)!r} that is read; what is there stays as it "
                    "is. Give a file elsewhere."
                )
        elif _is_same(path, _REDIRECTED if str(source) == "-" else source):
            read = "standard input" if str(source) == "-" else f"the input {str(source)!r}"
            raise ParameterError(
                f"{option} is {str(path)!r}, the same file as {read}, which would be lost. Give another file."
            )


def _is_same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:
        # One of them does not exist.
        return path.resolve() == other.resolve()
