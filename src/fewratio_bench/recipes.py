"""Methods as rows of parts and settings; each knows how to make its models for some splits."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from fewratio.data.seeds import seed_for
from fewratio.estimators import MetaRatioEstimator, pretrain_together
from fewratio.nn import GaussianFeatures, NoEncoder, RatioModel, RidgeHead
from fewratio_bench.problems import SyntheticProblem, SyntheticSplit


@dataclass(frozen=True)
class Fitted:
    """Models of one method at one setting: one a split, with the seed of each and the time that learning one took."""

    parameters: dict[str, Any]
    models: list[RatioModel]
    seeds: list[int]
    seconds: float


@dataclass(frozen=True)
class Bench:
    """Where and how to run: device, a folder for checkpoints, progress bar or not."""

    device: str
    folder: Path
    progress: bool | None = None


class Method(Protocol):
    """A row of a table."""

    @property
    def name(self) -> str:
        """Name in our tables."""

    @property
    def published(self) -> str | None:
        """Name in the paper's tables."""

    def parameters(self, problem: SyntheticProblem) -> list[dict[str, Any]]:
        """Give the settings of the method's grid, as records hold them."""

    def fit(self, problem: SyntheticProblem, splits: Sequence[SyntheticSplit], bench: Bench) -> Iterator[Fitted]:
        """Give the models for each setting of the method's grid."""


@dataclass(frozen=True)
class Learned:
    """Learns from the sources: `MetaRatioEstimator` with these settings, all splits as one ensemble."""

    name: str
    published: str | None
    settings: dict[str, Any] = field(default_factory=dict)

    def parameters(self, problem: SyntheticProblem) -> list[dict[str, Any]]:
        """Give the one setting, defaults written out."""
        settings: dict[str, Any] = self._estimator(problem).get_params()
        return [{name: value for name, value in settings.items() if name not in ("random_state", "device", "progress")}]

    def _estimator(self, problem: SyntheticProblem, **circumstances: Any) -> MetaRatioEstimator:
        return MetaRatioEstimator(problem.alpha, n_support=problem.n_support, **circumstances, **self.settings)

    def fit(self, problem: SyntheticProblem, splits: Sequence[SyntheticSplit], bench: Bench) -> Iterator[Fitted]:
        """Train one model a split."""
        seeds = [seed_for(problem.name, problem.data, split.number, self.name) for split in splits]
        estimators = [
            self._estimator(problem, random_state=seed, device=bench.device, progress=bench.progress) for seed in seeds
        ]
        # A run that is cut off goes on from here. Needs safetensors, which a bare machine may lack.
        checkpoint = bench.folder / f".{seed_for(self.name):x}.checkpoint" if find_spec("safetensors") else None
        sources = [split.source.collection for split in splits]
        validations = [split.validation.collection for split in splits]
        pretrain_together(estimators, sources, validations, checkpoint=checkpoint)
        histories = [estimator.history_ for estimator in estimators]
        if any(history.stopped == "interrupted" for history in histories):
            # The checkpoint stays, and a half-trained model is not measured as if it were done.
            raise KeyboardInterrupt
        seconds = histories[0].seconds / len(splits)
        yield Fitted(self.parameters(problem)[0], [estimator.model_ for estimator in estimators], seeds, seconds)
        if checkpoint is not None:
            checkpoint.unlink(missing_ok=True)


@dataclass(frozen=True)
class Kernel:
    """RuLSIF, put together from the parts so that all pairs are solved at once; knows only the target."""

    name: str
    published: str | None
    clip: str
    regs: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)

    def parameters(self, problem: SyntheticProblem) -> list[dict[str, Any]]:
        """Give one setting for each value of lambda."""
        return [{"alpha": problem.alpha, "reg": reg, "clip": self.clip} for reg in self.regs]

    def fit(self, problem: SyntheticProblem, splits: Sequence[SyntheticSplit], bench: Bench) -> Iterator[Fitted]:
        """Give one model for each value of lambda; it has nothing to learn beforehand."""
        for parameters in self.parameters(problem):
            head = RidgeHead(parameters["alpha"], parameters["reg"], learn_reg=False)
            model = RatioModel(NoEncoder(), GaussianFeatures(), head, self.clip)
            yield Fitted(parameters, [model] * len(splits), [0] * len(splits), 0.0)


# The paper does not say how often it looks at the validation data. It has three validation datasets here: where they
# happen to be alike, a model of a hundred steps that says "the ratio is 1" looks best to them, so not too often.
PAPER_RECIPE = {"clip": "weights", "tasks_per_step": 1, "averaging": 0.0, "validate_every": 500, "max_steps": 10_000}

SYNTHETIC: tuple[Method, ...] = (
    Learned("Ours, the paper's recipe", "Ours", PAPER_RECIPE),
    Learned("Ours, fewratio's defaults", None),
    Kernel("RuLSIF, weights clipped", "RuLSIF", clip="weights"),
    Kernel("RuLSIF, ratio clipped", None, clip="ratio"),
)
