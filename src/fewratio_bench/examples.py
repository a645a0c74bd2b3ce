"""The paper's synthetic examples: what methods say of four unseen pairs, on a grid.

Records hold means over all pairs and no curves, so the curves are kept in a file of their own beside them.
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

from fewratio.charts.curves import DrawnPair, draw_pairs, ratio_grid, spread
from fewratio.core.objectives import RelativeSquaredError
from fewratio.core.pair import Episode, Pair
from fewratio.core.tensorfile import write_atomically
from fewratio.errors import DataFileError
from fewratio_bench.evaluate import PairEvaluation, TrueRatios
from fewratio_bench.experiments import OURS, RULSIF, RULSIF_FT
from fewratio_bench.methods import Bench, Method
from fewratio_bench.problems import SYNTHETIC, SyntheticProblem, Trial
from fewratio_bench.records import circumstances
from fewratio_bench.rendering import display_name
from fewratio_bench.splits import Split

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The paper's rows; one length of dataset vectors, so that they are made in a minute or two.
METHODS: tuple[Method, ...] = (replace(OURS, latent_dims=(32,)), RULSIF, RULSIF_FT)
_ALPHA = 0.5
# What is drawn cannot show more.
_DIGITS = 5


def synthetic_examples(folder: Path) -> "Figure":
    """Draw four unseen pairs with the true ratio, as the paper does; train first if no curves are kept."""
    from matplotlib import rc_context

    path = folder / SYNTHETIC.data.lower() / "examples.json"
    if not path.exists():
        sys.stderr.write(f"There are no curves in {path} yet: training for them, one or two minutes on a CPU.\n")
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, (json.dumps(make_examples(SYNTHETIC, METHODS)) + "\n").encode())
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        errors = ", ".join(f"{name} {error:.3f}" for name, error in kept["errors"].items())
        note = (
            f"Split 0; J over all its pairs: {errors}. Commit {kept['commit']}, device {kept['device']}.\n"
            "Ours: the paper's recipe, K = 32. RuLSIF and RuLSIF-FT: the lambda that is best on these targets."
        )
        pairs = [
            DrawnPair(**(pair | {"curves": {display_name(name): curve for name, curve in pair["curves"].items()}}))
            for pair in kept["pairs"]
        ]
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise DataFileError(f"{path} holds no examples ({error}). Delete it, and they are made again.") from error
    with rc_context({"legend.columnspacing": 1.2}):
        return draw_pairs(pairs, "Relative density ratio of four unseen pairs, ten instances each", display_name(note))


def make_examples(problem: SyntheticProblem, methods: Sequence[Method]) -> dict[str, Any]:
    """Train on the first split, choose four of its target pairs by the truth, and follow the methods along a grid.

    Where a method has several settings, the best on the targets is taken, as in the paper.

    Parameters
    ----------
    problem : SyntheticProblem
        Where the datasets come from.
    methods : sequence of Method
        What is to be drawn.

    Returns
    -------
    dict
        As JSON has it: the pairs as `DrawnPair` takes them; by method, the setting that is drawn and its squared error,
        the mean over all pairs of the split's targets; the seconds that it took, code and machine.
    """
    started = time.perf_counter()
    place = torch.device("cpu")
    size, split = max(problem.sizes), problem.split(0)
    judged, drawn = (Trial(each, split, size, place) for each in (problem, _GriddedProblem(**asdict(problem))))
    settings, errors, curves = {}, {}, {}
    for method in methods:
        # The second pass finds what the first one has trained.
        bench = Bench(str(place), progress=False)
        found = {
            json.dumps(verdict.parameters): judged.evaluations["target"].metrics(verdict.judgement)["squared_error"]
            for verdict in method.judge([judged], bench)
            if verdict.role == "target"
        }
        best = min(found, key=found.__getitem__)
        (curve,) = [
            verdict.judgement.query
            for verdict in method.judge([drawn], bench)
            if verdict.role == "target" and json.dumps(verdict.parameters) == best
        ]
        assert curve is not None
        settings[method.name], errors[method.name], curves[method.name] = json.loads(best), found[best], curve
    support = drawn.evaluations["target"].episode.support
    pairs = [
        {
            "moments": moments,
            "nu": _rounded(support.nu[number, :, 0]),
            "de": _rounded(support.de[number, :, 0]),
            "curves": {name: _rounded(curve[number]) for name, curve in curves.items()},
        }
        for number, moments in enumerate(_chosen_pairs(problem, split, size)[1])
    ]
    seconds = round(time.perf_counter() - started, 1)
    return {"pairs": pairs, "settings": settings, "errors": errors, "seconds": seconds, **circumstances(place)}


class _GriddedProblem(SyntheticProblem):
    """The same problem, asked for the ratio of four of its pairs along a grid."""

    def evaluation(self, split: Split, role: str, n_support: int, device: torch.device) -> PairEvaluation:
        """Give the four pairs with the grid as their query."""
        evaluation = super().evaluation(split, role, n_support, device)
        if role == "target":
            numbers, moments = _chosen_pairs(SyntheticProblem(**asdict(self)), split, n_support)
            grid = torch.tensor(np.stack([ratio_grid(each) for each in moments]), dtype=torch.float32)[..., None]
            support = evaluation.episode.support
            evaluation.episode = Episode(
                Pair(support.nu[numbers], support.de[numbers]), Pair(*grid.split(grid.shape[1] // 2, 1))
            )
        return evaluation


def _chosen_pairs(
    problem: SyntheticProblem, split: Split, n_support: int
) -> tuple[list[int], list[tuple[float, float, float, float]]]:
    """Choose four target pairs by the truth and not by anyone's result; give their numbers and their moments."""
    evaluation = problem.evaluation(split, "target", n_support, torch.device("cpu"))
    family = problem.family(split.number, "target")
    truth = TrueRatios(family)(evaluation.tasks, evaluation.episode, _ALPHA)
    numbers = spread(RelativeSquaredError(_ALPHA)(truth, evaluation.episode.query.shares.double()).tolist())
    moments = np.stack([family.means, family.stds], axis=-1)[evaluation.tasks[numbers]]
    return numbers, moments.reshape(-1, 4).tolist()


def _rounded(values: torch.Tensor) -> list[float]:
    return [round(value, _DIGITS) for value in values.double().tolist()]
