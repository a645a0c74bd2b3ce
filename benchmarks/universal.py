"""The universal network: how its weights are made, and how it does on kinds of pairs that it was never trained on.

    python benchmarks/universal.py train weights.npz --device cuda     # some minutes on a GPU
    python benchmarks/universal.py ship weights.npz                    # puts them into the package
    python benchmarks/universal.py judge                               # a record for each kind of pairs and size

    python benchmarks/universal.py unpack weights.npz                  # the weights of the package
    python benchmarks/universal.py intervals weights.npz --device cuda # trains the intervals in that file anew

    torchrun --nproc-per-node 2 benchmarks/universal.py train weights.npz --checkpoint part   # on two GPUs

`train` and `intervals` run where safetensors is missing, hence the files between. `judge` compares with the true ratio:
J beside that of the truth and of the ratio 1 (-0.5), how often the intervals held the true ratio and divergence, and
their mean widths.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fewratio.core.container import read_tensors, write_tensors
from fewratio.core.objectives import RelativeSquaredError
from fewratio.core.true_ratio import true_ratio
from fewratio.estimators.networks.nn.intervals import LEVELS, largest_divergence
from fewratio.estimators.networks.optim import History, Processes
from fewratio.estimators.networks.pair import Pair, equal_shares
from fewratio.estimators.networks.pretrained import UNIVERSAL
from fewratio.estimators.networks.universal import shipped_parts, universal_model
from fewratio_bench.prior import PriorPairs, draw_pairs
from fewratio_bench.records import circumstances
from fewratio_bench.universal_training import (
    BANK,
    HELD_OUT_RELATION,
    HELD_OUT_SHAPE,
    INTERVAL_BANK,
    INTERVALS,
    STAGES,
    TRAINED_RELATIONS,
    TRAINED_SHAPES,
    Bank,
    Stage,
    train_intervals,
    train_universal,
    true_divergence,
)

# Not the seeds of training and validation.
_SEED = 10**9
_ALPHA = 0.5
_SIZES = (2, 3, 5, 10, 30, 75, 150)
# Instances of each sample's distribution: those that are in no sample tell the true divergence.
_N_INSTANCES = 400
# At how many of them per side the ratio is evaluated.
_N_EVALUATED = 64
KINDS = {
    "trained": (TRAINED_RELATIONS, TRAINED_SHAPES),
    "held-out relation": ((HELD_OUT_RELATION,), TRAINED_SHAPES),
    "held-out shape": (TRAINED_RELATIONS, (HELD_OUT_SHAPE,)),
}


def train(args: argparse.Namespace) -> None:
    model, histories = train_universal(args.seed, args.device, checkpoint=args.checkpoint)
    header = _account(args, STAGES, BANK, histories)
    _write(args.file, {f"ratio.{name}": value.cpu().numpy() for name, value in model.state_dict().items()}, header)
    intervals(args)


def intervals(args: argparse.Namespace) -> None:
    tensors, header = _read(args.file)
    arrays = {name: array for name, array in tensors.items() if name.startswith("ratio.")}
    model = universal_model()
    model.load_state_dict({name.removeprefix("ratio."): torch.from_numpy(array) for name, array in arrays.items()})
    found, histories = train_intervals(model, args.seed, args.device, checkpoint=args.checkpoint)
    arrays |= {f"intervals.{name}": value.cpu().numpy() for name, value in found.state_dict().items()}
    _write(args.file, arrays, header | {"intervals": _account(args, INTERVALS, INTERVAL_BANK, histories)})


def _account(
    args: argparse.Namespace, stages: Sequence[Stage], bank: Bank, histories: Sequence[History]
) -> dict[str, Any]:
    return {
        "seed": args.seed,
        "stages": [asdict(stage) for stage in stages],
        "bank": asdict(bank),
        "validation": [history.best_validation for history in histories],
        "seconds": [round(history.seconds, 1) for history in histories],
        **circumstances(torch.device(args.device)),
    }


def unpack(args: argparse.Namespace) -> None:
    _write(args.file, *read_tensors(UNIVERSAL, "model"))


def ship(args: argparse.Namespace) -> None:
    write_tensors(UNIVERSAL, "model", *_read(args.file))


def _write(path: Path, tensors: dict[str, NDArray[Any]], header: dict[str, Any]) -> None:
    # Of several processes the first writes, and the others wait for it.
    Processes.from_launch().call_in_first(lambda: np.savez(path, header=np.array(json.dumps(header)), **tensors))


def _read(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files if name != "header"}, json.loads(str(file["header"]))


def judge(args: argparse.Namespace) -> None:
    for kind in args.kinds:
        relations, shapes = KINDS[kind]
        pairs = draw_pairs(args.pairs, _N_INSTANCES, args.columns, _SEED, relations=relations, shapes=shapes)
        for size in args.sizes:
            record = {"kind": kind, "instances_per_sample": size, **_judged(pairs, size), "seed": _SEED}
            sys.stdout.write(json.dumps(record | circumstances(torch.device("cpu"))) + "\n")
            sys.stdout.flush()


@torch.no_grad()
def _judged(pairs: PriorPairs, size: int) -> dict[str, float]:
    model, bounds = shipped_parts("cpu")
    loss = RelativeSquaredError(_ALPHA)
    found: dict[str, list[float]] = {}
    for number in pairs.with_truth():
        # Rows are independent: the first of either side are its sample.
        rows, log_ratio = pairs.rows[number, ..., : int(pairs.n_columns[number])], pairs.log_ratio[number]
        alpha = torch.tensor(_ALPHA)
        ratio = model.adapt(Pair(*rows[:, :size]), alpha)
        query, truth = rows[:, -_N_EVALUATED:].flatten(0, 1), true_ratio(log_ratio[:, -_N_EVALUATED:].flatten(), alpha)
        shares, rest = (equal_shares(n, n, rows) for n in (_N_EVALUATED, _N_INSTANCES - size))
        divergence = true_divergence(true_ratio(log_ratio[:, size:].flatten(), alpha), rest, alpha)
        # Rounding can bring it beyond the most.
        divergence = divergence.clamp_max(largest_divergence(alpha))
        numbers = {"J": loss(ratio(query), shares), "J of the truth": loss(truth, shares)}
        for name, value, of_levels in (
            ("ratio", truth, bounds.of_ratio(ratio, query)),
            ("divergence", divergence, bounds.of_divergence(ratio)),
        ):
            for level, of_level in zip(LEVELS, of_levels.unbind(-2), strict=True):
                low, high = of_level.unbind(-1)
                numbers[f"{name} within {level}"] = ((low <= value) & (value <= high)).float().mean()
                numbers[f"{name} width {level}"] = (high - low).mean()
        for name, value in numbers.items():
            found.setdefault(name, []).append(float(value))
    return {"pairs": len(found["J"])} | {name: round(float(np.mean(values)), 4) for name, values in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    for action in (train, intervals, unpack, ship):
        verb = verbs.add_parser(action.__name__)
        verb.add_argument("file", type=Path)
        if action in (train, intervals):
            verb.add_argument("--device", default="cuda")
            verb.add_argument("--seed", type=int, default=0)
            verb.add_argument("--checkpoint", help="start of the names of files to resume from")
        verb.set_defaults(action=action)
    verb = verbs.add_parser("judge")
    verb.add_argument("--pairs", type=int, default=1000)
    verb.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    verb.add_argument("--sizes", nargs="+", type=int, default=_SIZES)
    verb.add_argument("--columns", type=int, default=256)
    verb.set_defaults(action=judge)
    args = parser.parse_args()
    args.action(args)


if __name__ == "__main__":
    main()
