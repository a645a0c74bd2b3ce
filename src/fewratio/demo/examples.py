"""The example data of the page: wines, a series with changes, days of a line, a survey, and a folder of sensors."""

from pathlib import Path

import numpy as np

from fewratio.demo.wines import write_wine_tables

N_SENSORS, N_READINGS = 40, 20


def write_examples(folder: Path, seed: int = 0) -> None:
    """Write all example tables.

    Parameters
    ----------
    folder : Path
        An existing folder. ``wines``, ``line``, ``sensors`` and ``new`` are folders in it; ``machine.csv``,
        ``survey.csv`` and ``people.csv`` are files.
    seed : int, default=0
        Seed of all random numbers.
    """
    for name in ("wines", "line", "sensors", "new"):
        (folder / name).mkdir(exist_ok=True)
    write_wine_tables(folder / "wines", seed)
    _write_series(folder / "machine.csv", seed)
    _write_line(folder / "line", seed)
    _write_survey(folder, seed)
    _write_sensors(folder, seed)


def _write_series(path: Path, seed: int) -> None:
    """Write every other day of two years of a made-up machine: its vibration rises once, its power use drops once."""
    rng = np.random.default_rng(seed)
    days = np.arange(0, 730, 2)
    season = 6 * np.sin(2 * np.pi * days / 365.25)
    temperature = 21 + season + rng.normal(0, 1.5, len(days))
    vibration = rng.gamma(9, 0.12, len(days)) + np.where(days >= 240, 0.6, 0)
    power = 48 + 0.3 * season + rng.normal(0, 2, len(days)) - np.where(days >= 520, 5, 0)
    _write(
        path,
        {"day": np.datetime64("2023-01-01") + days, "temperature": temperature, "vibration": vibration, "power": power},
    )


def _write_line(folder: Path, seed: int) -> None:
    """Write pieces of a made-up production line and of three days; from Tuesday noon they are too heavy."""
    rng = np.random.default_rng(seed)
    for name, n in {"reference": 300, "monday": 80, "tuesday": 80, "wednesday": 80}.items():
        later = np.arange(n) >= n // 2 if name == "tuesday" else np.full(n, name == "wednesday")
        columns = {"length": rng.normal(20, 0.4, n), "weight": rng.normal(5, 0.1, n) + 0.1 * later}
        _write(folder / f"{name}.csv", columns | {"machine": rng.choice(["a", "b"], n)})


def _write_survey(folder: Path, seed: int) -> None:
    """Write made-up answers to a survey, which young and urban people gave more often, and the people to describe."""
    rng = np.random.default_rng(seed)
    for name, n_rows, age, urban in (("survey", 300, 38, 0.8), ("people", 200, 50, 0.55)):
        years = rng.normal(age, 12, n_rows).clip(18, 90).round()
        income = 18 + 0.35 * years + rng.gamma(4, 3, n_rows)
        place = np.where(rng.random(n_rows) < urban, "town", "country")
        _write(folder / f"{name}.csv", {"age": years, "income": income, "place": place})


def _write_sensors(folder: Path, seed: int) -> None:
    """Write readings of made-up sensors of one model, each with its own offset and gain, and of two new ones.

    Sensors differ from each other mostly in temperature; within a sensor, the other readings vary more.
    """
    rng = np.random.default_rng(seed)
    names = [f"sensors/sensor_{number:02d}.csv" for number in range(1, N_SENSORS + 1)]
    for name in (*names, "new/sensor_41.csv", "new/sensor_42.csv"):
        n_rows = N_READINGS if name in names else 8
        offset, load = rng.normal(0, [4.0, 0.3, 2.0]), rng.normal(0, 1, n_rows)
        noise = rng.normal(0, [0.6, 0.5, 0.8], (n_rows, 3))
        values = np.array([20, 1.2, 50]) + offset + noise + load[:, None] * np.array([0.4, 0.8, -1.5])
        columns = dict(zip(("temperature", "current", "humidity"), values.T, strict=True))
        _write(folder / name, {"row": np.arange(1, n_rows + 1), **columns})


def _write(path: Path, columns: dict[str, np.ndarray]) -> None:
    cells = [
        values.round(3).astype(str) if values.dtype.kind == "f" else values.astype(str) for values in columns.values()
    ]
    np.savetxt(path, np.column_stack(cells), fmt="%s", delimiter=",", header=",".join(columns), comments="")
