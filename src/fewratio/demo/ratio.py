"""The ratio demo: train on the synthetic family, compare with RuLSIF and the truth, draw four unseen pairs."""

from itertools import product
from pathlib import Path

import numpy as np

from fewratio.data.sources.gaussian import gaussian_family
from fewratio.demo.curves import DrawnPair, choose_pairs, draw_pairs, ratio_grid
from fewratio.estimators import MetaRatioEstimator, RatioEstimator, RuLSIF
from fewratio.estimators.networks import Pairs, Training
from fewratio.estimators.networks.optim import History
from fewratio.estimators.quantities import gaussian_relative_ratio, relative_squared_error

N_SOURCES, N_VALIDATION, N_TARGETS, N_SUPPORT = 600, 10, 20, 10
PICTURES = ("ratio.png", "ratio.svg")


def run_ratio_demo(folder: Path, steps: int, seed: int) -> tuple[dict[str, float], History]:
    """Train, compare all pairs of the target datasets, and draw four of them.

    Parameters
    ----------
    folder : Path
        An existing folder for `PICTURES`.
    steps : int
        Training steps.
    seed : int
        Seed of data and training.

    Returns
    -------
    (dict, History)
        The mean regret to the true ratio by method, and the history of the training.
    """
    rng = np.random.default_rng(seed)
    sources, validation, targets = (gaussian_family(n, random_state=rng) for n in (N_SOURCES, N_VALIDATION, N_TARGETS))
    learned = MetaRatioEstimator(
        episodes=Pairs(n_support=N_SUPPORT), training=Training(max_steps=steps), random_state=seed
    )
    learned.pretrain(sources.collection, validation.collection)
    methods: dict[str, RatioEstimator] = {"meta-learned": learned, "RuLSIF": RuLSIF()}
    samples, means, stds = [dataset.X for dataset in targets.collection], targets.means, targets.stds
    pairs, best, regrets = [], [], []
    for i, j in product(range(N_TARGETS), repeat=2):
        moments = (means[i], stds[i], means[j], stds[j])
        # The instances of a dataset that is paired with itself do not overlap.
        nu, de = samples[i][:N_SUPPORT], samples[j][-N_SUPPORT:]
        unseen = [sample[N_SUPPORT:-N_SUPPORT] for sample in (samples[i], samples[j])]
        fitted = {name: method.fit(nu, de) for name, method in methods.items()}
        true_nu, true_de = (gaussian_relative_ratio(x, *moments) for x in unseen)
        best.append(relative_squared_error(true_nu, true_de))
        errors = [relative_squared_error(each.predict(unseen[0]), each.predict(unseen[1])) for each in fitted.values()]
        regrets.append(np.array(errors) - best[-1])
        curves = {name: method.predict(ratio_grid(moments)[:, None]) for name, method in fitted.items()}
        pairs.append(DrawnPair(moments, nu[:, 0], de[:, 0], curves))
    # Chosen by the truth and not by anyone's result.
    drawn = [pairs[number] for number in choose_pairs(best)]
    picture = draw_pairs(drawn, "Relative density ratio of four unseen pairs, ten instances each")
    for name in PICTURES:
        picture.save(folder / name)
    return dict(zip(methods, np.mean(regrets, axis=0).tolist(), strict=True)), learned.history_
