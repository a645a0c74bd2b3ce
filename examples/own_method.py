"""A method of your own in the benchmark, beside those of the paper.

    python examples/own_method.py --results /tmp/own-method

A method is a small class: its grid of settings (and `quick`, if a quick run is to have a smaller one), and a `judge`
that goes through the trials (a trial is a split of a problem at one support size) and says, for each role and setting,
what it finds at the query rows.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from fewratio_bench import (
    EXPERIMENTS,
    Bench,
    Experiment,
    Judgement,
    Method,
    Panel,
    Problem,
    Trial,
    Verdict,
    run_experiment,
    write_table,
)


@dataclass(frozen=True)
class NearestSide(Method):
    """A score: how much nearer a row is to the numerator's support than to the denominator's."""

    name: str = "Nearest side"
    published: str | None = None  # its name in the paper's tables, if it is there
    powers: tuple[float, ...] = (0.5, 1.0)

    def settings(self, problem: Problem) -> list[dict[str, float]]:
        """Give every setting, as records hold it."""
        return [{"power": power} for power in self.powers]

    def judge(self, trials: Sequence[Trial], bench: Bench) -> Iterator[Verdict]:
        """Judge every trial, in both roles, at every setting."""
        for trial in trials:
            for role, evaluation in trial.evaluations.items():
                support, query = evaluation.episode.support, evaluation.episode.query
                for setting in self.settings(trial.problem):
                    started = time.perf_counter()
                    nu, de = (torch.cdist(query.rows, side).amin(-1) for side in (support.nu, support.de))
                    far = torch.cdist(support.nu, support.de).amin((-2, -1))
                    # Without `alpha` the query values are scores; with it they are that relative ratio.
                    judgement = Judgement((de - nu).sign() * (de - nu).abs() ** setting["power"], divergence=far)
                    seconds = time.perf_counter() - started
                    yield Verdict(trial, role, setting, judgement, seconds, seed=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, required=True, help="folder of records, made if need be")
    parser.add_argument("--splits", type=int, default=2)
    args = parser.parse_args()
    # Telling pairs of two datasets from those of a dataset with itself, on the synthetic data; chance has an AUC of 50.
    problem = EXPERIMENTS["synthetic"].problems[0]
    kernel = next(method for method in EXPERIMENTS["synthetic"].methods if method.name == "RuLSIF")
    panel = Panel(problem.data, (problem,), "auc")
    experiment = Experiment("own-method", "A method of my own", (panel,), (NearestSide(), kernel))
    run_experiment(experiment, args.results, n_splits=args.splits, device="cpu")
    print(write_table(experiment, args.results))


if __name__ == "__main__":
    main()
