"""Pairs a second: adapting to 10,000 pairs of 5 + 5 instances in 256 dimensions, batched and one by one.

All ways in one run, interleaved; the paper reports 312 pairs a second. Beside the paper's network the universal one, in
blocks that fit in a cache; and the milliseconds of its `fit` and `predict` for one pair, on one thread.

    python benchmarks/adapt.py
"""

import argparse
import json
import statistics
import sys
import time

import torch

from fewratio import UniversalRatioEstimator
from fewratio.estimators.networks import Pair
from fewratio.estimators.networks.nn import MLPFeatures, RatioModel, RidgeHead, SetEncoder
from fewratio.estimators.networks.universal import shipped_parts
from fewratio_bench.records import circumstances

PAPER = 312
_BLOCK = 250


def one_pair_ms(nu: torch.Tensor, de: torch.Tensor, rounds: int = 50) -> float:
    """Time the estimator itself, on one thread, after it has loaded its weights."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    A, B = nu.double().numpy(), de.double().numpy()
    estimator = UniversalRatioEstimator().fit(A, B)
    seconds = []
    for _ in range(rounds):
        started = time.perf_counter()
        estimator.fit(A, B).predict(A + 0.1)
        seconds.append(time.perf_counter() - started)
    torch.set_num_threads(threads)
    return 1000 * statistics.median(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--single", type=int, default=500, help="pairs of the loop, a sample of the same ones")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    generator = torch.Generator().manual_seed(0)
    encoder = SetEncoder(256, 32, generator=generator)
    model = RatioModel(encoder, MLPFeatures(256, encoder.n_outputs, generator=generator), RidgeHead())
    nu, de = (torch.randn(args.pairs, 5, 256, generator=generator) for _ in range(2))

    def batched() -> torch.Tensor:
        return model.adapt(Pair(nu, de)).weights

    def one_by_one() -> torch.Tensor:
        return torch.stack([model.adapt(Pair(nu[i], de[i])).weights for i in range(args.single)])

    universal, _ = shipped_parts("cpu")

    def relational() -> torch.Tensor:
        blocks = zip(nu.split(_BLOCK), de.split(_BLOCK), strict=True)
        return torch.cat([universal.adapt(Pair(*block)).weights for block in blocks])

    ways = {
        "batched": (batched, args.pairs),
        "one by one": (one_by_one, args.single),
        "universal, batched": (relational, args.pairs),
    }
    rates: dict[str, list[float]] = {name: [] for name in ways}
    with torch.inference_mode():
        torch.testing.assert_close(batched()[: args.single], one_by_one(), rtol=1e-3, atol=1e-5)
        for _ in range(args.rounds):
            for name, (way, n_pairs) in ways.items():
                started = time.perf_counter()
                way()
                rates[name].append(n_pairs / (time.perf_counter() - started))
    median = {name: statistics.median(values) for name, values in rates.items()}
    record = {
        **{f"{name}, pairs per second": round(rate) for name, rate in median.items()},
        "batched / one by one": round(median["batched"] / median["one by one"], 1),
        "batched / paper": round(median["batched"] / PAPER, 1),
        "universal, batched / batched": round(median["universal, batched"] / median["batched"], 3),
        "universal, milliseconds of one fit and predict": round(one_pair_ms(nu[0], de[0]), 1),
        "threads": args.threads,
        **circumstances(torch.device("cpu")),
    }
    sys.stdout.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
