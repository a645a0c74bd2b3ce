"""Kernel ratios with width and regulariser chosen by leave-one-out: ours and others', interleaved in one run.

All have the same 9 x 9 grid, 100 centres and one thread. A round draws two Gaussian samples, fits every package to them
and takes the mean squared error to the true ratio at fresh instances of both (of the denominator alone where alpha is
0: there J knows no others). Medians over rounds are reported. Packages that are not installed are named and left out:

    pip install -e '.[peers]'
    python benchmarks/kernel.py                    # against others
    python benchmarks/kernel.py --growth           # ours alone, up to 200,000 rows per sample, with peak memory
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fewratio import RuLSIF
from fewratio.core.kernels import median_distance
from fewratio.estimators import gaussian_relative_ratio
from fewratio_bench.records import circumstances

Array = NDArray[np.float64]
Ratio = Callable[[Array], Array]
Fit = Callable[[Array, Array, float, Array, Array, int], Ratio]

N_CENTRES, N_CANDIDATES, N_FRESH = 100, 9, 4000
GROWTH = (2_000, 20_000, 200_000)


def fewratio(X_nu: Array, X_de: Array, alpha: float, sigmas: Array, regs: Array, seed: int) -> Ratio:
    return RuLSIF(alpha, sigma=sigmas, reg=regs, centres=N_CENTRES, random_state=seed).fit(X_nu, X_de).predict


# The others write the kernel exp(-d^2 / (2 sigma^2)), so that their width is ours over the root of 2.


def densratio_fit() -> Fit:
    from densratio import densratio

    def fit(X_nu: Array, X_de: Array, alpha: float, sigmas: Array, regs: Array, seed: int) -> Ratio:
        np.random.seed(seed)  # noqa: NPY002 - where densratio draws its centres from
        result = densratio(
            X_nu,
            X_de,
            "RuLSIF",
            sigma=sigmas / 2**0.5,
            lambda_=regs,
            alpha=alpha,
            kernel_num=N_CENTRES,
            verbose=False,
        )
        return result.compute_density_ratio

    return fit


def torchdensityestimation_fit() -> Fit:
    from torchdensityestimation.ratio import rulsif_fit, rulsif_predict

    def fit(X_nu: Array, X_de: Array, alpha: float, sigmas: Array, regs: Array, seed: int) -> Ratio:
        nu, de, widths, lambdas = map(torch.from_numpy, (X_nu, X_de, sigmas / 2**0.5, regs))
        model = rulsif_fit(nu, de, alpha, widths, lambdas, N_CENTRES, seed)
        return lambda X: rulsif_predict(model, torch.from_numpy(X)).numpy()

    return fit


def adapt_fit() -> Fit:
    from adapt.instance_based import RULSIF

    def fit(X_nu: Array, X_de: Array, alpha: float, sigmas: Array, regs: Array, seed: int) -> Ratio:
        np.random.seed(seed)  # noqa: NPY002 - as above
        gamma = list(1 / sigmas**2)
        model = RULSIF(kernel="rbf", gamma=gamma, lambdas=list(regs), alpha=alpha, max_centers=N_CENTRES, verbose=0)
        model.fit_weights(X_de, X_nu)
        return model.predict_weights

    return fit


PEERS: dict[str, Callable[[], Fit]] = {
    "densratio": densratio_fit,
    "torchdensityestimation": torchdensityestimation_fit,
    "adapt": adapt_fit,
}


def write(record: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({**record, "threads": 1, **circumstances(torch.device("cpu"))}) + "\n")
    sys.stdout.flush()


def present() -> dict[str, Fit]:
    # This folder holds an adapt.py of its own, which must not pass for the package.
    here = Path(__file__).parent.resolve()
    sys.path[:] = [folder for folder in sys.path if Path(folder).resolve() != here]
    packages: dict[str, Fit] = {"fewratio": fewratio}
    for name, load in PEERS.items():
        try:
            packages[name] = load()
        except ImportError as error:
            write({"package": name, "left_out": str(error)})
    return packages


def draw(n: int, d: int, seed: int) -> tuple[Array, Array, Array, Array]:
    """Two samples and fresh instances of either; the means are 1 apart whatever the number of columns."""
    rng = np.random.default_rng(seed)
    nu, de, fresh_nu, fresh_de = (
        rng.normal(mean, 1, (size, d)) for size in (n, N_FRESH // 2) for mean in (d**-0.5, 0.0)
    )
    return nu, de, fresh_nu, fresh_de


def grid(X_nu: Array, X_de: Array) -> tuple[Array, Array]:
    median = float(median_distance(np.concatenate([X_nu[:200], X_de[:200]])))
    return median * 2.0 ** np.linspace(-3, 2, N_CANDIDATES), 10.0 ** np.linspace(-3, 1, N_CANDIDATES)


def compare(packages: dict[str, Fit], n: int, d: int, alpha: float, rounds: int) -> None:
    seconds: dict[str, list[float]] = {name: [] for name in packages}
    errors: dict[str, list[float]] = {name: [] for name in packages}
    for seed in range(rounds):
        X_nu, X_de, fresh_nu, fresh_de = draw(n, d, seed)
        sigmas, regs = grid(X_nu, X_de)
        X = np.concatenate([fresh_nu, fresh_de]) if alpha > 0 else fresh_de
        truth = gaussian_relative_ratio(X, d**-0.5, 1.0, 0.0, 1.0, alpha)
        for name, fit in packages.items():
            started = time.perf_counter()
            ratio = fit(X_nu, X_de, alpha, sigmas, regs, seed)
            seconds[name].append(time.perf_counter() - started)
            errors[name].append(float(np.mean((np.asarray(ratio(X)) - truth) ** 2)))
    median = {name: statistics.median(values) for name, values in seconds.items()}
    for name in packages:
        write(
            {
                "package": name,
                "rows_a_side": n,
                "features": d,
                "alpha": alpha,
                "ms": round(1e3 * median[name], 1),
                "times_ours": round(median[name] / median["fewratio"], 1),
                "mean_squared_error": round(statistics.median(errors[name]), 4),
                "rounds": rounds,
            }
        )


def peak_bytes() -> int:
    # Linux counts kilobytes, macOS bytes.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def grow(n: int, d: int = 20) -> None:
    """Fit ours with its own candidates and 300 centres."""
    X_nu, X_de, *_ = draw(50, d, seed=0)
    estimator = RuLSIF(sigma="cv", reg="cv", random_state=0).fit(X_nu, X_de)  # what the first call loads is no row's
    X_nu, X_de, *_ = draw(n, d, seed=0)
    before = peak_bytes()
    started = time.perf_counter()
    estimator.fit(X_nu, X_de)
    write(
        {
            "package": "fewratio",
            "rows_a_side": n,
            "features": d,
            "centres": len(estimator.centres_),
            "candidates": estimator.cv_scores_.size,
            "seconds": round(time.perf_counter() - started, 2),
            "input_mb": round((X_nu.nbytes + X_de.nbytes) / 1e6),
            "beyond_input_mb": round((peak_bytes() - before) / 1e6),
        }
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[500, 1000, 2000], help="instances per sample")
    parser.add_argument("--features", type=int, nargs="+", default=[2, 20])
    parser.add_argument("--alpha", type=float, nargs="+", default=[0.0, 0.5])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--growth", type=int, nargs="*", metavar="ROWS", help="ours alone, with peak memory")
    args = parser.parse_args()
    torch.set_num_threads(1)
    if args.growth is not None and len(args.growth) == 1:
        grow(args.growth[0])
        return
    if args.growth is not None:
        # A process never forgets its peak, so each size gets one of its own.
        for n in args.growth or GROWTH:
            subprocess.run([sys.executable, __file__, "--growth", str(n)], check=True)
        return
    packages = present()
    for fit in packages.values():  # what the first call loads is no package's doing
        small = draw(50, 2, seed=0)[:2]
        fit(*small, 0.5, *grid(*small), 0)
    for n in args.rows:
        for d in args.features:
            for alpha in args.alpha:
                compare(packages, n, d, alpha, args.rounds)


if __name__ == "__main__":
    main()
