"""Sources as a dial: J against the number of source datasets, from none to all of a split.

Four ways: the universal network as it is, the same trained further on the sources, networks of both kinds that start
from nothing, and the mean of all. No other datasets choose the best moment: of six sources or more some are kept aside,
fewer serve both purposes. Prints one JSON line a way, number of sources, split and support size. `--figure` draws them.

    python benchmarks/sources.py --data mnist_r --device cuda > results/benchmarks/sources.jsonl
    python benchmarks/sources.py --data isolet --device cuda >> results/benchmarks/sources.jsonl
    python benchmarks/sources.py --figure docs/images/sources.png
"""

import argparse
import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fewratio import MetaRatioEstimator, Pairs, Training
from fewratio.data.seeds import seed_for
from fewratio.estimators import networks, pretrain_together
from fewratio.estimators.universal import universal_start
from fewratio.nn import RatioCommittee, RatioModel
from fewratio_bench.evaluate import judged_ratio
from fewratio_bench.problems import ISOLET, MNIST_R, PairProblem
from fewratio_bench.records import circumstances

PROBLEMS = {"mnist_r": MNIST_R, "isolet": ISOLET}
RECORDS = Path(__file__).parents[1] / "results" / "benchmarks" / "sources.jsonl"
SUPPORT_SIZES = (1, 3, 5)
_ALPHA = 0.5
AS_IT_IS, FURTHER, FROM_NOTHING, ALL = "universal", "universal, trained further", "from nothing", "mean of all"


def trained(
    problem: PairProblem, n_sources: int, args: argparse.Namespace, **parameters: Any
) -> list[list[RatioModel]]:
    """Train an estimator on some sources of every split, and give its networks."""
    estimators, sources = [], []
    for number in range(args.splits):
        source = problem.split(number).source
        rng = np.random.default_rng(seed_for("sources", problem.data, number))
        sources.append(source[np.sort(rng.permutation(len(source))[:n_sources])])
        seed = seed_for("sources", problem.data, number, n_sources)
        estimators.append(
            MetaRatioEstimator(
                episodes=Pairs(n_support=(1, 5)),
                training=Training(max_steps=args.steps),
                device=args.device,
                random_state=seed,
                **parameters,
            )
        )
    pretrain_together(estimators, sources, [None] * len(sources))
    return [[network.model for network in estimator.networks_] for estimator in estimators]


@torch.no_grad()
def judged(
    problem: PairProblem, number: int, model: RatioModel | RatioCommittee, device: str
) -> dict[int, dict[str, float]]:
    found = {}
    for size in SUPPORT_SIZES:
        evaluation = problem.evaluation(problem.split(number), "target", size, torch.device(device))
        episode = evaluation.episode
        found[size] = evaluation.metrics(judged_ratio(model.to(device).adapt(episode.support), episode, _ALPHA))
    return found


def measure(args: argparse.Namespace) -> None:
    # What is measured here is where these numbers should be: the universal network alone is trained, on any sources.
    networks.SOME_SOURCES = networks.MANY_SOURCES = sys.maxsize
    problem = PROBLEMS[args.data]
    for n_sources in args.sources:
        if n_sources:
            further = trained(problem, n_sources, args, init="universal")
            anew = trained(problem, n_sources, args, network="both")
        for number in range(args.splits):
            if n_sources:
                ways: dict[str, RatioModel | RatioCommittee] = {
                    FURTHER: further[number][0],
                    FROM_NOTHING: RatioCommittee(anew[number]),
                    ALL: RatioCommittee([further[number][0], *anew[number]]),
                }
            else:
                ways = {AS_IT_IS: universal_start(_ALPHA, None)}
            for way, model in ways.items():
                for size, metrics in judged(problem, number, model, args.device).items():
                    record = {
                        "data": problem.data,
                        "n_sources": n_sources,
                        "way": way,
                        "split": number,
                        "n_support": size,
                        **{name: round(value, 5) for name, value in metrics.items()},
                        "steps": args.steps,
                        **circumstances(torch.device(args.device)),
                    }
                    sys.stdout.write(json.dumps(record) + "\n")
                    sys.stdout.flush()


def draw(file: Path) -> None:
    import matplotlib.pyplot as plt

    records = [json.loads(line) for line in RECORDS.read_text().splitlines()]
    values: dict[tuple[str, int, str], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        values[record["data"], record["n_support"], record["way"]][record["n_sources"]].append(record["squared_error"])
    data = list(dict.fromkeys(record["data"] for record in records))
    figure, axes = plt.subplots(
        len(data), len(SUPPORT_SIZES), figsize=(11, 3.2 * len(data)), sharex=True, squeeze=False, layout="constrained"
    )
    for row, name in zip(axes, data, strict=True):
        for ax, size in zip(row, SUPPORT_SIZES, strict=True):
            most = max(record["n_sources"] for record in records)
            (base,) = values[name, size, AS_IT_IS].values()
            ax.axhline(np.mean(base), color="0.5", linestyle="--", label=AS_IT_IS)
            for way, marker in ((FURTHER, "o"), (FROM_NOTHING, "s"), (ALL, "^")):
                points = sorted(values[name, size, way].items())
                mean = [np.mean(found) for _, found in points]
                error = [np.std(found, ddof=1) / len(found) ** 0.5 for _, found in points]
                ax.errorbar([n for n, _ in points], mean, error, marker=marker, markersize=4, capsize=2, label=way)
            ax.set(xscale="log", title=f"{name}, {size} per sample", xlim=(1.7, most * 1.2))
            ax.set_xticks([n for n, _ in points], [str(n) for n, _ in points])
            ax.minorticks_off()
        row[0].set_ylabel("J (lower is better)")
    for ax in axes[-1]:
        ax.set_xlabel("source datasets")
    axes[0, 0].legend(fontsize="small")
    figure.savefig(file, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", choices=list(PROBLEMS), default="mnist_r")
    parser.add_argument("--sources", type=int, nargs="+", default=[0, 2, 5, 10, 20, 40])
    parser.add_argument("--splits", type=int, default=4)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--figure", type=Path, help="draw the records that are there, and measure nothing")
    args = parser.parse_args()
    if args.figure:
        draw(args.figure)
    else:
        measure(args)


if __name__ == "__main__":
    main()
