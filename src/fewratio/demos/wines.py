"""The main demo's tables: wines of two growers, and a delivery in which some come from elsewhere."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fewratio.core.tensorfile import write_atomically

N_KNOWN, N_OTHER, N_STRANGERS = 20, 10, 4


@dataclass(frozen=True)
class WineTables:
    """Where the tables are, and the truth about the delivery.

    Attributes
    ----------
    known, other : Path
        Wines of the first grower and of the second.
    delivery : Path
        The first grower's other wines, with some of the second and the third.
    strangers : tuple of str
        Which bottles of the delivery those are.
    columns : tuple of str
        What was measured.
    """

    known: Path
    other: Path
    delivery: Path
    strangers: tuple[str, ...]
    columns: tuple[str, ...]


def write_wine_tables(folder: Path, seed: int = 0) -> WineTables:
    """Deal scikit-learn's wine data (Aeberhard and Forina, UCI) into three CSV files.

    To make ordinary tables of them, a number of the bottle, the day of its analysis and its closure, here and there
    missing, are added; these are made up.

    Parameters
    ----------
    folder : Path
        Where to; it must be there.
    seed : int, default=0
        Deals.
    """
    from sklearn.datasets import load_wine

    wines = load_wine()
    rng = np.random.default_rng(seed)
    first, second, third = (rng.permutation(np.flatnonzero(wines.target == grower)) for grower in range(3))
    half = N_STRANGERS // 2
    strangers = np.concatenate([second[N_OTHER : N_OTHER + half], third[: N_STRANGERS - half]])
    delivery = rng.permutation(np.concatenate([first[N_KNOWN:], strangers]))
    columns = tuple(name.replace("od280/od315_of_diluted_wines", "od280/od315") for name in wines.feature_names)
    tables = {"grower_1": first[:N_KNOWN], "grower_2": second[:N_OTHER], "delivery": delivery}
    bottles = np.array([f"W{number:03d}" for number in range(len(wines.data))])
    paths = []
    for year, (name, rows) in enumerate(tables.items(), start=2022):
        paths.append(folder / f"{name}.csv")
        days = np.datetime64(f"{year}-01-01") + np.sort(rng.integers(365, size=len(rows)))
        closures = rng.choice(["cork", "screw cap", ""], len(rows), p=[0.6, 0.35, 0.05])
        made_up = zip(bottles[rows], days, closures, strict=True)
        lines = [("bottle", "analysed", "closure", *columns)]
        lines += [(*extra, *wine) for extra, wine in zip(made_up, wines.data[rows].tolist(), strict=True)]
        write_atomically(paths[-1], "".join(",".join(map(str, line)) + "\n" for line in lines).encode())
    known, other, mixed = paths
    return WineTables(known, other, mixed, tuple(bottles[delivery[np.isin(delivery, strangers)]].tolist()), columns)
