"""IoT (N-BaIoT): network traffic of nine devices, benign and under attack."""

import gzip
import warnings
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import normalize

from fewratio.core.draws import seed_for
from fewratio.data.collection import Collection
from fewratio.data.dataset import Dataset
from fewratio.data.registry import Source
from fewratio.errors import DataFileError, DataNotFoundError
from fewratio_bench.sources.storage import data_folders, locate

ORIGIN = "https://archive.ics.uci.edu/dataset/442/detection+of+iot+botnet+attacks+n+baiot"
N_NORMAL, N_MALICIOUS = 475, 25
# In the order of their numbers in the copy at Kaggle.
DEVICES = (
    "Danmini_Doorbell",
    "Ecobee_Thermostat",
    "Ennio_Doorbell",
    "Philips_B120N10_Baby_Monitor",
    "Provision_PT_737E_Security_Camera",
    "Provision_PT_838_Security_Camera",
    "Samsung_SNH_1011_N_Webcam",
    "SimpleHome_XCS7_1002_WHT_Security_Camera",
    "SimpleHome_XCS7_1003_WHT_Security_Camera",
)
ATTACKS = {"gafgyt": ("combo", "junk", "scan", "tcp", "udp"), "mirai": ("ack", "scan", "syn", "udp", "udpplain")}
_MOMENTS = ("weight", "mean", "variance")
_PAIR_MOMENTS = ("weight", "mean", "std", "magnitude", "radius", "covariance", "pcc")
_STREAMS = {"MI_dir": _MOMENTS, "H": _MOMENTS, "HH": _PAIR_MOMENTS, "HH_jit": _MOMENTS, "HpHp": _PAIR_MOMENTS}
FEATURES = tuple(
    f"{stream}_L{decay}_{statistic}"
    for stream, statistics in _STREAMS.items()
    for decay in ("5", "3", "1", "0.1", "0.01")
    for statistic in statistics
)


def load(seed: int = 0) -> Collection:
    """Load the complete devices of IoT, of 9: 475 normal and 25 malicious rows each, 115 features.

    Statistics of network traffic (N-BaIoT), each row divided by its l2 norm. A dataset is a device; rows of botnet
    attacks are the outliers.

    Devices without files of both kinds are left out, with a warning that names them. Capture times are among the
    features, and they dominate the norm of a row: a high AUC is easy here.

    Parameters
    ----------
    seed : int
        Which rows are drawn. The draw of a device depends on nothing else, neither on the layout of the files nor on
        the other devices.
    """
    is_outlier = np.arange(N_NORMAL + N_MALICIOUS) >= N_NORMAL
    datasets = []
    for device, kinds in complete_devices().items():
        attacks = [path for kind, path in kinds.items() if kind != "benign"]
        normal = _draw([kinds["benign"]], N_NORMAL, seed, device, "normal")
        malicious = _draw(attacks, N_MALICIOUS, seed, device, "malicious")
        datasets.append(Dataset(device, None, normalize(np.concatenate([normal, malicious])), is_outlier))
    return Collection("iot", datasets, FEATURES)


def files(download: bool = True) -> list[Path]:
    """Find the files of the complete devices; they cannot be downloaded."""
    found = [path for device in DEVICES for path in device_files(device).values()]
    if download or not found:
        complete_devices()
    return found


def complete_devices() -> dict[str, dict[str, Path]]:
    """Find the devices that have benign traffic and an attack; warn of the others, or raise if there is none."""
    found = {device: device_files(device) for device in DEVICES}
    complete = {device: kinds for device, kinds in found.items() if "benign" in kinds and len(kinds) > 1}
    folder = data_folders()[0] / "iot"
    message = (
        f"iot has {len(complete)} of {len(DEVICES)} devices complete, with benign traffic and an attack. Missing: "
        f"{', '.join(device for device in DEVICES if device not in complete)}. The archive (1.7 GB) has to be fetched "
        f"by hand: put the files of {ORIGIN} (its .rar files unpacked), or of its copy at Kaggle, below {folder}, such "
        f"as {folder / DEVICES[0] / 'benign_traffic.csv'}."
    )
    if not complete:
        raise DataNotFoundError(message)
    if len(complete) < len(DEVICES):
        warnings.warn(message, stacklevel=4)  # said of the call of load_collection
    return complete


def device_files(device: str) -> dict[str, Path]:
    """Find the files of a device by kind ("benign", "gafgyt.scan", ...), in either layout, packed or not."""
    number = DEVICES.index(device) + 1
    layouts = {"benign": (f"{device}/benign_traffic.csv", f"{number}.benign.csv")} | {
        f"{botnet}.{attack}": (f"{device}/{botnet}_attacks/{attack}.csv", f"{number}.{botnet}.{attack}.csv")
        for botnet, attacks in ATTACKS.items()
        for attack in attacks
    }
    packings = {
        kind: [f"iot/{path}{packing}" for path in paths for packing in ("", ".gz")] for kind, paths in layouts.items()
    }
    return {kind: place for kind, paths in packings.items() if (place := locate(*paths))}


def _draw(paths: Sequence[Path], count: int, *role: str | int) -> NDArray[np.float64]:
    """Draw rows of some files taken together, and give them in their order."""
    place = ", ".join(map(str, paths))
    n_rows = sum(1 for _ in _lines(paths))
    if n_rows < count:
        raise DataFileError(f"{place}: {n_rows} rows, but {count} are needed. Put whole files there.")
    numbers = np.random.default_rng(seed_for("iot", *role)).choice(n_rows, count, replace=False)
    drawn = set(numbers.tolist())
    lines = [line for number, line in enumerate(_lines(paths)) if number in drawn]
    try:
        rows = np.loadtxt(lines, delimiter=",", ndmin=2)
    except ValueError as error:
        raise DataFileError(f"{place}: not a table of numbers ({error}). Put the published files there.") from error
    if rows.shape[1] != len(FEATURES) or not np.isfinite(rows).all():
        raise DataFileError(f"{place}: rows without {len(FEATURES)} finite numbers. Put the published files there.")
    return rows


def _lines(paths: Sequence[Path]) -> Iterator[str]:
    """Yield the lines of some files that are neither header nor blank."""
    for path in paths:
        try:
            with gzip.open(path, "rt") if path.suffix == ".gz" else open(path) as file:
                if [name.strip() for name in file.readline().split(",")] != list(FEATURES):
                    raise DataFileError(
                        f"{path}: the first line does not name the {len(FEATURES)} columns of N-BaIoT. Put the "
                        "published file there."
                    )
                yield from (line for line in file if not line.isspace())
        except (gzip.BadGzipFile, EOFError, zlib.error, UnicodeDecodeError) as error:
            raise DataFileError(f"{path} is damaged ({error}). Put a whole copy there.") from error


SOURCE = Source("iot", load, licence="CC BY 4.0", origin=ORIGIN, files=files)
