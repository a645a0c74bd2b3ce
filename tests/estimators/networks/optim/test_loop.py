"""The training loop: what it records, which weights it leaves, and going on after an interruption."""

import math
import os
import signal
from dataclasses import replace

import pytest
import torch

from fewratio.core.container import read_tensors, write_tensors
from fewratio.core.objectives import RelativeSquaredError
from fewratio.errors import ModelFileError
from fewratio.estimators.networks.optim import Ensemble, TrainingPlan, train, train_in_stages
from fewratio.estimators.networks.optim.stopping import standard_error
from tests.strategies import training_parts, weights_of

PLAN = TrainingPlan(max_steps=10, validate_every=4, learning_rate=1e-2)


def run(plan=PLAN, members=(0,), objective=None, wrap=None, averaging=0.0, **options):
    """Train fresh members; ``wrap`` may come between the loop and its draws. Gives weights and histories."""
    parts = training_parts(members, **options)
    draw = parts.draw if wrap is None else wrap(parts.draw)
    ensemble = Ensemble(parts.models, averaging=averaging)
    histories = train(ensemble, draw, parts.validation, objective or RelativeSquaredError(), plan)
    return weights_of(parts.models), histories


def noting_steps(steps):
    def wrap(draw):
        def draw_and_note(step):
            steps.append(int(step))
            return draw(step)

        return draw_and_note

    return wrap


class Watching:
    """The squared error, keeping what it gave for training and for validation."""

    def __init__(self):
        self.training, self.validation = [], []

    def __call__(self, ratio, shares):
        losses = RelativeSquaredError()(ratio, shares)
        (self.training if torch.is_grad_enabled() else self.validation).append(losses.detach())
        return losses


class Scripted:
    """The squared error in training; in validation these values, one row per validation, one column per member.

    All validation episodes fit in one batch here, so a validation is one call.
    """

    def __init__(self, validations):
        self.validations = iter(validations)

    def __call__(self, ratio, shares):
        if torch.is_grad_enabled():
            return RelativeSquaredError()(ratio, shares)
        values = torch.tensor(next(self.validations), dtype=torch.float64)
        return values.unsqueeze(-1).expand(ratio.shape[:-1])


def assert_equal(left, right):
    for mine, other in zip(left, right, strict=True):
        assert all(torch.equal(mine[name], other[name]) for name in mine)


def record_of(history):
    return {name: value for name, value in history.to_dict().items() if name != "seconds"}


# ---------------------------------------------------------------- records


@pytest.mark.parametrize("members", [[0], [0, 1]])
def test_history_holds_what_happened(members):
    watch = Watching()
    _, histories = run(members=members, objective=watch, tasks_per_batch=32)
    tasks = training_parts(members).validation.tasks
    # Five datasets and two draws give 50 tasks, in batches of 32 or, two members at a time, of 16.
    n_batches = len(watch.validation) // 3
    assert n_batches == (2 if len(members) == 1 else 4)
    assert len(watch.training) == PLAN.max_steps
    for member, history in enumerate(histories):
        assert history.step == [4, 8, 10], "there is a validation after the last step too"
        means = torch.stack([losses[member].mean() for losses in watch.training])
        expected = [float(means[a:b].mean()) for a, b in ((0, 4), (4, 8), (8, 10))]
        assert history.train == pytest.approx(expected, rel=1e-6)  # summed in float32
        for number in range(3):
            batches = watch.validation[number * n_batches : (number + 1) * n_batches]
            losses = torch.cat([batch[member] for batch in batches])
            assert len(losses) == 50
            assert history.validation[number] == pytest.approx(float(losses.mean()), rel=1e-12)
            error = standard_error(losses[None].double(), torch.as_tensor(tasks[member : member + 1]))
            assert history.standard_error[number] == pytest.approx(error.item(), rel=1e-9)
        best = min(range(3), key=history.validation.__getitem__)
        assert history.best_step == history.step[best]
        assert history.best_validation == history.validation[best]
        assert history.best_standard_error == history.standard_error[best]
        assert history.stopped == "max_steps"
        assert history.seconds > 0


def test_training_lowers_the_loss():
    _, (history,) = run(replace(PLAN, max_steps=60, validate_every=30), members=[1])
    assert history.validation[1] < history.validation[0]
    # Two, not three: the standard error is that of the datasets' means, not of episodes taken as independent.
    assert history.validation[1] < -0.5 - 2 * history.standard_error[1], "better than a ratio of one everywhere"


def test_no_global_random_state_is_used():
    before = torch.get_rng_state()
    first, _ = run()
    assert torch.equal(torch.get_rng_state(), before)
    with torch.random.fork_rng():
        torch.manual_seed(99)
        again, _ = run()
    assert_equal(first, again)


# ---------------------------------------------------------------- the best validation


def weights_after(n_steps, members=(0,)):
    """Weights after so many steps, whatever they are worth."""
    return run(replace(PLAN, max_steps=n_steps, validate_every=n_steps), members)[0]


def test_the_weights_of_the_best_validation_are_left():
    weights, (history,) = run(objective=Scripted([[3.0], [1.0], [2.0]]))
    assert history.best_step == 8
    assert_equal(weights, weights_after(8))


def test_each_member_has_its_own_best_validation():
    members = [0, 1, 2]
    validations = [[1.0, 3.0, 3.0], [2.0, 1.0, 2.0], [3.0, 2.0, 1.0]]
    weights, histories = run(members=members, objective=Scripted(validations))
    assert [history.best_step for history in histories] == [4, 8, 10]
    for member, n_steps in enumerate([4, 8, 10]):
        assert_equal([weights[member]], [weights_after(n_steps, members)[member]])


@pytest.mark.parametrize(
    ("validations", "best_step"),
    [([math.nan, 2.0, math.nan], 8), ([2.0, math.nan, 3.0], 4), ([math.nan] * 3, 0)],
)
def test_a_validation_that_gives_nan_is_never_kept(validations, best_step):
    weights, (history,) = run(objective=Scripted([[validation] for validation in validations]))
    assert history.best_step == best_step
    expected = weights_after(best_step) if best_step else weights_of(training_parts().models)
    assert_equal(weights, expected)


def test_a_training_that_diverges_leaves_the_last_good_weights():
    def poisoned(draw):
        def draw_nan(step):
            episode = draw(step)
            if int(step) == 5:
                episode.query.rows.fill_(math.nan)
            return episode

        return draw_nan

    weights, (history,) = run(wrap=poisoned)
    assert history.best_step == 4
    assert math.isnan(history.validation[-1])
    assert_equal(weights, weights_after(4))


def test_patience_ends_the_training():
    steps = []
    validations = Scripted([[2.0], [1.0], [1.5], [1.5], [0.0]])
    weights, (history,) = run(replace(PLAN, max_steps=40, patience=2), objective=validations, wrap=noting_steps(steps))
    assert history.stopped == "patience"
    assert history.step == [4, 8, 12, 16]
    assert steps == list(range(16))
    assert_equal(weights, weights_after(8))


@pytest.mark.parametrize("members", [[0], [0, 1]])
def test_a_running_average_of_the_weights_is_judged_and_kept(members):
    decay, n = 0.7, 8
    watch, average = Watching(), None
    averaged, histories = run(replace(PLAN, max_steps=n, validate_every=n), members, watch, averaging=decay)
    for step in range(1, n + 1):
        now = weights_after(step, members)
        # A plain mean of the first three, then a decaying one.
        share = max(1 / step, 1 - decay)
        average = (
            now
            if average is None
            else [
                {name: (1 - share) * old[name] + share * new[name] for name in new}
                for old, new in zip(average, now, strict=True)
            ]
        )
    # The share is computed in float32.
    torch.testing.assert_close(averaged, average, rtol=1e-6, atol=1e-8)
    parts = training_parts(members)
    for model, weights in zip(parts.models, averaged, strict=True):
        model.load_state_dict(weights)
    (episode,) = parts.validation.batches()
    losses = RelativeSquaredError()(Ensemble(parts.models)(episode), episode.query.shares)
    assert [history.best_validation for history in histories] == pytest.approx(losses.mean(-1).tolist(), rel=1e-9)


def test_weight_decay_takes_a_share_of_each_weight_matrix():
    start = weights_of(training_parts().models)
    plain, decayed = (run(replace(PLAN, max_steps=1, validate_every=1, weight_decay=decay))[0] for decay in (0.0, 0.5))
    for name, before in start[0].items():
        expected = plain[0][name] - (1e-2 * 0.5 * before if before.dim() == 2 else 0)
        torch.testing.assert_close(decayed[0][name], expected, rtol=1e-9, atol=1e-12)


class OnEpisode(Watching):
    """In training twice the squared error, of the episode; in validation the squared error, of the query's shares."""

    def on(self, ratio, episode):
        return 2 * self(ratio, episode.query.shares)


def test_an_objective_of_episodes_trains_and_its_plain_loss_validates():
    watch = OnEpisode()
    _, (history,) = run(replace(PLAN, max_steps=4), objective=watch)
    assert history.train == pytest.approx([2 * torch.stack(watch.training).mean().item()], rel=1e-5)
    assert history.validation == pytest.approx([watch.validation[0].mean().item()], rel=1e-9)


# ---------------------------------------------------------------- interruption and going on


@pytest.fixture
def outside_handler():
    """A handler of Ctrl-C to find again afterwards; it also keeps a stray one from ending the test run."""

    def handler(number, frame):
        raise AssertionError("Ctrl-C reached the handler outside the training")

    previous = signal.signal(signal.SIGINT, handler)
    yield handler
    signal.signal(signal.SIGINT, previous)


def pressing_ctrl_c(at):
    def wrap(draw):
        def draw_and_press(step):
            if int(step) == at:
                os.kill(os.getpid(), signal.SIGINT)
            return draw(step)

        return draw_and_press

    return wrap


def crashing(at):
    def wrap(draw):
        def draw_or_crash(step):
            if int(step) == at:
                raise RuntimeError("power cut")
            return draw(step)

        return draw_or_crash

    return wrap


def test_ctrl_c_ends_after_the_step_and_keeps_the_best_so_far(outside_handler):
    weights, (history,) = run(objective=Scripted([[1.0], [2.0]]), wrap=pressing_ctrl_c(at=5))
    assert history.stopped == "interrupted"
    assert history.step == [4, 6], "step 5 was the sixth; it was finished and judged"
    assert_equal(weights, weights_after(4))
    assert signal.getsignal(signal.SIGINT) is outside_handler


def test_an_error_in_a_step_puts_the_handler_back(outside_handler):
    with pytest.raises(RuntimeError, match="power cut"):
        run(wrap=crashing(at=3))
    assert signal.getsignal(signal.SIGINT) is outside_handler


@pytest.mark.parametrize(
    ("options", "n_first"),
    [
        *[(options, n_first) for options in ({}, {"members": [0, 1], "averaging": 0.7}) for n_first in (7, 8)],
        ({"members": [0, 1, 2]}, 7),
        ({"averaging": 0.7}, 7),
    ],
    ids=str,
)
@pytest.mark.slow
@pytest.mark.parametrize("how", ["steps", "ctrl-c", "crash"])
def test_a_resumed_training_is_bit_identical_to_one_that_never_stopped(
    tmp_path, outside_handler, options, n_first, how
):
    """After 8 steps, where it is validated, and off that beat."""
    plan = replace(PLAN, max_steps=14, checkpoint=tmp_path / "checkpoint", identity="this")
    if how == "steps":
        run(replace(plan, max_steps=n_first), **options)
    elif how == "ctrl-c":
        run(plan, wrap=pressing_ctrl_c(at=n_first - 1), **options)
    else:
        # Only the checkpoints written at validations are there.
        with pytest.raises(RuntimeError, match="power cut"):
            run(replace(plan, checkpoint_seconds=-1), wrap=crashing(at=n_first), **options)
    step = read_tensors(plan.checkpoint, "checkpoint")[1]["step"]
    assert step == (n_first if how != "crash" else n_first // 4 * 4)

    drawn = []
    resumed, histories = run(plan, wrap=noting_steps(drawn), **options)
    assert drawn == list(range(step, 14))
    straight, expected = run(replace(plan, checkpoint=None), **options)
    assert_equal(resumed, straight)
    assert list(map(record_of, histories)) == list(map(record_of, expected))


def test_a_finished_training_is_not_done_again(tmp_path):
    plan = replace(PLAN, checkpoint=tmp_path / "checkpoint")
    first, histories = run(plan)
    again, same = run(plan, wrap=crashing(at=0))
    assert_equal(first, again)
    assert list(map(record_of, histories)) == list(map(record_of, same))


def test_time_of_all_parts_is_added_up(tmp_path):
    plan = replace(PLAN, max_steps=4, checkpoint=tmp_path / "checkpoint")
    run(plan)
    tensors, header = read_tensors(plan.checkpoint, "checkpoint")
    write_tensors(plan.checkpoint, "checkpoint", tensors, header | {"seconds": 1000.0})
    _, (history,) = run(plan)
    assert history.seconds > 1000


def test_checkpoint_of_another_training_is_refused(tmp_path):
    plan = replace(PLAN, checkpoint=tmp_path / "checkpoint", identity="this")
    run(plan)
    before = plan.checkpoint.read_bytes()
    with pytest.raises(ModelFileError, match=r"checkpoint of a training with other data or settings.*[Dd]elete"):
        run(replace(plan, identity="that"))
    assert plan.checkpoint.read_bytes() == before


def test_a_file_that_is_no_checkpoint_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "model"
    write_tensors(path, "model", {}, {})
    before = path.read_bytes()
    with pytest.raises(ModelFileError, match="a checkpoint is needed"):
        run(replace(PLAN, checkpoint=path))
    assert path.read_bytes() == before


# ---------------------------------------------------------------- stages


@pytest.mark.parametrize("members", [[0], [0, 1]])
def test_stages_are_the_same_steps_as_one_training(members):
    """After n steps in stages the weights judge an episode as those of a training of n steps do."""
    objective = RelativeSquaredError()
    staged = training_parts(members)
    ensemble = Ensemble(staged.models)
    episode = next(iter(staged.validation.batches()))
    seen = {}
    for stage in train_in_stages(ensemble, staged.draw, objective, (0, 2, 5), PLAN.learning_rate):
        seen[stage] = ensemble.evaluate(episode).detach().clone()
    assert list(seen) == [0, 2, 5]
    for stage in (2, 5):
        plain = training_parts(members)
        other = Ensemble(plain.models)
        train(other, plain.draw, plain.validation, objective, replace(PLAN, max_steps=stage, validate_every=stage))
        torch.testing.assert_close(seen[stage], other.evaluate(episode))
    assert not torch.equal(seen[0], seen[2])


# ---------------------------------------------------------------- weight decay


class Nothing:
    """A loss with no slope anywhere."""

    def __call__(self, ratio, shares):
        return 0 * ratio.sum(-1)


@pytest.mark.parametrize("n_members", [1, 3])
@pytest.mark.parametrize("decay", [0.3, 3.0])
def test_weight_matrices_decay_and_nothing_else(n_members, decay):
    """A learned alpha of 0.1 once drifted to 0.116 in 1000 steps at a decay of 0.3, and to 0.265 at 3."""
    parts = training_parts(range(n_members), name="learned alpha")
    for model in parts.models:
        model.head.logit_alpha.data.fill_(math.log(0.1 / 0.9))
    before = [{name: value.clone() for name, value in model.named_parameters()} for model in parts.models]
    plan = TrainingPlan(max_steps=20, validate_every=20, learning_rate=0.01, weight_decay=decay)
    ensemble = Ensemble(parts.models)
    train(ensemble, parts.draw, parts.validation, Nothing(), plan)
    # Only a lone model is trained in place.
    now = {name.removeprefix("now/"): value for name, value in ensemble.state().items() if name.startswith("now/")}
    for member, weights in enumerate(before):
        for name, value in weights.items():
            found = now[name][member] if n_members > 1 else now[name]
            factor = (1 - 0.01 * decay) ** 20 if value.dim() == 2 else 1
            torch.testing.assert_close(found, factor * value, msg=name)
    alphas = torch.as_tensor(now["head.logit_alpha"]).sigmoid()
    assert (alphas - 0.1).abs().max() < 1e-7
