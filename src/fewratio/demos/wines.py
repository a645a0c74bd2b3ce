"""The main demo's tables: wines of two growers, and a delivery in which some come from elsewhere."""

from pathlib import Path

import numpy as np

N_KNOWN, N_OTHER, N_STRANGERS = 20, 10, 4


def write_wine_tables(folder: Path, seed: int = 0) -> tuple[list[Path], list[int]]:
    """Deal scikit-learn's wine data (Aeberhard and Forina, UCI) into three CSV files.

    Parameters
    ----------
    folder : Path
        Where to; it must be there.
    seed : int, default=0
        Deals.

    Returns
    -------
    (list of Path, list of int)
        The files: wines of the first grower, of the second, and a delivery of the first grower's other wines with some
        of the second and the third; and which rows of the delivery those are.
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
    paths = [folder / f"{name}.csv" for name in tables]
    for path, rows in zip(paths, tables.values(), strict=True):
        np.savetxt(path, wines.data[rows], fmt="%s", delimiter=",", header=columns, comments="")
    return paths, np.flatnonzero(np.isin(delivery, strangers)).tolist()
