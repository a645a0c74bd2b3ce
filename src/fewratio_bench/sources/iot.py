"""IoT (N-BaIoT): network traffic of nine devices, benign and under attack."""

import gzip
import warnings
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fewratio.data.collection import Collection
from fewratio.data.dataset import Dataset
from fewratio.data.registry import Source, Status
from fewratio.data.seeds import seed_for
from fewratio.errors import DataFileError, DataNotFoundError
from fewratio_bench.sources.landmine import unit_rows
from fewratio_bench.sources.storage import DATA_VARIABLE, first_folder, locate

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
# A line of 115 numbers has about 3,000 characters. Without a bound, a packed file of zeros would be one endless line.
LONGEST_LINE = 2**16


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
    reasons: dict[str, str] = {}
    datasets = []
    is_outlier = np.arange(N_NORMAL + N_MALICIOUS) >= N_NORMAL
    for device in DEVICES:
        files = device_files(device)
        reason = missing_kinds(files)
        counts = {} if reason else {kind: sum(1 for _ in _lines(path)) for kind, path in files.items()}
        reason = reason or _too_few(counts)
        if reason:
            reasons[device] = reason
        else:
            datasets.append(Dataset(device, None, unit_rows(_draw_rows(device, files, counts, seed)), is_outlier))
    if not datasets:
        raise DataNotFoundError(_nothing_complete(reasons))
    if reasons:
        warnings.warn(_incomplete(reasons), stacklevel=3)  # said of the call of load_collection
    return Collection("iot", datasets, FEATURES)


def status() -> Status:
    """Look which devices have files of both kinds; they are not read."""
    devices = {device: device_files(device) for device in DEVICES}
    reasons = {device: reason for device, files in devices.items() if (reason := missing_kinds(files))}
    found = tuple(path for device, files in devices.items() if device not in reasons for path in files.values())
    if not found:
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


def _too_few(counts: Mapping[str, int]) -> str:
    n_benign, n_malicious = counts["benign"], sum(counts.values()) - counts["benign"]
    if n_benign >= N_NORMAL and n_malicious >= N_MALICIOUS:
        return ""
    return f"{n_benign} benign and {n_malicious} malicious rows, {N_NORMAL} and {N_MALICIOUS} are needed"


def _draw_rows(device: str, files: Mapping[str, Path], counts: Mapping[str, int], seed: int) -> NDArray[np.float64]:
    """Draw the rows of a device, normal ones first, as they are in the files."""
    attacks = [kind for kind in files if kind != "benign"]
    n_malicious = sum(counts[kind] for kind in attacks)
    rows = _read_rows(files["benign"], _drawn(counts["benign"], N_NORMAL, seed, device, "normal"))
    malicious = _drawn(n_malicious, N_MALICIOUS, seed, device, "malicious")
    first = 0
    for kind in attacks:
        rows += _read_rows(files[kind], malicious - first)
        first += counts[kind]
    return np.array(rows)


def _drawn(n_rows: int, count: int, *role: str | int) -> NDArray[np.int64]:
    rng = np.random.default_rng(seed_for("iot", *role))
    return np.sort(rng.choice(n_rows, count, replace=False))


def _read_rows(path: Path, wanted: NDArray[np.int64]) -> list[list[float]]:
    """Read the rows of the given numbers (from 0), so far as the file has them."""
    numbers = set(wanted.tolist())
    return [_parsed(line, f"{path}, line {n}") for row, (n, line) in enumerate(_lines(path)) if row in numbers]


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Give number and text of each line below the header that is not blank."""
    number = 1
    try:
        with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
            names = [name.strip() for name in file.readline(LONGEST_LINE).decode(errors="replace").split(",")]
            if names != list(FEATURES):
                wrong = next(
                    (i for i, pair in enumerate(zip(names, FEATURES, strict=False), 1) if len(set(pair)) > 1), 1
                )
                raise DataFileError(
                    f"{path}, line 1 has {len(names)} names, of which number {wrong} is {names[wrong - 1][:60]!r}; "
                    f"{len(FEATURES)} are needed, that one {FEATURES[wrong - 1]!r}. Put the published file there."
                )
            while line := file.readline(LONGEST_LINE):
                number += 1
                if not line.isspace():
                    yield number, line
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataFileError(f"{path} is damaged after line {number} ({error}). Put a whole copy there.") from error


def _parsed(line: bytes, place: str) -> list[float]:
    try:
        row = [float(field) for field in line.split(b",")]
    except ValueError:
        row = []
    if len(row) != len(FEATURES) or not np.isfinite(row).all():
        raise DataFileError(f"{place} does not hold {len(FEATURES)} finite numbers. Put the published file there.")
    return row


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
    load=load,
    description="Statistics of network traffic (N-BaIoT), each row divided by its l2 norm. A dataset is a device: 475 "
    "benign rows, and 25 of botnet attacks, which are the outliers, drawn by a seed.",
    licence="CC BY 4.0",
    origin=ORIGIN,
    n_datasets=len(DEVICES),
    n_features=len(FEATURES),
    sizes=(N_NORMAL + N_MALICIOUS, N_NORMAL + N_MALICIOUS),
    status=status,
)
