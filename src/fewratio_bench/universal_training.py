"""How the universal network is trained: on random pairs of distributions, in stages, then its intervals."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from fewratio.core.draws import seed_for
from fewratio.core.objectives import RelativeSquaredError, shares_of_expectations, weighted_squared_error
from fewratio.core.shapes import Float
from fewratio.core.true_ratio import true_ratio
from fewratio.estimators.networks.nn import RatioModel
from fewratio.estimators.networks.nn.intervals import QUANTILES, Intervals
from fewratio.estimators.networks.optim import Ensemble, History, Processes, TrainingPlan, train
from fewratio.estimators.networks.pair import Episode, Pair
from fewratio.estimators.networks.training.episodes import EpisodeSampler, SupportSize
from fewratio.estimators.networks.universal import ALPHAS, make_intervals, universal_model
from fewratio_bench.prior import RELATIONS, SHAPES, PriorPairs, draw_pairs

# Kinds of pairs that the network is never trained on, to see how it does on kinds that are new to it.
HELD_OUT_SHAPE = "warped"
HELD_OUT_RELATION = "subset"
TRAINED_SHAPES = tuple(name for name in SHAPES if name != HELD_OUT_SHAPE)
TRAINED_RELATIONS = tuple(name for name in RELATIONS if name != HELD_OUT_RELATION)

_AVERAGING = 0.999
_N_VALIDATION = 1000
_VALIDATION_STEPS = 16
_N_EVALUATED = 32  # query rows per sample at which an interval of the ratio is trained


@dataclass(frozen=True)
class Stage:
    """One stretch of the training.

    Attributes
    ----------
    steps : int
        Number of steps.
    learning_rate : float
        Adam's.
    largest : int
        Size of a sample at most; small ones are the more frequent, the larger ``skew`` is.
    skew : float
        1 if all sizes are as frequent.
    tasks : int
        Pairs per step.
    n_query : int
        Instances drawn per side; the ratio is evaluated on those that are not in the sample.
    """

    steps: int
    learning_rate: float
    largest: int = 10
    skew: float = 1.0
    tasks: int = 128
    n_query: int = 48


# Small samples first, at a falling rate; then some large ones among them.
STAGES = (
    Stage(14_000, 1e-3, largest=12),
    Stage(6_000, 3e-4, largest=12),
    Stage(4_000, 2e-4, largest=128, skew=3.0, tasks=16, n_query=160),
)
INTERVALS = (
    Stage(4_500, 1e-3, largest=160, skew=3.0, tasks=48, n_query=400),
    Stage(2_000, 2e-4, largest=160, skew=3.0, tasks=48, n_query=400),
)


@dataclass(frozen=True)
class Bank:
    """Pairs to train on: how many, and how many instances of each side."""

    n_pairs: int = 16_384
    n_instances: int = 192
    max_columns: int = 256


BANK = Bank()
# Pairs that the network has not seen, with more instances: many for the true divergence beside those of large samples.
INTERVAL_BANK = Bank(32_768, 400)


def train_universal(
    seed: int = 0,
    device: str = "cpu",
    stages: Sequence[Stage] = STAGES,
    bank: Bank = BANK,
    progress: bool | None = None,
    checkpoint: str | None = None,
) -> tuple[RatioModel, list[History]]:
    """Train the universal network, but for its intervals.

    Parameters
    ----------
    seed : int
        Random seed.
    device : str
        Where to train; a GPU needs some minutes.
    stages : sequence of Stage
        How long, and on what sizes.
    bank : Bank
        What to draw from the prior.
    progress : bool, optional
        Whether to show progress bars; by default on a terminal.
    checkpoint : str, optional
        Where each stage keeps its state, to be resumed from: the start of file names.

    Returns
    -------
    (RatioModel, list of History)
        The network, and how each stage went.
    """
    part = Processes.from_launch().part
    pairs, others = _draw(bank, seed, device, "practice", "validation")
    model = universal_model(torch.Generator().manual_seed(seed))
    model.scaler = _WithoutTruth()
    histories: list[History] = []
    for number, stage in enumerate(stages):
        draw = _sampler(pairs, stage, seed_for("universal", number, seed), part=part)
        held_out = _sampler(others, stage, seed, alphas=(0.5, 0.5))
        plan = _plan(stage, progress, checkpoint, f"ratio.{number}", seed, stages, bank)
        ensemble = Ensemble([model], device, _AVERAGING)
        histories += train(ensemble, draw, _Fixed(held_out), InformedSquaredError(), plan)
    model.scaler = nn.Identity()
    return model, histories


def train_intervals(
    model: RatioModel,
    seed: int = 0,
    device: str = "cpu",
    stages: Sequence[Stage] = INTERVALS,
    bank: Bank = INTERVAL_BANK,
    progress: bool | None = None,
    checkpoint: str | None = None,
) -> tuple[Intervals, list[History]]:
    """Train the intervals of a trained universal network, which stays as it is; parameters as in `train_universal`."""
    part = Processes.from_launch().part
    pairs, others = _draw(bank, seed, device, "intervals", "validation of intervals")
    intervals = make_intervals(torch.Generator().manual_seed(seed))
    histories: list[History] = []
    for number, stage in enumerate(stages):
        module = IntervalLoss(model, intervals, min(_N_EVALUATED, stage.n_query - stage.largest))
        draw = _sampler(pairs, stage, seed_for("intervals", number, seed), known=True, part=part)
        held_out = _sampler(others, stage, seed, known=True)
        # What torch takes for these ridge solves cannot be captured, and steps as long as these gain nothing by it.
        plan = _plan(stage, progress, checkpoint, f"intervals.{number}", seed, stages, bank)
        plan = replace(plan, capture=False)
        histories += train(Ensemble([module], device, _AVERAGING), draw, _Fixed(held_out), mean_loss, plan)
    return intervals, histories


def _draw(bank: Bank, seed: int, device: str, *roles: str) -> list[PriorPairs]:
    """Draw pairs to train on and pairs to validate on."""
    counts = bank.n_pairs, min(bank.n_pairs, _N_VALIDATION)
    kinds = {"relations": TRAINED_RELATIONS, "shapes": TRAINED_SHAPES}
    return [
        draw_pairs(count, bank.n_instances, bank.max_columns, seed_for("prior", role, seed), device, **kinds)
        for count, role in zip(counts, roles, strict=True)
    ]


def _plan(stage: Stage, progress: bool | None, checkpoint: str | None, name: str, *settings: object) -> TrainingPlan:
    return TrainingPlan(
        stage.steps,
        stage.learning_rate,
        validate_every=min(500, stage.steps),
        show_progress=progress,
        checkpoint=None if checkpoint is None else f"{checkpoint}.{name}",
        identity=repr((name, *settings)),
    )


def _sampler(
    pairs: PriorPairs,
    stage: Stage,
    seed: int,
    known: bool = False,
    alphas: tuple[float, float] = ALPHAS,
    part: slice = slice(None),
) -> EpisodeSampler:
    size = SupportSize(1, stage.largest)
    chosen = pairs.with_truth() if known else None
    return EpisodeSampler(
        pairs.table_with_truth(),
        [pairs.pools(chosen)],
        [seed],
        [(size, size)],
        n_query=stage.n_query,
        tasks_per_step=stage.tasks,
        held_out=(True, True),
        alphas=alphas,
        skew=stage.skew,
        part=part,
    )


class _WithoutTruth(nn.Module):
    """Hides from the network what is there for the loss: the last column."""

    def forward(self, rows: Tensor) -> Tensor:
        return rows[..., :-1]


class _Fixed:
    """The first steps of a sampler, the same every time."""

    tasks = None

    def __init__(self, draw: EpisodeSampler) -> None:
        self._draw = draw

    def batches(self) -> Iterable[Episode]:
        """Return the episodes."""
        return (self._draw(torch.tensor(step, device=self._draw.device)) for step in range(_VALIDATION_STEPS))


class InformedSquaredError:
    """Eq. 8 times 2 alpha, so that all alphas count alike, for training on pairs whose true ratio r* is known.

    ``mean_nu r`` is the mean of ``r* r`` over the mixture of both: the same in expectation, but whatever instances were
    drawn, it is r* itself that is best. The last column of the rows is the true log-ratio; where it is NaN the
    numerator's instances count.
    """

    def __call__(self, ratio: Tensor, shares: Tensor) -> Tensor:
        """Return the loss for each task at alpha = 0.5, from the instances alone."""
        return RelativeSquaredError(0.5)(ratio, shares)

    def on(self, ratio: Tensor, episode: Episode) -> Tensor:
        """Return the loss for tasks that each have an alpha."""
        assert episode.alpha is not None
        share_nu, mixture = shares_of_expectations(episode.query.shares, episode.alpha)
        truth = true_ratio(episode.query.rows[..., -1], episode.alpha)
        numerator = torch.where(truth.isnan(), share_nu, mixture * truth.nan_to_num())
        return 2 * episode.alpha * weighted_squared_error(ratio, numerator, mixture)


def true_divergence(
    truth: Float[Tensor, "... n"], shares: Float[Tensor, "... 2 n"], alpha: Float[Tensor, "..."]
) -> Float[Tensor, "..."]:
    """Return the relative Pearson divergence of each task from true ratios: half the mixture's mean of (r - 1)^2.

    Other forms are equal in expectation, but this one is never negative, and has the least noise if the two
    distributions are nearly equal.
    """
    _, mixture = shares_of_expectations(shares, alpha)
    return 0.5 * (mixture * (truth - 1).square()).sum(-1)


def mean_loss(value: Float[Tensor, "... n"], shares: Tensor) -> Float[Tensor, "..."]:
    """Return each task's loss: the mean of what a model of losses gives."""
    return value.mean(-1)


class IntervalLoss(nn.Module):
    """Trains `Intervals`: gives the quantile loss at query rows; the last column of the rows is the true log-ratio.

    Parameters
    ----------
    model : RatioModel
        The trained model; it is frozen.
    intervals : Intervals
        What is trained.
    n_rows : int
        At how many query rows of either sample to evaluate the ratio: the last ones, which must be in no support. All
        that are in none count for the divergence.
    """

    levels: Tensor

    def __init__(self, model: RatioModel, intervals: Intervals, n_rows: int) -> None:
        super().__init__()
        self.model = model.requires_grad_(False)
        self.intervals = intervals
        self.n_rows = n_rows
        self.register_buffer("levels", torch.tensor(QUANTILES), persistent=False)

    def forward(self, episode: Episode) -> Tensor:
        """Return the loss of ratio and divergence, the latter once per row."""
        support, query, alpha = episode.support, episode.query, episode.alpha
        assert alpha is not None
        rows = torch.cat([query.nu[..., -self.n_rows :, :], query.de[..., -self.n_rows :, :]], dim=-2)
        # All of this is frozen, so no graph is kept; under `no_grad` it would be computed in many small blocks.
        ratio = self.model.adapt(Pair.from_joined(support.rows[..., :-1], support.shares, support.n_nu), alpha)
        phi = self.model.features(rows[..., :-1], ratio.support, ratio.z)
        truth = true_ratio(rows[..., -1], alpha)
        divergence = true_divergence(true_ratio(query.rows[..., -1], alpha), query.shares, alpha)
        # So that all alphas count alike.
        scale = 2 * alpha.unsqueeze(-1)
        of_rows = self._pinball(self.intervals.ratio_quantiles(ratio, phi), truth)
        of_pair = self._pinball(self.intervals.divergence_quantiles(ratio), divergence)
        return scale * (of_rows + of_pair.unsqueeze(-1))

    def _pinball(self, quantiles: Tensor, truth: Tensor) -> Tensor:
        error = truth.unsqueeze(-1) - quantiles
        return torch.maximum(self.levels * error, (self.levels - 1) * error).mean(-1)
