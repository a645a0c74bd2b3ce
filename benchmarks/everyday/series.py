"""Series without changes, by kind of noise, and with one change, by kind of change."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

Array = NDArray[np.float64]
Make = Callable[[np.random.Generator], Array]
ROWS = 200
# Yearly flow of the Nile at Aswan from 1871 on (Cobb 1978); it fell in 1899.
NILE = np.fromstring(
    """1120 1160 963 1210 1160 1160 813 1230 1370 1140 995 935 1110 994 1020 960 1180 799 958 1140 1100 1210 1150 1250
    1260 1220 1030 1100 774 840 874 694 940 833 701 916 692 1020 1050 969 831 726 456 824 702 1120 1100 832 764 821 768
    845 864 862 698 845 744 796 1040 759 781 865 845 944 984 897 822 1010 771 676 649 846 812 742 801 1040 860 874 848
    890 744 749 838 1050 918 986 797 923 975 815 1020 906 901 1170 912 746 919 718 714 740""",
    sep=" ",
)


class Changed(NamedTuple):
    """A kind of series with a change: how to make one, where it changes, and what `detect_changes` may be told."""

    make: Make
    row: int


def autoregression(coefficient: float, n: int = ROWS) -> Make:
    def make(rng: np.random.Generator) -> Array:
        noise = rng.normal(size=n + ROWS)
        return np.asarray(lfilter([np.sqrt(1 - coefficient**2)], [1, -coefficient], noise)[ROWS:])

    return make


def garch(rng: np.random.Generator) -> Array:
    noise, variance = rng.normal(size=2 * ROWS), 1.0
    for row, each in enumerate(noise):
        noise[row] = each * np.sqrt(variance)
        variance = 0.05 + 0.15 * noise[row] ** 2 + 0.8 * variance
    return noise[ROWS:]


def rain(rng: np.random.Generator, n: int = ROWS, wet: float | Array = 0.2) -> Array:
    return np.where(rng.random(n) < wet, rng.gamma(0.7, 8, n), 0.0).round(1)


def seasonal_rain(rng: np.random.Generator) -> Array:
    """Four years with dry summers."""
    n = 1461
    return rain(rng, n, 0.35 + 0.3 * np.cos(2 * np.pi * np.arange(n) / 365.25))


def growth(rng: np.random.Generator) -> Array:
    return np.exp(0.015 * np.arange(ROWS) + 0.1 * rng.normal(size=ROWS))


def beat(period: float) -> Make:
    """Make noise whose spread has a season."""
    waves = 1 + 0.8 * np.sin(2 * np.pi * np.arange(ROWS) / period)
    return lambda rng: waves * rng.normal(size=ROWS)


# No row of these is a change.
UNCHANGED: dict[str, Make] = {
    "white": lambda rng: rng.normal(size=ROWS),
    "AR(0.5)": autoregression(0.5),
    "AR(0.9)": autoregression(0.9),
    "random walk": lambda rng: rng.normal(size=ROWS).cumsum(),
    "exponential growth": growth,
    "growing counts": lambda rng: rng.poisson(np.exp(np.arange(ROWS) / 80)).astype(float),
    "rain": rain,
    "rain, four years with dry summers": seasonal_rain,
    "GARCH": garch,
    "season of the spread": beat(40.0),
    "Student t": lambda rng: rng.standard_t(3, ROWS),
    "low weekends": lambda rng: rng.normal(size=ROWS) - 7 * (np.arange(ROWS) % 7 >= 5),
    "one peak a year": lambda rng: rng.normal(size=120) + 6 * (np.arange(120) % 12 == 11),
    "zeros and ones": lambda rng: rng.binomial(1, 0.3, ROWS).astype(float),
    "white, 14 rows": lambda rng: rng.normal(size=14),
    "white, 20 rows": lambda rng: rng.normal(size=20),
    "AR(0.5), 14 rows": autoregression(0.5, 14),
    "AR(0.5), 20 rows": autoregression(0.5, 20),
}


def _half(first: Callable[[Array], Array], second: Callable[[Array], Array]) -> Make:
    """Change from one function of noise to another in the middle."""
    middle = ROWS // 2

    def make(rng: np.random.Generator) -> Array:
        noise = rng.normal(size=ROWS)
        return np.concatenate([first(noise[:middle]), second(noise[middle:])])

    return make


def _beside_noise(n_columns: int) -> Make:
    return lambda rng: np.column_stack([NILE, rng.normal(size=(len(NILE), n_columns))])


def _same(noise: Array) -> Array:
    return noise


_MIDDLE = ROWS // 2
_SEASON = 3 * np.sin(2 * np.pi * np.arange(_MIDDLE) / 20)
CHANGED: dict[str, Changed] = {
    "shift by one deviation": Changed(_half(_same, lambda noise: noise + 1), _MIDDLE),
    "spread doubled": Changed(_half(_same, lambda noise: 2 * noise), _MIDDLE),
    "kink": Changed(_half(_same, lambda noise: noise + 0.05 * np.arange(len(noise))), _MIDDLE),
    "season that stops": Changed(_half(lambda noise: _SEASON + 0.5 * noise, lambda noise: 0.5 * noise), _MIDDLE),
    "sensor that dies": Changed(_half(lambda noise: 10 + noise, np.zeros_like), _MIDDLE),
    "sensor that is stuck": Changed(_half(_same, lambda noise: np.full_like(noise, noise[0])), _MIDDLE),
    "share from 0.3 to 0.7": Changed(
        _half(lambda noise: 1.0 * (noise < -0.52), lambda noise: 1.0 * (noise < 0.52)), _MIDDLE
    ),
    "constant that moves": Changed(_half(np.zeros_like, np.ones_like), _MIDDLE),
    **{f"Nile beside {n} columns of noise": Changed(_beside_noise(n), 28) for n in (0, 3, 5, 10)},
}
