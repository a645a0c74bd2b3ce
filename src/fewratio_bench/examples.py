"""The paper's synthetic examples: the ratios of methods for four unseen pairs, on a grid.

Records contain means over all pairs but no curves, so the curves are stored in a separate file.
"""

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from fewratio.core.container import write_atomically
from fewratio.core.objectives import RelativeSquaredError
from fewratio.demo.curves import DrawnPair, choose_pairs, draw_pairs, ratio_grid
from fewratio.errors import DataFileError
from fewratio.estimators.networks.pair import Episode, Pair
from fewratio_bench.evaluate import PairEvaluation
from fewratio_bench.experiments import OURS, RULSIF, RULSIF_FT
from fewratio_bench.methods import Bench, Method
from fewratio_bench.problems import SYNTHETIC, SyntheticProblem, Trial
from fewratio_bench.records import circumstances
from fewratio_bench.rendering import display_name
from fewratio_bench.splits import Split

if TYPE_CHECKING:
    from fewratio.charts.chart import Picture

# The paper's rows, with one length of dataset vectors so that they take only a minute or two.
METHODS: tuple[Method, ...] = (replace(OURS, latent_dims=(32,)), RULSIF, RULSIF_FT)
_ALPHA = 0.5
# More digits cannot be seen in a drawing.
_DIGITS = 5


def synthetic_examples(folder: Path) -> "Picture":
    """Draw four unseen pairs with the true ratio, as the paper does; train first if no curves are kept."""
    path = folder / SYNTHETIC.data.lower() / "examples.json"
    if not path.exists():
        sys.stderr.write(f"There are no curves in {path} yet: training for them, one or two minutes on a CPU.\n")
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, (json.dumps(make_examples(SYNTHETIC, METHODS)) + "\n").encode())
    try:
        kept = json.loads(display_name(path.read_text(encoding="utf-8")))
        errors = ", ".join(f"{name} {error:.3f}" for name, error in kept["errors"].items())
        note = (
            f"Split 0; J over all its pairs: {errors}. Commit {kept['commit']}, device {kept['device']}.\n"
            "paper's method: the paper's recipe, K = 32. RuLSIF and RuLSIF-FT: the lambda that is best on these "
            "targets."
        )
        pairs = [DrawnPair(**pair) for pair in kept["pairs"]]
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise DataFileError(f"{path} holds no examples ({error}). Delete it, and they are made again.") from error
    return draw_pairs(pairs, "Relative density ratio of four unseen pairs, ten instances each", note)


def make_examples(problem: SyntheticProblem, methods: Sequence[Method]) -> dict[str, Any]:
    """Train on the first split, choose four of its target pairs by the truth, and evaluate the methods on a grid.

    If a method has several settings, the best one on the targets is used, as in the paper.

    Parameters
    ----------
    problem : SyntheticProblem
        The source of the datasets.
    methods : sequence of Method
        The methods to draw.

    Returns
    -------
    dict
        Plain values for JSON: the arguments of `DrawnPair`; for each method, the setting and its squared error,
        averaged over all target pairs of the split; the seconds, the code and the machine.
    """
    started = time.perf_counter()
    place, size = torch.device("cpu"), max(problem.sizes)
    gridded = _GriddedProblem(**asdict(problem))
    trial = Trial(gridded, gridded.split(0), size, place)
    evaluation = gridded.evaluation(trial.split, "target", size, place)
    (support, query), moments = evaluation.episode, np.asarray(evaluation.moments)
    settings, errors, curves = {}, {}, {}
    for method in methods:
        verdicts = [each for each in method.judge([trial], Bench(str(place), progress=False)) if each.role == "target"]
        found = [evaluation.metrics(verdict.judgement)["squared_error"] for verdict in verdicts]
        best = verdicts[int(np.argmin(found))]
        assert best.judgement.query is not None
        settings[method.name], errors[method.name] = best.parameters, min(found)
        curves[method.name] = best.judgement.query[:, -len(ratio_grid(moments[0])) :]
    # Choose pairs by the truth, not by the results of a method.
    easier = RelativeSquaredError(_ALPHA)(evaluation.true_ratio(_ALPHA), query.shares.double())
    pairs = [
        {
            "moments": moments[number].tolist(),
            "nu": _round(support.nu[number, :, 0]),
            "de": _round(support.de[number, :, 0]),
            "curves": {name: _round(curve[number]) for name, curve in curves.items()},
        }
        for number in choose_pairs(easier.tolist())
    ]
    seconds = round(time.perf_counter() - started, 1)
    return {"pairs": pairs, "settings": settings, "errors": errors, "seconds": seconds, **circumstances(place)}


class _GriddedProblem(SyntheticProblem):
    """The synthetic problem with additional query rows on a grid."""

    def evaluation(self, split: Split, role: str, n_support: int, device: torch.device) -> PairEvaluation:
        """Return the pairs with the grid at the end of their query, where it has no share in any mean."""
        evaluation = super().evaluation(split, role, n_support, device)
        (support, query), moments = evaluation.episode, np.asarray(evaluation.moments)
        grid = torch.tensor(np.stack(list(map(ratio_grid, moments))), dtype=torch.float32)[..., None]
        shares = torch.nn.functional.pad(query.shares, (0, grid.shape[1]))
        evaluation.episode = Episode(
            support, Pair.from_joined(torch.cat([query.rows, grid], dim=1), shares, query.n_nu)
        )
        return evaluation


def _round(values: torch.Tensor) -> list[float]:
    return [round(value, _DIGITS) for value in values.double().tolist()]
