"""How the defaults of `MetaRatioEstimator` were chosen: regret on the synthetic problem, one setting after another.

The draws (100 to 109) are others than those of ``fewratio-bench run synthetic``, so that the choice does not flatter
the table. Best on a GPU.

    python benchmarks/settings.py
"""

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from fewratio_bench.problems import SyntheticProblem
from fewratio_bench.recipes import PAPER_RECIPE, Bench, Learned
from fewratio_bench.run import Runner

SETTINGS: dict[str, dict[str, Any]] = {
    "paper's recipe, a look every 500 steps": PAPER_RECIPE,
    "paper's recipe, a look every 100 steps": PAPER_RECIPE | {"validate_every": 100},
    "defaults": {},
    "no averaging": {"averaging": 0.0},
    "averaging 0.998": {"averaging": 0.998},
    "weights clipped": {"clip": "weights"},
    "64 tasks a step, no averaging": {"tasks_per_step": 64, "averaging": 0.0},
    "attention pooling": {"pooling": "attention"},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--device", default="auto")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(SyntheticProblem(), Bench(args.device, Path(folder), progress=None))
        for name, settings in SETTINGS.items():
            method = Learned(name, None, settings | {"max_steps": args.steps})
            records = runner.measure(method, range(100, 100 + args.draws))
            regrets = [r.value for r in records if (r.role, r.metric) == ("target", "regret")]
            record = {
                "setting": name,
                "regret": round(statistics.mean(regrets), 4),
                "standard_error": round(statistics.stdev(regrets) / len(regrets) ** 0.5, 4),
                "regrets": [round(regret, 4) for regret in regrets],
                "seconds_per_model": round(records[0].seconds, 1),
                "parameters": records[0].parameters,
                "commit": records[0].commit,
                "device": records[0].device,
            }
            sys.stdout.write(json.dumps(record) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
