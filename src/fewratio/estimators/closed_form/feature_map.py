"""The map from rows to features, before moments are computed; the same wherever it is applied."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fewratio.core.arrays import namespace
from fewratio.core.blocks import CACHED_VALUES, block_rows, row_blocks
from fewratio.core.container import check_fields
from fewratio.core.shapes import Array, Floats
from fewratio.core.units import ColumnScaling, RankScaling
from fewratio.estimators.learned_file import read_source_columns, write_source_columns
from fewratio.estimators.source_columns import SourceColumns
from fewratio.lazy import import_home, torch_is_installed

# More are useless, and a file must not exhaust anybody's memory.
_MOST_COMPONENTS = 2**15


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """The features of rows: columns in common units, or random cosines of them (Eq. D1).

    Attributes
    ----------
    scaling : ColumnScaling or RankScaling
        Origin and unit of each column, or ranks.
    n_components : int
        Number of random Fourier features; 0 for the columns themselves.
    width : float
        Width of the Gaussian kernel that the features approximate.
    seed : int
        Seed of the random features: they are the same wherever they are drawn.
    ranges : ndarray of shape (2, d) or None
        Lowest and highest values of the columns, at which others are clipped; infinite if there are none.
    columns : SourceColumns or None
        The columns, if they were fixed together with the features.
    device : str
        Where to compute features: "cpu", by NumPy, or a device of torch; not part of the map itself.
    """

    scaling: ColumnScaling | RankScaling
    n_components: int = 0
    width: float = 1.0
    seed: int = 0
    ranges: Floats | None = None
    columns: SourceColumns | None = None
    device: str = "cpu"

    @property
    def n_outputs(self) -> int:
        """Number of features."""
        return int(self.n_components) or self.n_columns

    @property
    def n_columns(self) -> int:
        """Number of columns of rows."""
        return self.scaling.n_columns

    @property
    def dtype(self) -> type[np.floating[Any]]:
        """Type of the features: cosines are in single precision."""
        return np.float32 if self.n_components else np.float64

    @cached_property
    def _waves(self) -> tuple[Array, Array]:
        # The stream of RandomState is frozen (NEP 19), so that maps with one seed agree between versions of NumPy.
        draws = np.random.RandomState(self.seed)
        directions = draws.standard_normal((self.n_columns, self.n_components)) / self.width
        phases = draws.uniform(0, 2 * np.pi, self.n_components)
        return self.place(directions.astype(np.float32)), self.place(phases.astype(np.float32))

    def __call__(self, rows: Floats, is_scaled: bool = False) -> np.ndarray:
        """Return the features of rows, which may be in the units of this map already (then `ranges` is not applied)."""
        return as_numpy(self.on_device(rows, is_scaled))

    def on_device(self, rows: Floats, is_scaled: bool = False) -> Array:
        """Return the features of rows as a NumPy array, or as a tensor on another device."""
        scaled = rows if is_scaled else self.scaling(rows if self.ranges is None else rows.clip(*self.ranges))
        single = self.place(scaled.astype(self.dtype, copy=False))
        if not self.n_components:
            return single
        directions, phases = self._waves
        waves = single @ directions
        waves += phases
        return namespace(waves).cos(waves, out=waves)

    def place(self, array: np.ndarray) -> Array:
        """Put an array on the device where features are computed."""
        return array if self._gpu is None else import_home("torch").as_tensor(array, device=self._gpu)

    @cached_property
    def _gpu(self) -> Any:
        """The device of torch, unless it is the CPU, where NumPy is as fast."""
        if self.device == "cpu" or (self.device == "auto" and not torch_is_installed()):
            return None
        devices = import_home("fewratio.estimators.networks.network_estimator", f"device={self.device!r}")
        device = devices.resolve_device(self.device)
        return None if device.type == "cpu" else device

    def blocks(self, rows: Floats, is_scaled: bool = False) -> Iterator[np.ndarray]:
        """Yield the features of rows a block at a time, so that memory stays bounded."""
        return (self(rows[block], is_scaled) for block in row_blocks(len(rows), self.n_outputs))

    def of_each(self, datasets: Iterable[Floats], is_scaled: bool = False) -> Iterator[Iterable[np.ndarray]]:
        """Yield the blocks of each dataset; the features of small datasets are computed together."""
        most, n_rows = block_rows(self.n_outputs, CACHED_VALUES), 0
        together: list[Floats] = []
        for rows in datasets:
            if together and n_rows + len(rows) > most:
                yield from self._of_several(together, is_scaled)
                together, n_rows = [], 0
            together.append(rows)
            n_rows += len(rows)
        yield from self._of_several(together, is_scaled)

    def _of_several(self, datasets: Sequence[Floats], is_scaled: bool) -> Iterator[Iterable[np.ndarray]]:
        if len(datasets) < 2:
            return (self.blocks(rows, is_scaled) for rows in datasets)
        values = self(np.concatenate(datasets), is_scaled)
        return ([part] for part in np.split(values, np.cumsum(list(map(len, datasets)))[:-1]))

    @cached_property
    def fingerprint(self) -> str:
        """A hash that identifies this map: summaries of different maps cannot be added."""
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True).encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Return the map as plain values for JSON, without ranks, which are large."""
        units = {} if isinstance(self.scaling, RankScaling) else vars(self.scaling)
        return {
            **{name: np.asarray(values).tolist() for name, values in units.items()},
            "columns": None if self.columns is None else write_source_columns(self.columns),
            "ranges": None
            if self.ranges is None
            else [[value if np.isfinite(value) else None for value in side.tolist()] for side in self.ranges],
            "n_components": self.n_components,
            "width": float(self.width),
            "seed": self.seed,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], ranks: RankScaling | None = None) -> "FeatureMap":
        """Return the map that `to_dict` described; raise ``ValueError`` if the values do not fit together."""
        whole = dict.fromkeys(("n_components", "seed"), (int,))
        check_fields(content, {"width": (int, float), "columns": (dict, type(None)), **whole})
        width = float(content["width"])
        if not (np.isfinite(width) and width > 0):
            raise ValueError(f"its width is {width}")
        scaling = _units(content) if ranks is None else ranks
        for name, most in (("n_components", _MOST_COMPONENTS), ("seed", 2**32 - 1)):
            if not 0 <= content[name] <= most:
                raise ValueError(f"{name} is {content[name]}, not from 0 to {most}")
        d = scaling.n_columns
        columns = None if content["columns"] is None else read_source_columns(content["columns"])
        if columns is not None and columns.n_features != d:
            raise ValueError(f"its numbers of columns differ: {columns.n_features}, and {d} means")
        ranges = None
        if content["ranges"] is not None:
            ranges = _numbers(content, "ranges", (2, d))
            # None has become NaN.
            ranges = np.where(np.isnan(ranges), [[-np.inf], [np.inf]], ranges)
            if not (ranges[0] <= ranges[1]).all():
                raise ValueError("ranges has a lowest value above its highest")
        return cls(scaling, content["n_components"], width, content["seed"], ranges, columns)


def as_numpy(array: Array) -> np.ndarray:
    """Return an array, or a tensor on any device, as an array of NumPy."""
    return array if isinstance(array, np.ndarray) else array.cpu().numpy()


def _units(content: Mapping[str, Any]) -> ColumnScaling:
    """Return the units in a header."""
    check_fields(content, {"mean": (list,)})
    d = len(content["mean"])
    mean, scale = (_numbers(content, name, (d,)) for name in ("mean", "scale"))
    if not d or not np.isfinite([*mean, *scale]).all():
        raise ValueError("mean or scale have numbers that are not finite")
    if not scale.min() > 0:
        raise ValueError("scale has numbers that are not positive")
    return ColumnScaling(mean, scale)


def _numbers(content: Mapping[str, Any], name: str, shape: tuple[int, ...]) -> Floats:
    """Return the numbers in a header as an array."""
    try:
        return np.array(content[name], dtype=np.float64).reshape(shape)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} is not an array of numbers of the shape {shape}") from error
