"""Load saved files of any kind."""

import os
from typing import Any

from fewratio import estimators, many
from fewratio.core.container import Stored, read_tensors
from fewratio.errors import ModelFileError

# Classes in files that are not models, by kind.
_CLASSES = {"summary": "Summary", "map": "SourceMap", "index": "DatasetIndex"}


def load_model(path: str | os.PathLike[str], kind: str | None = None) -> Any:
    """Load a file written by any `save` or by ``fewratio train``. Nothing in the file is executed.

    Parameters
    ----------
    path : path
        The file.
    kind : {"model", "summary", "map", "index"}, optional
        Required kind of the file; by default any of these.

    Returns
    -------
    estimator, Summary, SourceMap or DatasetIndex
        The loaded object.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from fewratio import DiscriminantRatioEstimator, load_model
    >>> from fewratio.data.sources.gaussian import gaussian_family
    >>> sources = gaussian_family(20, n_instances=50, random_state=0).collection
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     DiscriminantRatioEstimator(features="columns").pretrain(sources).save(Path(folder) / "sources.safetensors")
    ...     load_model(Path(folder) / "sources.safetensors")
    DiscriminantRatioEstimator(features='columns')
    """
    arrays, header = read_tensors(path, kind or ("model", *_CLASSES), finite=True)
    name = str(_CLASSES.get(header["kind"], header.get("estimator")))
    found = getattr(many if name == "DatasetIndex" else estimators, name, None)
    if not isinstance(found, type) or not issubclass(found, Stored):
        raise ModelFileError(f"{path} holds a {name}, which this fewratio does not know. Upgrade it, or use another.")
    return found._of_file(path, arrays, header)
