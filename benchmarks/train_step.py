"""Model steps a second: the plain way to train the paper's model against ours, interleaved in one run.

The plain loop concatenates [x, z], solves a 100 x 100 system with ``linalg.solve``, takes one task a step and uses
Adam as it comes. Ours is the training loop of this package at the same sizes, for one model and for several as one
program. On a GPU (``--device cuda``) only ours is timed, the whole step captured as one graph.

    python benchmarks/train_step.py                     # one CPU thread
    python benchmarks/train_step.py --threads 2
    python benchmarks/train_step.py --device cuda --members 1 10 70 350 700
    torchrun --nproc-per-node 2 benchmarks/train_step.py --members 1 --tasks 16   # two processes share the tasks
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

from fewratio.core.objectives import RelativeSquaredError
from fewratio.data.collection import Collection
from fewratio.estimators.networks.nn import MLPFeatures, RatioModel, RidgeHead, SetEncoder
from fewratio.estimators.networks.optim import Ensemble, Processes, TrainingPlan
from fewratio.estimators.networks.optim.loop import TrainingRun
from fewratio.estimators.networks.pair import Episode
from fewratio.estimators.networks.training.episodes import EpisodeSampler, SupportSize
from fewratio.estimators.networks.training.pools import RowTable, pair_pools
from fewratio_bench.records import circumstances

N_DATASETS, N_INSTANCES, N_FEATURES, N_SUPPORT, N_QUERY, LATENT = 50, 300, 256, 5, 128, 32


def plain_stepper(x: Tensor) -> Callable[[int], None]:
    """Make the textbook loop over data of shape (dataset, instance, feature)."""

    def network(*sizes: int) -> nn.Sequential:
        layers: list[nn.Module] = []
        for n_in, n_out in pairwise(sizes):
            layers += [nn.Linear(n_in, n_out), nn.ReLU()]
        return nn.Sequential(*layers[:-1])

    f, g = network(N_FEATURES, 100, 100, 100), network(100, 100, LATENT)
    h = nn.Sequential(network(N_FEATURES + 2 * LATENT, 100, 100, 100), nn.Softplus())
    log_reg = nn.Parameter(torch.zeros(()))
    parameters = [*f.parameters(), *g.parameters(), *h.parameters(), log_reg]
    optimizer = torch.optim.Adam(parameters, lr=1e-3)
    generator = torch.Generator().manual_seed(0)

    def embed(rows: Tensor, z: Tensor) -> Tensor:
        return h(torch.cat([rows, z.expand(len(rows), -1)], dim=1))

    def step() -> None:
        sides = []
        for dataset in torch.randint(N_DATASETS, (2,), generator=generator).tolist():
            rows = x[dataset][torch.randperm(N_INSTANCES, generator=generator)[:N_QUERY]]
            sides.append((rows[:N_SUPPORT], rows))
        (support_nu, query_nu), (support_de, query_de) = sides
        z = torch.cat([g(f(support_nu).mean(0)), g(f(support_de).mean(0))])
        phi_nu, phi_de = embed(support_nu, z), embed(support_de, z)
        K = 0.5 * phi_nu.T @ phi_nu / N_SUPPORT + 0.5 * phi_de.T @ phi_de / N_SUPPORT
        w = torch.linalg.solve(K + log_reg.exp() * torch.eye(100), phi_nu.mean(0)).clamp_min(0)
        r_nu, r_de = embed(query_nu, z) @ w, embed(query_de, z) @ w
        loss = 0.25 * (r_nu**2).mean() + 0.25 * (r_de**2).mean() - r_nu.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    def run(n_steps: int) -> None:
        for _ in range(n_steps):
            step()

    return run


class NoValidation:
    """Nothing to validate on: only steps are timed."""

    tasks = None

    def batches(self) -> Iterable[Episode]:
        return ()


def our_stepper(
    collection: Collection, members: int, tasks: int, device: str, processes: Processes
) -> Callable[[int], None]:
    """Make our training step for so many models at once."""
    table = RowTable([collection], device)
    size = SupportSize(N_SUPPORT, N_SUPPORT)
    pools, sizes = [pair_pools(collection, table)] * members, [(size, size)] * members
    draw = EpisodeSampler(table.rows, pools, range(members), sizes, N_QUERY, tasks, part=processes.part)
    models = []
    for member in range(members):
        generator = torch.Generator().manual_seed(member)
        encoder = SetEncoder(N_FEATURES, LATENT, generator=generator)
        features = MLPFeatures(N_FEATURES, 2 * LATENT, generator=generator)
        models.append(RatioModel(encoder, features, RidgeHead(), clip="weights"))
    ensemble, objective = Ensemble(models, device), RelativeSquaredError(0.5)
    training = TrainingRun(ensemble, draw, NoValidation(), objective, TrainingPlan(), processes)

    def run(n_steps: int) -> None:
        for _ in range(n_steps):
            training.advance()
        if device == "cuda":
            torch.cuda.synchronize()

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--members", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--tasks", type=int, nargs="+", default=[1], help="tasks a step")
    parser.add_argument("--steps", type=int, default=20, help="steps in a timed round")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--tf32", action="store_true", help="let matrix products use TF32 on the GPU")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    processes = Processes.from_launch()
    if args.tf32:
        torch.set_float32_matmul_precision("high")
    x = np.random.default_rng(0).normal(size=(N_DATASETS, N_INSTANCES, N_FEATURES)).astype(np.float32)
    collection = Collection.from_arrays(list(x))

    runs: dict[tuple[int, int], Callable[[int], None]] = {}
    if args.device == "cpu" and processes.alone:
        runs[0, 1] = plain_stepper(torch.from_numpy(x))
    for members in args.members:
        for tasks in args.tasks:
            runs[members, tasks] = our_stepper(collection, members, tasks, args.device, processes)
    for run in runs.values():
        run(10)
    seconds: dict[tuple[int, int], list[float]] = {key: [] for key in runs}
    for _ in range(args.rounds):
        for key, run in runs.items():
            started = time.perf_counter()
            run(args.steps)
            seconds[key].append((time.perf_counter() - started) / args.steps)

    if not processes.is_first:
        return
    plain = statistics.median(seconds[0, 1]) if (0, 1) in seconds else None
    for (members, tasks), rounds in seconds.items():
        median = statistics.median(rounds)
        record = {
            "what": f"{members} models" if members else "plain",
            "tasks_per_step": tasks,
            "ms_per_step": round(1e3 * median, 3),
            "model_steps_per_second": round(max(members, 1) / median, 1),
            "times_plain": round(max(members, 1) * plain / median, 2) if plain else None,
            "tf32": args.tf32,
            "threads": args.threads,
            "processes": processes.count,
            **circumstances(torch.device(args.device)),
        }
        sys.stdout.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
