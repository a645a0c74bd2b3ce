"""Mutual information of Gaussians, which is known: the joint law against the product of its margins, far apart.

Half of the columns belong to one variable, half to the other, in pairs of correlation sqrt(1 - exp(-4 MI / d)); the
numerator is a sample of both, the denominator the same with one of them shuffled. The estimate is the mean log ratio
over new rows of the numerator (a ratio of zero counts as 1e-6, as it does in our divergences).

What a method can choose by what it holds out, it chooses: widths and regularisers of the kernels, the regulariser of
the regressions. All bridges of a chain have one regulariser, the one with the least mean log loss when each half of the
rows judges the chain of the other half. Chosen bridge by bridge, those with little to tell apart are shrunk most, and
all of them in the same direction, so that their sum falls short; and folds of rows that are paired already are not
held out, as a row stands in several pairs. The number of bridges is not tuned to the truth: it doubles until no bridge
is easy, that is until its held-out log loss is at least half of that of a coin. Rows are paired four times, a number
that was settled on with draws of 20 dimensions in view; this way of choosing was, with draws 0 to 9 of 20 dimensions
and 0 to 1 of 40.

    python benchmarks/mutual_information.py
"""

import argparse
import json
import sys
import time
from itertools import permutations, product
from typing import Any

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from fewratio import KLIEP, ClassifierRatio, RuLSIF
from fewratio.estimators import Telescoping
from fewratio_bench.records import circumstances

PROBLEMS = ((20, 5.0), (40, 10.0), (80, 20.0))
REGULARISERS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
TOLERANCE, MAX_STEPS = 1e-5, 1000
HARD_ENOUGH = 0.5
MAX_BRIDGES, N_PAIRINGS = 16, 4
# Rows that are new are cheap: so many that the mean over them adds little to the error.
N_NEW = 20_000


def draw(d: int, nats: float, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    correlation = np.sqrt(1 - np.exp(-4 * nats / d))
    x, noise = rng.normal(size=(2, n, d // 2))
    y = correlation * x + np.sqrt(1 - correlation**2) * noise
    return np.hstack([x, y]), np.hstack([x, rng.permutation(y)])


def quadratic(last: Any) -> Any:
    return make_pipeline(StandardScaler(), PolynomialFeatures(2, include_bias=False), StandardScaler(), last)


def chosen_regression() -> Any:
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    return LogisticRegressionCV(
        Cs=REGULARISERS,
        cv=folds,
        scoring="neg_log_loss",
        l1_ratios=(0.0,),
        use_legacy_attributes=True,
        tol=TOLERANCE,
        max_iter=MAX_STEPS,
    )


def telescoped(X_nu: np.ndarray, X_de: np.ndarray) -> Telescoping:
    halves = list(zip(*(train_test_split(X, test_size=0.5, random_state=0) for X in (X_nu, X_de)), strict=True))
    n_bridges = 2
    while True:
        chain, easiest = regularised(n_bridges, halves)
        if n_bridges == MAX_BRIDGES or easiest >= HARD_ENOUGH:
            return chain.fit(X_nu, X_de)
        n_bridges *= 2


def regularised(n_bridges: int, halves: list[Any]) -> tuple[Telescoping, float]:
    """Give the chain with the least held-out loss, and the loss of its easiest bridge.

    Regularisers come from strong to weak, and the search ends where the loss rises, or where a bridge is seen to be
    too easy: a better regulariser could only make it easier.
    """
    least = np.inf
    for regulariser in REGULARISERS:
        chain = chain_of(n_bridges, regulariser)
        losses = np.mean([chain.fit(*kept).bridge_losses(*held_out) for kept, held_out in permutations(halves)], axis=0)
        if losses.mean() > least:
            break
        best, least, easiest = chain, losses.mean(), float(losses.min())
        if easiest < HARD_ENOUGH and n_bridges < MAX_BRIDGES:
            break
    return best, easiest


def chain_of(n_bridges: int, regulariser: float) -> Telescoping:
    regression = LogisticRegression(C=regulariser, tol=TOLERANCE, max_iter=MAX_STEPS)
    bridge = ClassifierRatio(quadratic(regression), alpha=0.0, calibrate=False)
    return Telescoping(bridge, n_bridges=n_bridges, n_pairings=N_PAIRINGS, random_state=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument(
        "--first", type=int, default=20, help="number of the first draw; 0 to 12 were in view in the making"
    )
    args = parser.parse_args()
    for (d, nats), seed in product(PROBLEMS, range(args.first, args.first + args.draws)):
        rng = np.random.default_rng(seed)
        X_nu, X_de = draw(d, nats, args.rows, rng)
        new, _ = draw(d, nats, N_NEW, rng)
        ways = {
            "RuLSIF, alpha 0": lambda *pair: RuLSIF(0.0, sigma="cv", reg="cv", random_state=0).fit(*pair),
            "KLIEP": lambda *pair: KLIEP(sigma="cv", random_state=0).fit(*pair),
            "logistic": lambda *pair: ClassifierRatio(
                make_pipeline(StandardScaler(), LogisticRegression()), alpha=0.0, calibrate=True, random_state=0
            ).fit(*pair),
            "quadratic logistic": lambda *pair: ClassifierRatio(
                quadratic(chosen_regression()), alpha=0.0, calibrate=True, n_folds=3, random_state=0
            ).fit(*pair),
            "telescoping, quadratic logistic": telescoped,
        }
        for name, way in ways.items():
            started = time.perf_counter()
            fitted = way(X_nu, X_de)
            record = {
                "method": name,
                "dimensions": d,
                "draw": seed,
                "true nats": nats,
                "estimated nats": round(float(np.log(fitted.predict(new).clip(1e-6)).mean()), 2),
                "bridges": getattr(fitted, "n_bridges", None),
                "rows a side": args.rows,
                "seconds": round(time.perf_counter() - started, 1),
                **circumstances(torch.device("cpu")),
            }
            sys.stdout.write(json.dumps(record) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
