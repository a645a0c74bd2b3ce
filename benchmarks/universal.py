"""The universal network: how its weights are made, and how it does on kinds of pairs that it was never trained on.

    python benchmarks/universal.py train weights.npz --device cuda     # some minutes on a GPU
    python benchmarks/universal.py ship weights.npz                    # puts them into the package
    python benchmarks/universal.py judge                               # a record for each kind of pairs

`train` runs where safetensors is missing, hence two steps. `judge` compares with the true ratio: J at 3, 5 and 10
instances per sample, beside that of the truth and of the ratio 1 (-0.5), and how often the intervals held it.
"""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch

from fewratio.core.divergence import relative_pearson_divergence
from fewratio.core.exact import true_ratio
from fewratio.core.objectives import RelativeSquaredError
from fewratio.core.pair import Pair
from fewratio.core.tensorfile import write_tensors
from fewratio.estimators.universal import shipped_parts
from fewratio.nn.intervals import LEVELS, largest_divergence
from fewratio.pretrained import UNIVERSAL
from fewratio.training.episodes import EpisodeSampler, SupportSize
from fewratio_bench.prior import PriorPairs, draw_pairs
from fewratio_bench.records import circumstances
from fewratio_bench.universal_training import (
    BANK,
    HELD_OUT_RELATION,
    HELD_OUT_SHAPE,
    INTERVALS,
    STAGES,
    TRAINED_RELATIONS,
    TRAINED_SHAPES,
    train_universal,
)

# Not the seeds of training and validation.
_SEED = 10**9
_ALPHA = 0.5
MOST = float(largest_divergence(torch.tensor(_ALPHA)))
KINDS = {
    "practised": (TRAINED_RELATIONS, TRAINED_SHAPES),
    "held-out relation": ((HELD_OUT_RELATION,), TRAINED_SHAPES),
    "held-out shape": (TRAINED_RELATIONS, (HELD_OUT_SHAPE,)),
}


def train(args: argparse.Namespace) -> None:
    model, intervals, histories = train_universal(args.seed, args.device)
    header = {
        "seed": args.seed,
        "stages": [asdict(stage) for stage in (*STAGES, INTERVALS)],
        "bank": asdict(BANK),
        "validation": [history.best_validation for history in histories],
        "seconds": [round(history.seconds, 1) for history in histories],
        **circumstances(torch.device(args.device)),
    }
    parts = {"ratio": model, "intervals": intervals}
    tensors = {f"{name}.{key}": value for name, part in parts.items() for key, value in part.state_dict().items()}
    arrays = {name: tensor.cpu().numpy() for name, tensor in tensors.items()}
    np.savez(args.file, header=np.array(json.dumps(header)), **arrays)


def ship(args: argparse.Namespace) -> None:
    with np.load(args.file, allow_pickle=False) as file:
        header = json.loads(str(file["header"]))
        tensors = {name: file[name] for name in file.files if name != "header"}
    write_tensors(UNIVERSAL, "model", tensors, header)


def judge(args: argparse.Namespace) -> None:
    for kind, (relations, shapes) in KINDS.items():
        pairs = draw_pairs(args.pairs, 160, args.columns, _SEED, relations=relations, shapes=shapes)
        for size in (3, 5, 10):
            record = {"kind": kind, "instances_a_side": size, **_judged(pairs, size), "seed": _SEED}
            sys.stdout.write(json.dumps(record | circumstances(torch.device("cpu"))) + "\n")
            sys.stdout.flush()


@torch.no_grad()
def _judged(pairs: PriorPairs, size: int) -> dict[str, float]:
    model, intervals = shipped_parts("cpu")
    known = pairs.with_truth()
    sizes = SupportSize(size, size)
    draw = EpisodeSampler(
        pairs.table_with_truth(),
        [pairs.pools(known)],
        [_SEED],
        [(sizes, sizes)],
        128,
        50,
        (True, True),
        (_ALPHA, _ALPHA),
    )
    found: dict[str, list[float]] = {}
    for step in range(max(1, len(known) // 50)):
        episode = draw(torch.tensor(step))
        support, query, alpha = episode.support, episode.query, episode.alpha
        assert alpha is not None
        ratio = model.adapt(Pair.joined(support.rows[..., :-1], support.shares, support.n_nu), alpha)
        estimate, truth = ratio(query.rows[..., :-1]), true_ratio(query.rows[..., -1], alpha)
        loss = RelativeSquaredError(_ALPHA)
        # The mean of a finite sample can be a little below zero, where no divergence is, and rounding beyond the most.
        divergence = relative_pearson_divergence(truth, query.shares, _ALPHA).clamp(0, MOST)
        own = relative_pearson_divergence(ratio.at_support(), support.shares, _ALPHA)
        share = query.shares.mean(-2)
        numbers = {"J": loss(estimate, query.shares), "J of the truth": loss(truth, query.shares)}
        bounds, of_pair = intervals.of_ratio(ratio, query.rows[..., :-1]), intervals.of_divergence(ratio, own)
        for i, level in enumerate(LEVELS):
            held = (bounds[..., i, 0] <= truth) & (truth <= bounds[..., i, 1])
            numbers[f"ratio within {level}"] = (held * share).sum(-1)
            within = (of_pair[..., i, 0] <= divergence) & (divergence <= of_pair[..., i, 1])
            numbers[f"divergence within {level}"] = within.to(share.dtype)
        for name, value in numbers.items():
            found.setdefault(name, []).extend(value.flatten().tolist())
    return {"pairs": len(found["J"])} | {name: round(float(np.mean(values)), 4) for name, values in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    verb = verbs.add_parser("train")
    verb.add_argument("file", type=Path)
    verb.add_argument("--device", default="cuda")
    verb.add_argument("--seed", type=int, default=0)
    verb.set_defaults(action=train)
    verb = verbs.add_parser("ship")
    verb.add_argument("file", type=Path)
    verb.set_defaults(action=ship)
    verb = verbs.add_parser("judge")
    verb.add_argument("--pairs", type=int, default=1000)
    verb.add_argument("--columns", type=int, default=256)
    verb.set_defaults(action=judge)
    args = parser.parse_args()
    args.action(args)


if __name__ == "__main__":
    main()
