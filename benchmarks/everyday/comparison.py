"""Two-sample tests: power beside what a user would pick instead, level, divergence and its lower limit, seconds."""

import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from joblib import delayed
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.stats import binom, chi2_contingency, ks_2samp, norm, t
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from everyday.data import classes
from everyday.plan import Plan
from fewratio import compare_datasets

try:
    from hyppo.ksample import Energy
except ImportError:
    Energy = None

Rows = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], tuple[Rows, Rows]]
Report = Callable[..., None]
N_PERMUTATIONS, LEVEL = 999, 0.05
# From so many rows on hyppo has a p-value without permutations, which are slow.
HYPPO_ROWS = 20
# What the test says of few rows.
SMALL = "With .* the p-value cannot be below"
# What is said of few rows that all have another category.
LEFT_OUT = "Left out"
# What scipy says before it takes the asymptotic p-value.
NOT_EXACT = "ks_2samp: Exact calculation unsuccessful"


# ---------------------------------------------------------------- pairs of samples


def real_classes(half: str) -> Draw:
    """Two classes of a table. Columns are in units of their deviations, which the rivals need and ours does not."""

    def draw(rng: np.random.Generator, n: int) -> tuple[Rows, Rows]:
        tables = list(classes(half).values())
        table = tables[rng.integers(len(tables))]
        first, second = rng.choice(len(table), 2, replace=False)
        A, B = (table[k][rng.permutation(len(table[k]))[:n]] for k in (first, second))
        deviation = np.concatenate([A, B]).std(0)
        deviation[deviation == 0] = 1
        return A / deviation, B / deviation

    return draw


def gaussians(d: int, shift: float = 0.0, shifted: int = 1, scale: float = 1.0, correlation: float = 0.0) -> Draw:
    def draw(rng: np.random.Generator, n: int) -> tuple[Rows, Rows]:
        A, B = rng.normal(size=(n, d)), rng.normal(size=(n, d))
        if correlation:
            B = B @ np.linalg.cholesky(correlation + (1 - correlation) * np.eye(d)).T
        B = B * scale
        B[:, :shifted] += shift
        return A, B

    return draw


def in_mixed_units(draw: Draw) -> Draw:
    """Units that spread over four orders of magnitude."""

    def mixed(rng: np.random.Generator, n: int) -> tuple[Rows, Rows]:
        A, B = draw(rng, n)
        units = 10 ** rng.uniform(-2, 2, A.shape[1])
        return A * units, B * units

    return mixed


def heavy_tails(rng: np.random.Generator, n: int) -> tuple[Rows, Rows]:
    return rng.standard_t(2, (n, 5)), rng.standard_t(2, (n, 5)) + 0.8


def contaminated(rng: np.random.Generator, n: int) -> tuple[Rows, Rows]:
    """A fifth of the second sample lies elsewhere."""
    A, B = rng.normal(size=(n, 5)), rng.normal(size=(n, 5))
    B[rng.random(n) < 0.2] += 3
    return A, B


def categories(rng: np.random.Generator, n: int) -> tuple[Rows, Rows]:
    shares = np.full(5, 0.2)
    return np.eye(5)[rng.choice(5, n, p=shares)], np.eye(5)[rng.choice(5, n, p=0.6 * shares + 0.4 * np.eye(5)[0])]


def opposed(d: int, correlation: float = 0.7) -> Draw:
    """The correlation of two of d columns is positive in the first sample, negative in the second."""

    def draw(rng: np.random.Generator, n: int) -> tuple[Rows, Rows]:
        A, B = rng.normal(size=(n, d)), rng.normal(size=(n, d))
        for X, sign in ((A, 1), (B, -1)):
            X[:, 1] = sign * correlation * X[:, 0] + (1 - correlation**2) ** 0.5 * X[:, 1]
        return A, B

    return draw


def two_humps(rng: np.random.Generator, n: int) -> tuple[Rows, Rows]:
    """One of five columns has two humps in the second sample, with the same mean and deviation."""
    A, B = rng.normal(size=(n, 5)), rng.normal(size=(n, 5))
    B[:, 0] = 0.95 * rng.choice((-1, 1), n) + (1 - 0.95**2) ** 0.5 * rng.normal(size=n)
    return A, B


def one_wider(rng: np.random.Generator, n: int) -> tuple[Rows, Rows]:
    A, B = rng.normal(size=(n, 10)), rng.normal(size=(n, 10))
    B[:, 0] *= 2
    return A, B


def many_categories(rng: np.random.Generator, n: int) -> tuple[Any, Any]:
    """A category of fifty values beside three numbers; its shares differ."""
    shares = rng.dirichlet(np.full(50, 2.0), 1)[0]
    others = shares * np.exp(rng.normal(0, 0.7, 50))
    codes = rng.choice(50, n, p=shares), rng.choice(50, n, p=others / others.sum())
    return tuple(as_table(each, rng.normal(size=(n, 3))) for each in codes)


def as_table(codes: NDArray[np.intp], numbers: Rows) -> Any:
    """Make a data frame of a category and numbers."""
    import pandas as pd

    return pd.DataFrame(numbers, columns=[f"x{j}" for j in range(numbers.shape[1])]).assign(
        category=np.char.add("c", codes.astype(str))
    )


ONE_OF_THIRTY = gaussians(30, shift=2.0)
PAIRS: dict[str, tuple[Draw, tuple[int, ...]]] = {
    "scale x 1.5, 10 columns": (gaussians(10, scale=1.5), (10, 20)),
    "scale x 1.2, 5 columns": (gaussians(5, scale=1.2), (100, 200)),
    "1 of 30 columns + 2 sd": (ONE_OF_THIRTY, (10,)),
    "1 of 30 columns + 2 sd, mixed units": (in_mixed_units(ONE_OF_THIRTY), (10,)),
    "1 of 30 columns + 0.4 sd": (gaussians(30, shift=0.4), (200,)),
    "10 of 10 columns + 0.5 sd": (gaussians(10, shift=0.5, shifted=10), (10, 20)),
    "correlation 0 and 0.6, 4 columns": (gaussians(4, correlation=0.6), (30, 100)),
    "correlation 0.7 and -0.7, 2 of 10 columns": (opposed(10), (50,)),
    "correlation 0.7 and -0.7, 2 of 20 columns": (opposed(20), (50,)),
    "two humps, 1 of 5 columns": (two_humps, (50,)),
    "scale x 2, 1 of 10 columns": (one_wider, (30, 60)),
    "heavy tails, 5 columns + 0.8": (heavy_tails, (20,)),
    "a fifth of 5 columns + 3 sd": (contaminated, (20, 50)),
    "shares of 5 categories": (categories, (20, 50)),
}
# These need pandas.
TABLE_PAIRS: dict[str, tuple[Draw, tuple[int, ...]]] = {"50 categories beside 3 numbers": (many_categories, (100,))}


# ---------------------------------------------------------------- tests


def permutation_test(statistic: Callable[[Rows], Rows], A: Rows, B: Rows, rng: np.random.Generator) -> float:
    """The p-value of a statistic of signed shares, of shape (n_permutations + 1, n)."""
    n, n_first = len(A) + len(B), len(A)
    signs = np.where(np.arange(n) < n_first, 1 / n_first, -1 / len(B))
    found = statistic(np.stack([signs, *(rng.permutation(signs) for _ in range(N_PERMUTATIONS))]))
    return float((found >= found[0] - 1e-12).mean())


def quadratic(kernel: Rows) -> Callable[[Rows], Rows]:
    return lambda signs: ((signs @ kernel) * signs).sum(1)


def mmd(widths: tuple[float, ...]) -> Callable[..., float]:
    def test(A: Rows, B: Rows, rng: np.random.Generator) -> float:
        rows = np.concatenate([A, B])
        squared = cdist(rows, rows, "sqeuclidean")
        median = np.median(squared[np.triu_indices(len(rows), 1)]) or squared.mean() or 1.0
        kernel = sum(np.exp(-squared / (2 * median * width)) for width in widths)
        return permutation_test(quadratic(kernel), A, B, rng)

    return test


def energy(A: Rows, B: Rows, rng: np.random.Generator) -> float:
    rows = np.concatenate([A, B])
    return permutation_test(quadratic(-cdist(rows, rows)), A, B, rng)


def classifier(A: Rows, B: Rows, rng: np.random.Generator) -> float:
    """The held-out accuracy of logistic regression (five folds or fewer), with a binomial p-value."""
    rows, labels = np.concatenate([A, B]), np.arange(len(A) + len(B)) < len(A)
    folds = StratifiedKFold(min(5, len(A), len(B)), shuffle=True, random_state=int(rng.integers(2**31)))
    scale = np.where(rows.std(0) > 0, rows.std(0), 1)
    right = 0
    for fit, held_out in folds.split(rows, labels):
        model = LogisticRegression(max_iter=500).fit(rows[fit] / scale, labels[fit])
        right += int((model.predict(rows[held_out] / scale) == labels[held_out]).sum())
    return float(binom.sf(right - 1, len(rows), max(labels.mean(), 1 - labels.mean())))


def bonferroni(A: Any, B: Any, rng: np.random.Generator) -> float:
    """Kolmogorov-Smirnov by column, chi-square of a category; the least p-value, adjusted."""
    if not isinstance(A, np.ndarray):
        first, second = (X.pop("category") for X in (A.copy(), B.copy()))
        counts = np.stack([[(each == name).sum() for name in {*first, *second}] for each in (first, second)])
        numbers = [X.drop(columns="category").to_numpy() for X in (A, B)]
        p_values = [chi2_contingency(counts).pvalue, *ks_2samp(*numbers, axis=0).pvalue]
        return min(1.0, len(p_values) * float(min(p_values)))
    rows = np.concatenate([A, B])
    if np.isin(rows, (0, 1)).all() and (rows.sum(1) == 1).all():
        counts = np.stack([A.sum(0), B.sum(0)])
        return float(chi2_contingency(counts[:, counts.any(0)]).pvalue)
    return min(1.0, A.shape[1] * float(np.min(ks_2samp(A, B, axis=0).pvalue)))


def hyppo_energy(A: Rows, B: Rows, rng: np.random.Generator) -> float:
    return float(Energy().test(A, B, auto=True)[1])


def ours(A: Rows, B: Rows, rng: np.random.Generator) -> float:
    return compare_datasets(A, B, n_permutations=N_PERMUTATIONS, random_state=rng).p_value


TESTS: dict[str, Callable[..., float]] = {
    "fewratio": ours,
    "MMD, median width": mmd((1.0,)),
    "MMD, 7 widths": mmd((1 / 64, 1 / 16, 1 / 4, 1.0, 4.0, 16.0, 64.0)),
    "energy distance": energy,
    "classifier": classifier,
    "KS or chi-square": bonferroni,
}
SIZES = (4, 5, 10, 20)


# ---------------------------------------------------------------- tables


def classes_of_tables(report: Report, plan: Plan, half: str) -> None:
    for n in SIZES:
        report(table="classes", tables=len(classes(half)), **_shares(real_classes(half), n, plan, plan.count(20, 300)))


def power(report: Report, plan: Plan) -> None:
    for name, (draw, sizes) in (PAIRS | (TABLE_PAIRS if find_spec("pandas") else {})).items():
        for n in sizes:
            report(table="power", pairs_of=name, **_shares(draw, n, plan, plan.count(20, 200)))


def _shares(draw: Draw, n: int, plan: Plan, n_pairs: int) -> dict[str, float]:
    """Give the share of pairs in which each test finds a difference."""
    p_values = plan.run(delayed(_p_values)(draw, n, plan.seed, pair) for pair in range(n_pairs))
    found = {test: np.array([each[test] <= LEVEL for each in p_values]) for test in p_values[0]}
    shares = {test: float(of.mean()) for test, of in found.items()}
    best = max((test for test in found if test != "fewratio"), key=shares.__getitem__)
    less = found["fewratio"] - 1.0 * found[best]
    return {
        "rows": n,
        "pairs": n_pairs,
        "permutations": N_PERMUTATIONS,
        **shares,
        "less_best_rival": float(less.mean()),
        "standard_error": float(less.std() / n_pairs**0.5),
    }


def _p_values(draw: Draw, n: int, seed: int, pair: int) -> dict[str, float]:
    rng = np.random.default_rng([seed, n, pair])
    A, B = draw(rng, n)
    tests = TESTS | ({"hyppo energy": hyppo_energy} if Energy is not None and n >= HYPPO_ROWS else {})
    if not isinstance(A, np.ndarray):
        encoded = _encode(A, B)
        tests = {name: (lambda A, B, rng, run=run: run(*encoded, rng)) for name, run in tests.items()}
        tests |= {"fewratio": ours, "KS or chi-square": bonferroni}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", f"{SMALL}|{NOT_EXACT}")
        return {test: run(A, B, rng) for test, run in tests.items()}


def _encode(A: Any, B: Any) -> tuple[Rows, Rows]:
    """Give numbers with zeros and ones for categories, as the rivals need them."""
    names = sorted({*A["category"], *B["category"]})
    return tuple(
        np.concatenate([X.drop(columns="category").to_numpy(), X["category"].to_numpy()[:, None] == names], axis=1)
        for X in (A, B)
    )


LAWS: dict[str, Callable[..., Rows]] = {
    "gaussian": lambda rng, n: rng.normal(size=(n, 5)),
    "student t, 2 degrees": lambda rng, n: rng.standard_t(2, size=(n, 5)),
    "discrete": lambda rng, n: rng.integers(3, size=(n, 3)).astype(np.float64),
    "ties": lambda rng, n: rng.normal(size=(n, 2)).round(),
}
# These need pandas.
TABLE_LAWS: dict[str, Callable[..., Any]] = {
    "12 categories, 2 numbers": lambda rng, n: as_table(rng.integers(12, size=n), rng.normal(size=(n, 2))),
    "gaps": lambda rng, n: as_table(
        rng.integers(3, size=n), np.where(rng.random((n, 3)) < 0.2, np.nan, rng.normal(size=(n, 3)))
    ),
}
# Rows of patients that have a level of their own, and are in one sample.
BLOCKS = "blocks of 4 rows"


def level(report: Report, plan: Plan) -> None:
    n_pairs = plan.count(50, 1000)
    for law in (*LAWS, BLOCKS, *(TABLE_LAWS if find_spec("pandas") else ())):
        for n_a, n_b in ((3, 3), (4, 4), (3, 12), (5, 5), (10, 10), (20, 60)):
            found = plan.run(delayed(_under_the_null)(law, n_a, n_b, plan.seed, pair) for pair in range(n_pairs))
            p_values, named = np.array(found).T
            shares = {t: float(np.mean(p_values <= t)) for t in (0.05, 0.1, 0.2)}
            # The largest count that chance allows, one in a thousand.
            within = all(share * n_pairs <= binom.ppf(0.999, n_pairs, t) for t, share in shares.items())
            report(
                table="level",
                law=law,
                rows=[n_a, n_b],
                pairs=n_pairs,
                permutations=N_PERMUTATIONS,
                **{f"share of p <= {t}": share for t, share in shares.items()},
                column_named=float(named.mean()),
                within_bounds=within,
            )


def _under_the_null(law: str, n_a: int, n_b: int, seed: int, pair: int) -> tuple[float, bool]:
    """Give the p-value of two samples of one law, and whether any column is said to differ."""
    rng = np.random.default_rng([seed, n_a, n_b, pair])
    options = {}
    if law == BLOCKS:
        patients = rng.normal(size=(n_a + n_b, 1, 3)) + 0.5 * rng.normal(size=(n_a + n_b, 4, 3))
        n_a, n_b, rows = 4 * n_a, 4 * n_b, patients.reshape(-1, 3)
        numbers = np.repeat(np.arange(len(patients)), 4)
        options = {"blocks": (numbers[:n_a], numbers[n_a:])}
    else:
        rows = (LAWS | TABLE_LAWS)[law](rng, n_a + n_b)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", f"{SMALL}|{LEFT_OUT}")
        result = compare_datasets(rows[:n_a], rows[n_a:], n_permutations=N_PERMUTATIONS, random_state=rng, **options)
    return result.p_value, any(column.p_value <= LEVEL for column in result.columns)


def rings(rng: np.random.Generator, n: int) -> tuple[Rows, Rows]:
    def ring(radius: float) -> Rows:
        angle, distance = rng.uniform(0, 2 * np.pi, n), radius + 0.2 * rng.normal(size=n)
        return np.stack([distance * np.cos(angle), distance * np.sin(angle)], axis=1)

    return ring(1.0), ring(2.0)


def checkerboard(rng: np.random.Generator, n: int) -> tuple[Rows, Rows]:
    """Eight squares each of a board of sixteen."""
    sides = []
    for colour in (0, 1):
        corner = rng.integers(2, size=n)
        squares = 2 * rng.integers(2, size=(n, 2)) + np.stack([corner, corner ^ colour], axis=1)
        sides.append(squares + rng.random((n, 2)))
    return sides[0], sides[1]


def opposite_correlation(rng: np.random.Generator, n: int) -> tuple[Rows, Rows]:
    A, B = rng.normal(size=(n, 2)), rng.normal(size=(n, 2))
    for X, sign in ((A, 1), (B, -1)):
        X[:, 1] = sign * 0.7 * X[:, 0] + 0.51**0.5 * X[:, 1]
    return A, B


def rare_overlap(rng: np.random.Generator, n: int) -> tuple[Rows, Rows]:
    """A tenth of the second sample is as the first, the rest is far away."""
    return rng.normal(size=(n, 1)), rng.normal(size=(n, 1)) + 10 * (rng.random((n, 1)) < 0.9)


def _log_ring(X: Rows, radius: float) -> Rows:
    distance = np.linalg.norm(X, axis=1)
    return np.logaddexp(norm.logpdf(distance, radius, 0.2), norm.logpdf(-distance, radius, 0.2))


# How to draw, and the logarithm of the plain ratio.
KNOWN: dict[str, tuple[Draw, Callable[[Rows], Rows]]] = {
    "nothing differs, 5 columns": (gaussians(5), lambda X: np.zeros(len(X))),
    "shift 0.5, 5 columns": (gaussians(5, shift=0.5, shifted=5), lambda X: (0.125 - 0.5 * X).sum(1)),
    "heavy tails, 5 columns + 0.8": (heavy_tails, lambda X: (t.logpdf(X, 2) - t.logpdf(X - 0.8, 2)).sum(1)),
    "rings": (rings, lambda X: _log_ring(X, 1.0) - _log_ring(X, 2.0)),
    "checkerboard": (checkerboard, lambda X: np.where(np.floor(X).sum(1) % 2 == 0, np.inf, -np.inf)),
    "correlation 0.7 and -0.7": (opposite_correlation, lambda X: 1.4 / 0.51 * X[:, 0] * X[:, 1]),
    "rare overlap": (
        rare_overlap,
        lambda X: norm.logpdf(X[:, 0]) - np.log(0.9 * norm.pdf(X[:, 0], 10) + 0.1 * norm.pdf(X[:, 0])),
    ),
}


def limit(report: Report, plan: Plan) -> None:
    """How near the divergence comes to the true one, and how often its lower limit is above that."""
    for name, (draw, log_ratio) in KNOWN.items():
        X = np.concatenate(draw(np.random.default_rng(0), 200_000))
        truth = float(0.5 * np.mean(np.tanh(log_ratio(X) / 2) ** 2))
        for n in (5, 10, 20, 50, 100, 300, 1000):
            n_pairs = max(plan.count(8, 200) // (1 if n < 100 else n // 50), 2)
            found = np.array(plan.run(delayed(_divergence)(name, n, plan.seed, pair) for pair in range(n_pairs)))
            estimates, limits = found.T
            report(
                table="limit",
                pairs_of=name,
                rows=n,
                pairs=n_pairs,
                truth=truth,
                divergence=float(estimates.mean()),
                rmse=float(np.sqrt(np.mean((estimates - truth) ** 2))),
                at_least=float(limits.mean()),
                above_truth=float((limits > truth).mean()),
            )


def _divergence(name: str, n: int, seed: int, pair: int) -> tuple[float, float]:
    """Give the divergence of a pair of samples, and its lower limit."""
    A, B = KNOWN[name][0](np.random.default_rng([seed, n, pair]), n)
    result = compare_datasets(A, B, n_permutations=0, random_state=0)
    return result.divergence, result.at_least


def seconds(report: Report, plan: Plan) -> None:
    """Processor seconds beside a plain permutation test of the MMD, in turns."""
    sizes = (
        ((200, 20), (3000, 20), (200, 5000))
        if plan.quick
        else ((200, 20), (3000, 20), (200, 5000), (100_000, 20), (1_000_000, 20))
    )
    for n, d in sizes:
        rng = np.random.default_rng(plan.seed)
        A, B = rng.normal(size=(n, d)), rng.normal(size=(n, d)) + 0.1
        taken: dict[str, list[float]] = {"fewratio": [], "plain MMD": []}
        for _ in range(3 if n <= 3000 else 1):
            started = time.process_time()
            compare_datasets(A, B, n_permutations=999, random_state=0)
            taken["fewratio"].append(time.process_time() - started)
            if n <= 200:
                started = time.process_time()
                _plain_mmd(A, B, rng)
                taken["plain MMD"].append(time.process_time() - started)
        medians = {name: round(float(np.median(times)), 3) for name, times in taken.items() if times}
        report(table="seconds", rows=n, columns=d, permutations=999, **medians)


def _plain_mmd(A: Rows, B: Rows, rng: np.random.Generator) -> float:
    """As in a textbook: the kernel once, the rows of each permutation by their numbers."""
    rows, n = np.concatenate([A, B]), len(A)
    squared = cdist(rows, rows, "sqeuclidean")
    kernel = np.exp(-squared / np.median(squared))

    def statistic(order: NDArray[np.intp]) -> float:
        a, b = order[:n], order[n:]
        return float(kernel[np.ix_(a, a)].mean() + kernel[np.ix_(b, b)].mean() - 2 * kernel[np.ix_(a, b)].mean())

    observed = statistic(np.arange(len(rows)))
    null = [statistic(rng.permutation(len(rows))) for _ in range(999)]
    return (1 + sum(value >= observed for value in null)) / 1000


ON_HALVES = {"classes": classes_of_tables}
TABLES = {"power": power, "level": level, "limit": limit, "seconds": seconds}
