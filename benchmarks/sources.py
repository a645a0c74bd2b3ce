"""How many related datasets does it take? J against the number of source datasets, from none to all of a split.

Four ways: the universal network, which needs none; networks of both kinds trained on the sources; the learner in closed
form; and the default, `AutoRatioEstimator`, a mean of what needs none and of the closed form, in measured shares.
No other datasets choose settings: sources are held out for that. One JSON line per way, number of sources, split and
support size. `--figure` draws the records that are there, `--gaps` tells how far the default is behind the best.

    python benchmarks/sources.py --data mnist_r isolet digits_r vowels weather --jobs 8 > default.jsonl
    python benchmarks/sources.py --data digits_r vowels weather --ways networks --device cuda > networks.jsonl
    cat default.jsonl networks.jsonl > results/benchmarks/sources.jsonl
    python benchmarks/sources.py --figure docs/images/sources.png
"""

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import torch

from fewratio import (
    AutoRatioEstimator,
    Collection,
    DiscriminantRatioEstimator,
    MetaRatioEstimator,
    UniversalRatioEstimator,
)
from fewratio.core.draws import seed_for
from fewratio.estimators import pretrain_together
from fewratio.estimators.networks import Pairs, Training
from fewratio.estimators.networks.nn import RatioCommittee
from fewratio_bench.evaluate import Judgement, PairEvaluation, judge_ratio
from fewratio_bench.problems import ISOLET, MNIST_R, PairProblem
from fewratio_bench.records import circumstances

PROBLEMS = {"mnist_r": MNIST_R, "isolet": ISOLET, "digits_r": PairProblem("digits_r", "Digits-r")}
TITLES = {"vowels": "Vowels", "weather": "Weather"} | {name: problem.data for name, problem in PROBLEMS.items()}
RECORDS = Path(__file__).parents[1] / "results" / "benchmarks" / "sources.jsonl"
SUPPORT_SIZES = (1, 3, 5)
_ALPHA = 0.5
UNIVERSAL, NETWORKS, CLOSED_FORM, DEFAULT = "universal", "networks", "closed form", "default"


def everyday(data: str) -> Collection:
    """Datasets of an everyday table, in groups of which one is the target: vowels by speakers, weather by years."""
    from everyday.data import folder

    if data == "vowels":
        lines = (folder("tables", "development") / "vowel.arff").read_text().splitlines()
        cells = [line.split(",") for line in lines if line and line[0] not in "%@"]
        speakers = list(dict.fromkeys(row[1] for row in cells))
        # Three speakers together: one alone has six rows of a vowel.
        keys = [(str(speakers.index(row[1]) // 3), row[-1]) for row in cells]
        rows = np.array([row[3:-1] for row in cells], dtype=np.float64)
    else:
        cells = [
            line.split(",") for line in (folder("mixed", "development") / "seattle.csv").read_text().splitlines()[1:]
        ]
        kinds = sorted({row[-1] for row in cells})
        keys = [(row[0][:4], row[0][5:7]) for row in cells]
        numbers = np.array([row[1:-1] for row in cells], dtype=np.float64)
        rows = np.column_stack([numbers, [[row[-1] == kind for kind in kinds] for row in cells]]).astype(np.float64)
    names = list(dict.fromkeys(keys))
    members = [rows[[key == name for key in keys]] for name in names]
    return Collection.from_arrays(members, [" ".join(name) for name in names], [name[0] for name in names], name=data)


def divided(data: str, number: int) -> tuple[Collection, Collection]:
    """Sources and targets of a split."""
    if data in PROBLEMS:
        split = PROBLEMS[data].split(number)
        return split.source, split.target
    collection = everyday(data)
    groups = list(dict.fromkeys(collection.groups))
    is_target = np.array([group == groups[number % len(groups)] for group in collection.groups])
    return collection[~is_target], collection[is_target]


def sources_of(data: str, number: int, n_sources: int) -> Collection:
    source, _ = divided(data, number)
    rng = np.random.default_rng(seed_for("sources", TITLES[data], number))
    return source[np.sort(rng.permutation(len(source))[:n_sources])]


def evaluation(data: str, number: int, size: int, device: str = "cpu") -> PairEvaluation:
    _, target = divided(data, number)
    seed = seed_for("pairs", TITLES[data], number, "target", size, "supports")
    return PairEvaluation(target, size, seed, torch.device(device))


def by_estimator(data: str, number: int, size: int, estimator: Any) -> dict[str, float]:
    """Fit to every pair of targets, and judge."""
    judged = evaluation(data, number, size)
    episode, n_nu = judged.episode, judged.episode.support.n_nu
    supports, queries = (rows.double().numpy() for rows in (episode.support.rows, episode.query.rows))
    found = []
    for support, query in zip(supports, queries, strict=True):
        found.append(estimator.fit(support[:n_nu], support[n_nu:]).predict(query))
    return judged.metrics(Judgement(torch.tensor(np.array(found)), None, _ALPHA))


def split_records(number: int, data: str, n_sources: int) -> list[dict[str, Any]]:
    """Measure the ways that need no GPU, with so many sources of one split."""
    torch.set_num_threads(1)
    ways: dict[str, Any] = {UNIVERSAL: UniversalRatioEstimator()}
    default = AutoRatioEstimator(random_state=0)
    if n_sources:
        source = sources_of(data, number, n_sources)
        if len(source) < n_sources:
            return []
        default.pretrain(source)
        ways = {CLOSED_FORM: DiscriminantRatioEstimator().pretrain(source)}
    ways[DEFAULT] = default
    return [
        {"data": TITLES[data], "n_sources": n_sources, "way": way, "split": number, "n_support": size}
        | by_estimator(data, number, size, estimator)
        for way, estimator in ways.items()
        for size in SUPPORT_SIZES
    ]


@torch.no_grad()
def network_records(data: str, counts: list[int], args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Train networks of both kinds on the sources of all splits together, and judge."""
    for n_sources in filter(None, counts):
        sources = [sources_of(data, number, n_sources) for number in range(args.splits)]
        if min(map(len, sources)) < n_sources:
            continue
        estimators = [
            MetaRatioEstimator(
                episodes=Pairs(n_support=(1, 5)),
                network="both",
                training=Training(max_steps=args.steps),
                # Pixels, frequencies and cepstra have a common unit; what the weather is made of has not.
                scale="columns" if data == "weather" else "none",
                device=args.device,
                random_state=seed_for("sources", TITLES[data], number, n_sources),
            )
            for number in range(args.splits)
        ]
        with torch.enable_grad():
            pretrain_together(estimators, sources, [None] * len(sources))
        for number, estimator in enumerate(estimators):
            model = RatioCommittee([network.model for network in estimator.networks_]).to(args.device)
            for size in SUPPORT_SIZES:
                judged = evaluation(data, number, size, args.device)
                numbers = judged.metrics(judge_ratio(model.adapt(judged.episode.support), judged.episode, _ALPHA))
                found = {
                    "data": TITLES[data],
                    "n_sources": n_sources,
                    "way": NETWORKS,
                    "split": number,
                    "n_support": size,
                    **numbers,
                }
                yield found | {"steps": args.steps}


def measure(args: argparse.Namespace) -> None:
    device = torch.device(args.device if args.ways == NETWORKS else "cpu")
    if args.ways == NETWORKS:
        records = (record for data in args.data for record in network_records(data, args.sources, args))
    else:
        # One split after the other: what was measured when it is stopped is of use.
        tasks = product(range(args.splits), args.data, args.sources)
        parallel = joblib.Parallel(args.jobs, return_as="generator_unordered")
        records = (
            record for found in parallel(joblib.delayed(split_records)(*task) for task in tasks) for record in found
        )
    for record in records:
        rounded = {name: round(value, 5) if isinstance(value, float) else value for name, value in record.items()}
        sys.stdout.write(json.dumps(rounded | circumstances(device)) + "\n")
        sys.stdout.flush()


def recorded() -> dict[tuple[str, int, str], dict[int, list[float]]]:
    """Read J of all splits, by data, support size and way, and then by the number of sources."""
    values: dict[tuple[str, int, str], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for record in map(json.loads, RECORDS.read_text().splitlines()):
        values[record["data"], record["n_support"], record["way"]][record["n_sources"]].append(record["squared_error"])
    return values


def print_gaps() -> None:
    """Print how far the default is behind the best of the three others, as a table."""
    values = recorded()
    counts = sorted({n for (_, _, way), found in values.items() if way == DEFAULT for n in found})
    sys.stdout.write("| data | " + " | ".join(map(str, counts)) + " |\n|---" + "|---" * len(counts) + "|\n")
    for name in dict.fromkeys(name for name, _, _ in values):
        cells = []
        for n_sources in counts:
            gaps = []
            for size in SUPPORT_SIZES:
                others = [values[name, size, UNIVERSAL][0]]
                others += [values[name, size, way].get(n_sources) for way in (NETWORKS, CLOSED_FORM)]
                mine = values[name, size, DEFAULT].get(n_sources)
                if mine:
                    gaps.append(f"{np.mean(mine) - min(np.mean(each) for each in others if each):.3f}")
            cells.append(" / ".join(gaps))
        sys.stdout.write(f"| {name} | " + " | ".join(cells) + " |\n")


def draw(file: Path) -> None:
    from fewratio.charts.style import FIRST, GRID, MUTED, OUTLIER, SECOND
    from fewratio_bench.figures import new_figure, tidy

    values = recorded()
    data = list(dict.fromkeys(name for name, _, _ in values))
    # Two columns, to be read on a phone; the legend is in the place after the last panel.
    figure = new_figure((4.8, 2.1 * (len(data) // 2 + 1)))
    panels = figure.subplots(len(data) // 2 + 1, 2, sharex=True, squeeze=False).flat
    looks = {NETWORKS: (SECOND, "s"), CLOSED_FORM: (OUTLIER, "o"), DEFAULT: (FIRST, "^")}

    def mean_of_sizes(name: str, way: str, n_sources: int) -> list[float]:
        """Return the mean over the sizes of the samples, for each split."""
        found = [values[name, size, way][n_sources] for size in SUPPORT_SIZES]
        return [float(np.mean(each)) for each in zip(*found, strict=True)]

    for ax, name in zip(panels, data, strict=False):
        (without,) = values[name, SUPPORT_SIZES[0], UNIVERSAL]
        ax.axhline(np.mean(mean_of_sizes(name, UNIVERSAL, without)), color=MUTED, linestyle="--", label=UNIVERSAL)
        for way, (colour, marker) in looks.items():
            counts = [n for n in sorted(values[name, SUPPORT_SIZES[0], way]) if n]
            found = [mean_of_sizes(name, way, n) for n in counts]
            error = [np.std(each, ddof=1) / len(each) ** 0.5 for each in found]
            look = {"color": colour, "marker": marker, "markersize": 4, "elinewidth": 0.7}
            ax.errorbar(counts, [np.mean(each) for each in found], error, label=way, **look)
        ax.set(xscale="log", xlim=(1.7, 48))
        ax.set_xticks([2, 5, 10, 20, 40], ["2", "5", "10", "20", "40"])
        ax.tick_params(labelbottom=True)
        ax.minorticks_off()
        ax.grid(color=GRID, linewidth=0.6)
        tidy(ax, name)
        lines = ax.get_legend_handles_labels()
    rest = figure.axes[len(data)]
    rest.axis("off")
    rest.legend(*lines, loc="center", frameon=False)
    figure.supylabel("J (lower is better)")
    figure.supxlabel("related datasets")
    figure.savefig(file)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", choices=list(TITLES), nargs="+", default=["mnist_r"])
    parser.add_argument("--sources", type=int, nargs="+", default=[0, 2, 5, 10, 20, 40])
    parser.add_argument("--ways", choices=[DEFAULT, NETWORKS], default=DEFAULT)
    parser.add_argument("--splits", type=int, default=4)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--figure", type=Path, help="draw the records that are there, and measure nothing")
    parser.add_argument("--gaps", action="store_true", help="print how far behind the default is by these records")
    args = parser.parse_args()
    if args.gaps:
        print_gaps()
    elif args.figure:
        draw(args.figure)
    else:
        measure(args)


if __name__ == "__main__":
    main()
