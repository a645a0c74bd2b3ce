"""Workers of `compare_all`: what a block takes, what it costs to give it away, and what that comes to. JSON lines.

    OMP_NUM_THREADS=1 python benchmarks/workers.py tasks --backends loky dask ray >> results/benchmarks/workers.jsonl
    OMP_NUM_THREADS=1 python benchmarks/workers.py ratio --repeats 3 >> results/benchmarks/workers.jsonl

``tasks`` measures processor time of blocks in one process and in two workers, bytes, and the processor time for each
task of the process that gives them away (with Dask the scheduler is in it; Ray's own processes are not seen). From
these it simulates more workers: tasks are given away one after the other, each to the worker that is free first, once
the rows have been sent to all at 100 MB a second. ``ratio`` is the clock on the wall with one worker and with two, in
turn; it tells something on idle cores only, so the load is in the record.
"""

import argparse
import heapq
import json
import os
import pickle
import statistics
import time
from contextlib import nullcontext

import joblib
import numpy as np
import torch

from fewratio import compare_all
from fewratio.estimators.samples import default_estimator, in_common_units
from fewratio.many.pair_blocks import AllPairs, Block, PairTest, cut_into_blocks
from fewratio_bench.records import circumstances

N_ROWS, N_COLUMNS = 5, 64
WORKERS = (1, 2, 4, 8, 16, 32, 64)
BYTES_PER_SECOND = 100e6


def processor_seconds(pairs: AllPairs, rows: np.ndarray, block: Block) -> tuple[int, float]:
    started = time.process_time()
    pairs.compare(rows, block)
    return os.getpid(), time.process_time() - started


def nothing(pairs: AllPairs, rows: np.ndarray, block: Block) -> np.ndarray:
    """Give a result of the right size, without the work."""
    return np.zeros((2 if pairs.test is None else 3, len(block.first) * len(block.second)))


def simulated(seconds: list[float], n_workers: int, overhead: float, sending: float) -> float:
    """Give the seconds that tasks take on so many workers."""
    free, sent = [sending * n_workers] * n_workers, sending * n_workers
    for each in seconds:
        sent += overhead
        heapq.heapreplace(free, max(free[0], sent) + each)
    return max(free)


def two_workers(backend: str):
    if backend == "loky":
        return nullcontext()
    if backend == "ray":
        import ray
        from ray.util.joblib import register_ray

        register_ray()
        return ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    import distributed

    return distributed.Client(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0")


def tasks(args: argparse.Namespace):
    rows = np.random.default_rng(0).normal(size=(args.datasets * N_ROWS, N_COLUMNS))
    starts = np.arange(args.datasets + 1) * N_ROWS
    columns = [slice(i, i + 1) for i in range(N_COLUMNS)]
    test = PairTest(columns, None, args.permutations, 0) if args.permutations else None
    pairs = AllPairs(in_common_units(default_estimator(), rows), starts, test)
    work = cut_into_blocks([N_ROWS] * args.datasets, N_COLUMNS, args.permutations)
    some = work[1 : 1 + args.blocks]
    pairs.compare(rows, work[0])
    alone = [processor_seconds(pairs, rows, block)[1] for block in some]
    per_pair = sum(alone) / sum(len(block.pairs()[0]) for block in some)
    expected = [per_pair * len(block.pairs()[0]) for block in work]
    common = {
        "benchmark": "tasks",
        "datasets": args.datasets,
        "permutations": args.permutations,
        "tasks": len(work),
        "task_cpu_seconds": round(statistics.median(alone), 4),
        "bytes_sent_once": rows.nbytes,
        "bytes_per_task": len(pickle.dumps((pairs, some[0]))),
        "bytes_per_result": nothing(pairs, rows, some[0]).nbytes,
    }
    for backend in args.backends:

        def run(function, blocks):
            return joblib.Parallel()(joblib.delayed(function)(pairs, rows, block) for block in blocks)

        with two_workers(backend), joblib.parallel_config(backend, n_jobs=2):
            run(nothing, some)
            found = run(processor_seconds, some)
            many = (work * 100)[: args.empty]
            started, cpu = time.perf_counter(), time.process_time()
            run(nothing, many)
            wall, cpu = (time.perf_counter() - started) / len(many), (time.process_time() - cpu) / len(many)
        sending = common["bytes_sent_once"] / BYTES_PER_SECOND * (backend != "loky")
        yield common | {
            "backend": backend,
            "task_cpu_seconds_in_workers": round(statistics.median(each for _, each in found), 4),
            "workers_used": len({worker for worker, _ in found}),
            "overhead_cpu_seconds_per_task": round(cpu, 6),
            "empty_task_seconds": round(wall, 6),
            "simulated_speed_up": {n: round(sum(expected) / simulated(expected, n, cpu, sending), 2) for n in WORKERS},
        }


def ratio(args: argparse.Namespace):
    samples = list(np.random.default_rng(0).normal(size=(args.datasets, N_ROWS, N_COLUMNS)))
    compare_all(samples[:9], n_jobs=2)
    seconds: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(args.repeats):
        for n_jobs, found in seconds.items():
            started = time.perf_counter()
            compare_all(samples, n_permutations=args.permutations, n_jobs=n_jobs, random_state=0)
            found.append(time.perf_counter() - started)
    medians = [statistics.median(found) for found in seconds.values()]
    yield {
        "benchmark": "ratio",
        "datasets": args.datasets,
        "permutations": args.permutations,
        "seconds_1_worker": round(medians[0], 2),
        "seconds_2_workers": round(medians[1], 2),
        "times": round(medians[0] / medians[1], 2),
        "load": round(os.getloadavg()[0], 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.set_defaults(run=tasks, backends=["loky"], blocks=8, empty=200, datasets=400, permutations=99)
    parts = parser.add_subparsers(title="what to measure", description="tasks, if nothing is named")
    for run in (tasks, ratio):
        part = parts.add_parser(run.__name__)
        part.add_argument("--datasets", type=int, default=400)
        part.add_argument("--permutations", type=int, default=99)
        part.set_defaults(run=run)
        if run is tasks:
            part.add_argument("--backends", nargs="+", choices=("loky", "dask", "ray"), default=["loky"])
            part.add_argument("--blocks", type=int, default=8, help="blocks that are timed")
            part.add_argument("--empty", type=int, default=200, help="tasks without work that are timed")
        else:
            part.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    for record in args.run(args):
        print(json.dumps(record | circumstances(torch.device("cpu"))), flush=True)


if __name__ == "__main__":
    main()
