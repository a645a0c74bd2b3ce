"""Read a model whatever estimator wrote it."""

import os
from importlib import import_module
from typing import Any

from fewratio.core.container import read_tensors
from fewratio.errors import ModelFileError

# Those with `save`.
_MODELS = ("Auto", "Discriminant", "Inlier", "Meta")


def load_model(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` of any estimator or ``fewratio train`` wrote. Nothing in the file is executed.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    estimator
        What it holds: `AutoRatioEstimator`, `DiscriminantRatioEstimator`, `InlierRatioEstimator` or
        `MetaRatioEstimator`.

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
    arrays, header = read_tensors(path, "model", finite=True)
    name = str(header.get("estimator"))
    if name.removesuffix("RatioEstimator") not in _MODELS:
        raise ModelFileError(f"{path} holds a {name}, which this fewratio does not know. Upgrade it, or use another.")
    estimator = getattr(import_module("fewratio.estimators"), name)
    return estimator._of_file(path, arrays, header)
