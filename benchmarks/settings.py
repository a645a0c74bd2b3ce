"""How the defaults of `MetaRatioEstimator` were chosen: regret on the synthetic problem, one setting after another.

The draws (100 to 109) are others than those of ``fewratio-bench run synthetic``, so that the choice does not flatter
the table. Best on a GPU.

    python benchmarks/settings.py
"""

import argparse
import json
import statistics
import sys
from dataclasses import replace

from fewratio.estimators.networks.network_estimator import resolve_device
from fewratio_bench.methods import Bench, Learned
from fewratio_bench.methods.learned import PAPER_TRAINING
from fewratio_bench.problems import SYNTHETIC, Trial
from fewratio_bench.run import measure

PAPER = Learned("paper's recipe, a look every 500 steps", None, latent_dims=(32,))
OURS = {"tasks_per_step": 16, "averaging": 0.99, "validate_every": 100}
DEFAULTS = replace(PAPER, name="defaults", clip="ratio", training=OURS)
SETTINGS = (
    PAPER,
    replace(PAPER, name="paper's recipe, a look every 100 steps", training=PAPER_TRAINING | {"validate_every": 100}),
    DEFAULTS,
    replace(DEFAULTS, name="no averaging", training=OURS | {"averaging": 0.0}),
    replace(DEFAULTS, name="averaging 0.998", training=OURS | {"averaging": 0.998}),
    replace(DEFAULTS, name="weights clipped", clip="weights"),
    replace(DEFAULTS, name="64 tasks a step, no averaging", training=OURS | {"tasks_per_step": 64, "averaging": 0.0}),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=10, help="two at least")
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--device", default="auto")
    args = parser.parse_args()
    device = resolve_device(args.device)
    (size,) = SYNTHETIC.sizes
    cells = [Trial(SYNTHETIC, SYNTHETIC.split(number), size, device) for number in range(100, 100 + args.draws)]
    for method in SETTINGS:
        short = replace(method, training=method.training | {"max_steps": args.steps})
        verdicts = measure(short, cells, Bench(str(device), progress=False))
        records = [record for _, measured in verdicts for record in measured]
        regrets = [record.value for record in records if (record.role, record.metric) == ("target", "regret")]
        record = {
            "setting": method.name,
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
