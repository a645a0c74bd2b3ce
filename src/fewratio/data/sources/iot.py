"""IoT (N-BaIoT): network traffic of nine devices, benign and under attack."""

import warnings
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fewratio.data.collection import Collection
from fewratio.data.dataset import Dataset
from fewratio.data.parsed import Arrays, parsed
from fewratio.data.seeds import seed_for
from fewratio.data.source import Source, Status, unit_rows
from fewratio.data.sources.csvrows import count_first_rows, count_rows, read_rows
from fewratio.data.storage import DATA_VARIABLE, first_folder, locate
from fewratio.errors import DataFileError, DataNotFoundError

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
    """Load the complete devices of IoT: 475 normal and 25 malicious rows each, divided by their l2 norm.

    Devices that are not complete are left out, with a warning that names them. Capture times are among the features,
    and they dominate the norm of a row: a high AUC is easy here.

    Parameters
    ----------
    seed : int
        Which rows are drawn. The draw of a device depends on nothing else, neither on the layout of the files nor on
        the other devices.
    """
    devices = {device: device_files(device) for device in DEVICES}
    reasons: dict[str, str] = {}
    datasets = []
    is_outlier = np.arange(N_NORMAL + N_MALICIOUS) >= N_NORMAL
    for device, files in devices.items():
        reason = missing_kinds(files)
        if not reason:
            key, paths = f"iot-{device}-{seed}", list(files.values())
            arrays = parsed(key, 1, paths, partial(draw_rows, device, files, seed))
            reason = "" if "X" in arrays else str(arrays["reason"])
        if reason:
            reasons[device] = reason
        else:
            datasets.append(Dataset(device, None, unit_rows(arrays["X"]), is_outlier))
    if not datasets:
        raise DataNotFoundError(_nothing_complete(reasons))
    if reasons:
        warnings.warn(_incomplete(reasons), stacklevel=3)  # said of the call of load_collection
    return Collection("iot", datasets, FEATURES)


def status() -> Status:
    """Look which devices have rows enough of both kinds; no more of a file is read than that takes."""
    devices = {device: device_files(device) for device in DEVICES}
    reasons = {device: reason for device, files in devices.items() if (reason := shortage(files))}
    found = tuple(path for device, files in devices.items() if device not in reasons for path in files.values())
    if len(reasons) == len(DEVICES):
        return Status(False, note=_nothing_complete(reasons))
    return Status(True, found, _incomplete(reasons) if reasons else "")


def device_files(device: str) -> dict[str, Path]:
    """Find the files of a device by kind ("benign", "gafgyt.scan", ...), in either layout, packed or not."""
    number = DEVICES.index(device) + 1
    layouts = {"benign": (f"{device}/benign_traffic.csv", f"{number}.benign.csv")} | {
        f"{botnet}.{attack}": (f"{device}/{botnet}_attacks/{attack}.csv", f"{number}.{botnet}.{attack}.csv")
        for botnet, attacks in ATTACKS.items()
        for attack in attacks
    }
    places = {
        kind: [locate(f"iot/{path}{packing}") for path in paths for packing in ("", ".gz")]
        for kind, paths in layouts.items()
    }
    return {kind: next(filter(None, found)) for kind, found in places.items() if any(found)}


def missing_kinds(files: Mapping[str, Path]) -> str:
    """Say what a device lacks; nothing if it has files of both kinds."""
    if not files:
        return "no files"
    if "benign" not in files:
        return "no benign traffic"
    return "" if len(files) > 1 else "no attack"


def shortage(files: Mapping[str, Path]) -> str:
    """Say what a device lacks to be drawn from, going by the first rows of its files; nothing if that is enough."""
    reason = missing_kinds(files)
    if reason:
        return reason
    try:
        n_benign = count_first_rows(files["benign"], FEATURES, N_NORMAL)
        n_malicious = 0
        for kind, path in files.items():
            if kind != "benign":
                n_malicious += count_first_rows(path, FEATURES, N_MALICIOUS - n_malicious)
    except DataFileError as error:
        return str(error).rpartition(". ")[0]
    return _too_few(n_benign, n_malicious)


def _too_few(n_benign: int, n_malicious: int) -> str:
    if n_benign >= N_NORMAL and n_malicious >= N_MALICIOUS:
        return ""
    return f"{n_benign} benign and {n_malicious} malicious rows, {N_NORMAL} and {N_MALICIOUS} are needed"


def draw_rows(device: str, files: Mapping[str, Path], seed: int) -> Arrays:
    """Draw the rows of a device, normal ones first, as they are in the files; or say why that is not possible."""
    counts = {kind: count_rows(path, FEATURES) for kind, path in files.items()}
    attacks = [kind for kind in files if kind != "benign"]
    n_malicious = sum(counts[kind] for kind in attacks)
    reason = _too_few(counts["benign"], n_malicious)
    if reason:
        return {"reason": np.array(reason)}
    normal = _drawn(counts["benign"], N_NORMAL, seed, device, "normal")
    malicious = _drawn(n_malicious, N_MALICIOUS, seed, device, "malicious")
    parts = [read_rows(files["benign"], FEATURES, normal)]
    first = 0
    for kind in attacks:
        here = malicious[(malicious >= first) & (malicious < first + counts[kind])] - first
        parts.append(read_rows(files[kind], FEATURES, here))
        first += counts[kind]
    return {"X": np.concatenate(parts)}


def _drawn(n_rows: int, count: int, *role: str | int) -> NDArray[np.int64]:
    rng = np.random.default_rng(seed_for("iot", *role))
    return np.sort(rng.choice(n_rows, count, replace=False))


def _incomplete(reasons: Mapping[str, str]) -> str:
    missing = ", ".join(f"{device} ({reason})" for device, reason in reasons.items())
    return (
        f"iot has {len(DEVICES) - len(reasons)} of {len(DEVICES)} devices complete. Missing: {missing}. "
        f"Put the files of {ORIGIN} (its .rar files unpacked), or of its copy at Kaggle, below "
        f"{first_folder() / 'iot'}."
    )


def _nothing_complete(reasons: Mapping[str, str]) -> str:
    folder = first_folder() / "iot"
    example = folder / DEVICES[0]
    some = [f"{device} ({reason})" for device, reason in reasons.items() if reason != "no files"]
    return (
        f"No device of iot is complete{': ' + ', '.join(some) if some else ''}; each needs {N_NORMAL} benign rows and "
        f"{N_MALICIOUS} of an attack, and the archive (1.7 GB, with .rar files inside) has to be fetched by hand: "
        f"{ORIGIN}. Put its folders, .rar files unpacked, below {folder}, such as {example / 'benign_traffic.csv'} and "
        f"{example / 'gafgyt_attacks' / 'scan.csv'}; or set {DATA_VARIABLE} to the folder that holds iot."
    )


SOURCE = Source(
    name="iot",
    description="Statistics of network traffic (N-BaIoT), each row divided by its l2 norm. A dataset is a device: 475 "
    "benign rows, and 25 of botnet attacks, which are the outliers, drawn by a seed.",
    licence="CC BY 4.0",
    origin=ORIGIN,
    n_datasets=len(DEVICES),
    n_features=len(FEATURES),
    sizes=(N_NORMAL + N_MALICIOUS, N_NORMAL + N_MALICIOUS),
    load=load,
    status=status,
)
