"""An experiment of your own: which methods on which problems, and what its table shows.

    python examples/own_experiment.py --results /tmp/own-experiment

Records are kept: run it again and only what is missing is measured; more splits go on from those that are there.
"""

import argparse
from dataclasses import replace
from pathlib import Path

from fewratio_bench import EXPERIMENTS, Experiment, Kernel, Learned, Panel, run_experiment, write_table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, required=True, help="folder of records, made if need be")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--steps", type=int, default=500, help="steps of training")
    args = parser.parse_args()
    # A problem of the paper, made smaller; all its problems are in `EXPERIMENTS[...].problems`.
    problem = replace(EXPERIMENTS["synthetic"].problems[0], n_source=50, n_target=6, sizes=(5, 10))
    # Does the paper's network gain from more steps? Methods of one experiment are told apart by their names.
    training = {"tasks_per_step": 4, "validate_every": args.steps // 2}
    network = Learned("Network", None, latent_dims=(8,), training={**training, "max_steps": args.steps})
    longer = replace(network, name="Network, twice as long", training={**training, "max_steps": 2 * args.steps})
    # Two blocks of one table: the squared error of Eq. 8, and how much of it is above that of the true ratio.
    panels = tuple(Panel(problem.data, (problem,), metric) for metric in ("squared_error", "regret"))
    experiment = Experiment("own-experiment", "Longer training", panels, (network, longer, Kernel("RuLSIF", None)))
    run_experiment(experiment, args.results, n_splits=args.splits, device="cpu")
    print(write_table(experiment, args.results))


if __name__ == "__main__":
    main()
