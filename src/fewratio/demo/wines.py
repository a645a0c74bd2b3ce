"""The main demo's tables: wines of two growers, and a delivery in which some come from elsewhere."""

from pathlib import Path

import numpy as np

N_KNOWN, N_OTHER, N_STRANGERS = 20, 10, 4


def write_wine_tables(folder: Path, seed: int = 0) -> tuple[list[Path], list[str]]:
    """Divide scikit-learn's wine data (Aeberhard and Forina, UCI) into three CSV files.

    To make them ordinary tables, made-up columns are added: a bottle number, the day of its analysis, and its closure,
    which is sometimes missing.

    Parameters
    ----------
    folder : Path
        An existing folder.
    seed : int, default=0
        Seed of the division.

    Returns
    -------
    (list of Path, list of str)
        The files: wines of the first grower, of the second, and a delivery of the first grower's other wines with some
        of the second and the third; and which bottles of the delivery those are.
    """
    from sklearn.datasets import load_wine

    wines = load_wine()
    rng = np.random.default_rng(seed)
    first, second, third = (rng.permutation(np.flatnonzero(wines.target == grower)) for grower in range(3))
    half = N_STRANGERS // 2
    strangers = np.concatenate([second[N_OTHER : N_OTHER + half], third[: N_STRANGERS - half]])
    delivery = rng.permutation(np.concatenate([first[N_KNOWN:], strangers]))
    columns = ",".join(wines.feature_names).replace("od280/od315_of_diluted_wines", "od280/od315")
    tables = {"grower_1": first[:N_KNOWN], "grower_2": second[:N_OTHER], "delivery": delivery}
    bottles = np.array([f"W{number:03d}" for number in range(len(wines.data))])
    paths = [folder / f"{name}.csv" for name in tables]
    for year, path, rows in zip((2022, 2023, 2024), paths, tables.values(), strict=True):
        days = np.datetime64(f"{year}-01-01") + np.sort(rng.integers(365, size=len(rows)))
        closures = rng.choice(["cork", "screw cap", ""], len(rows), p=[0.6, 0.35, 0.05])
        cells = np.column_stack([bottles[rows], days.astype(str), closures, wines.data[rows].astype(str)])
        np.savetxt(path, cells, fmt="%s", delimiter=",", header=f"bottle,analysed,closure,{columns}", comments="")
    return paths, bottles[delivery[np.isin(delivery, strangers)]].tolist()
