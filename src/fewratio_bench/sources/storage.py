"""Where data files are: the folders of ``FEWRATIO_DATA``, then the user's cache, then a download into that cache."""

import os
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from fewratio.errors import DataFileError, DataNotFoundError

DATA_VARIABLE = "FEWRATIO_DATA"
CACHE_VARIABLE = "FEWRATIO_CACHE"


def data_folders() -> list[Path]:
    """Return the folders that files are looked for in: those that ``FEWRATIO_DATA`` names, then the cache.

    The cache is what ``FEWRATIO_CACHE`` names, or the user's own. None of them need exist.
    """
    cache = os.environ.get(CACHE_VARIABLE) or Path.home() / ".cache" / "fewratio"
    named = [part for part in os.environ.get(DATA_VARIABLE, "").split(os.pathsep) if part]
    return [Path(folder).expanduser() for folder in (*named, cache)]


def locate(*paths: str) -> Path | None:
    """Find the first that is there of some files, named by their paths below a data folder, or give None."""
    places = (folder / path for path in paths for folder in data_folders())
    return next((place for place in places if place.is_file()), None)


@dataclass(frozen=True)
class RawFile:
    """A file as its publisher gives it.

    Attributes
    ----------
    path : str
        Path of the file below a data folder or the cache, with forward slashes.
    url : str
        Address to download the file from.
    sha256 : str or None
        Checksum of the whole file; a file that differs is refused.
    """

    path: str
    url: str
    sha256: str | None = None

    def files(self, download: bool = True) -> list[Path]:
        """Find the file, or download it if that is allowed: the ``files`` of a `Source` of one file.

        Raises
        ------
        DataNotFoundError
            If it is not here and cannot be downloaded; says where to put it.
        DataFileError
            If it is not the published one. A download of that kind is not kept.
        """
        found = locate(self.path)
        if found is None:
            if not download:
                raise self._missing("it was not downloaded yet")
            return [self._download()]
        if self.sha256 is not None and (digest := sha256(found.read_bytes()).hexdigest()) != self.sha256:
            raise DataFileError(
                f"{found} has sha256 {digest}, but the published file has {self.sha256}: it is damaged or another one. "
                f"Put the published file ({self.url}) there."
            )
        return [found]

    def _download(self) -> Path:
        target = data_folders()[-1] / self.path
        try:
            import pooch

            # It gets its name only once its checksum is verified.
            known_hash = self.sha256 and f"sha256:{self.sha256}"
            return Path(pooch.retrieve(self.url, known_hash, target.name, target.parent))
        except ImportError as error:
            raise self._missing("a download needs pooch (pip install 'fewratio[bench]')") from error
        except ValueError as error:  # pooch's word for another checksum
            raise DataFileError(
                f"The download of {self.url} is not what it should be, and was not kept: {error} Try again, or put a "
                f"good copy at {data_folders()[0] / self.path}."
            ) from error
        except OSError as error:  # requests' errors are OSErrors, too
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise self._missing(f"the download failed ({reason})") from error

    def _missing(self, reason: str) -> DataNotFoundError:
        folders = data_folders()
        return DataNotFoundError(
            f"{self.path} is not in {', '.join(map(str, folders))}, and {reason}. It is published at {self.url}. Put "
            f"it at {folders[0] / self.path}, or set {DATA_VARIABLE} to a folder in which it is {self.path}."
        )
