"""The members of `AutoRatioEstimator` that had the best ratios in the benchmark."""

from fewratio.estimators.closed_form.discriminant import DiscriminantRatioEstimator
from fewratio.estimators.networks.meta import MetaRatioEstimator
from fewratio.estimators.networks.settings import Architecture


def make_best_members(
    networks: MetaRatioEstimator | None = None, *, n_draws: int = 4, n_components: int = 4096, random_state: int = 0
) -> list[MetaRatioEstimator | DiscriminantRatioEstimator]:
    """Make networks, and closed-form estimators with different random features.

    Parameters
    ----------
    networks : MetaRatioEstimator, optional
        The networks; by default two with mlp features and two with relational features.
    n_draws, n_components : int
        Number of closed-form estimators, and number of random features of each.
    random_state : int
        Seed of the first draw, and of the default networks.

    Examples
    --------
    >>> from fewratio import AutoRatioEstimator
    >>> from fewratio.estimators import make_best_members
    >>> estimator = AutoRatioEstimator(members=make_best_members(n_draws=2))
    >>> len(estimator.members)
    3
    """
    if networks is None:
        networks = MetaRatioEstimator(
            network=Architecture("both", n_networks=2), scale="columns", random_state=random_state
        )
    draws = [
        DiscriminantRatioEstimator(
            features="cosines", n_components=n_components, scale=networks.scale, random_state=random_state + draw
        )
        for draw in range(n_draws)
    ]
    return [networks, *draws]
