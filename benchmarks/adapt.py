"""Pairs a second: adapting to 10,000 pairs of 5 + 5 instances in 256 dimensions, batched and one by one.

Both ways in one run, interleaved; the paper reports 312 pairs a second.

    python benchmarks/adapt.py
"""

import argparse
import json
import statistics
import sys
import time

import torch

from fewratio.core import Pair
from fewratio.nn import MLPFeatures, RatioModel, RidgeHead, SetEncoder
from fewratio_bench.records import circumstances

PAPER = 312


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

    rates: dict[str, list[float]] = {"batched": [], "one by one": []}
    with torch.inference_mode():
        torch.testing.assert_close(batched()[: args.single], one_by_one(), rtol=1e-3, atol=1e-5)
        for _ in range(args.rounds):
            for name, way, n_pairs in (("batched", batched, args.pairs), ("one by one", one_by_one, args.single)):
                started = time.perf_counter()
                way()
                rates[name].append(n_pairs / (time.perf_counter() - started))
    median = {name: statistics.median(values) for name, values in rates.items()}
    record = {
        **{f"{name}, pairs per second": round(rate) for name, rate in median.items()},
        "batched / one by one": round(median["batched"] / median["one by one"], 1),
        "batched / paper": round(median["batched"] / PAPER, 1),
        "threads": args.threads,
        **circumstances(torch.device("cpu")),
    }
    sys.stdout.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
