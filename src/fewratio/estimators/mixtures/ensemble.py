"""Several estimators that learn from related datasets, and the mean of their ratios."""

import os
from collections import Counter
from collections.abc import Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from fewratio.core.arrays import equal_shares
from fewratio.core.container import Arrays
from fewratio.core.divergence import relative_pearson_divergence
from fewratio.core.shapes import Floats, Numbers
from fewratio.data.collection import Collection
from fewratio.errors import ParameterError
from fewratio.estimators.closed_form.discriminant import DiscriminantRatioEstimator
from fewratio.estimators.learned_file import LearnedEstimator, joined, part_of
from fewratio.estimators.networks.members import Network
from fewratio.estimators.networks.meta import MetaRatioEstimator
from fewratio.estimators.networks.optim import History
from fewratio.estimators.networks.settings import Architecture
from fewratio.estimators.parameters import common

Member = MetaRatioEstimator | DiscriminantRatioEstimator
_KINDS: dict[str, type[Member]] = {kind.__name__: kind for kind in (MetaRatioEstimator, DiscriminantRatioEstimator)}


def best_members(
    networks: MetaRatioEstimator | None = None, n_draws: int = 4, n_components: int = 4096, random_state: int = 0
) -> list[Member]:
    """Give the members that did best in the benchmark: networks, and the closed form with several draws of features.

    Parameters
    ----------
    networks : MetaRatioEstimator, optional
        The networks; by default two of instances and two of distances.
    n_draws, n_components : int
        Number of estimators in closed form, and of the random features of each.
    random_state : int
        Seed of the first draw, and of the default networks.
    """
    if networks is None:
        networks = MetaRatioEstimator(
            network=Architecture("both", n_networks=2), scale="columns", random_state=random_state
        )
    seeds = ((random_state + draw) % 2**32 for draw in range(n_draws))
    draws = [
        DiscriminantRatioEstimator(
            features="cosines", n_components=n_components, scale=networks.scale, random_state=seed
        )
        for seed in seeds
    ]
    return [networks, *draws]


@dataclass(eq=False, repr=False)
class EnsembleRatioEstimator(LearnedEstimator):
    """Relative density ratio from a handful of instances: the mean of networks and of estimators in closed form.

    Networks and the closed form err in different ways, so that their mean is better than either. It takes as long to
    learn as the networks do: minutes on a GPU, an hour or more on a CPU.

    Parameters
    ----------
    alpha : float, default=0.5
        Relative parameter, 0 <= alpha < 1; that of all members.
    members : sequence of MetaRatioEstimator and DiscriminantRatioEstimator, optional
        What to train; both kinds count the same, however many there are of each. By default four networks, and four
        estimators in closed form with other random features each.

    Attributes
    ----------
    members_ : list of MetaRatioEstimator and DiscriminantRatioEstimator
        What was trained.
    shares_ : list of float
        The share of each in the mean.
    networks_ : list of Network
        All networks of the members.
    ratio_nu_, ratio_de_ : ndarray of shape (n_nu,) and (n_de,)
        The ratio at the rows given to `fit`.

    See Also
    --------
    AutoRatioEstimator : Learns in seconds.

    Examples
    --------
    >>> from fewratio import DiscriminantRatioEstimator, MetaRatioEstimator
    >>> from fewratio.estimators import EnsembleRatioEstimator
    >>> from fewratio.estimators.networks import Training
    >>> from fewratio.data.sources.gaussian import gaussian_family
    >>> sources = gaussian_family(20, n_instances=50, random_state=0).collection
    >>> members = [MetaRatioEstimator(training=Training(max_steps=5), random_state=0), DiscriminantRatioEstimator()]
    >>> estimator = EnsembleRatioEstimator(members=members).pretrain(sources)
    >>> estimator.shares_
    [0.5, 0.5]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {**common("alpha"), "members": ["array-like", None]}

    alpha: float = 0.5
    _: KW_ONLY
    members: Sequence[Member] | None = None
    members_: list[Member] = field(init=False)
    shares_: list[float] = field(init=False)

    def pretrain(
        self,
        collection: Collection,
        validation: Collection | None = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Train all members on related datasets.

        Parameters
        ----------
        collection : Collection
            The source datasets, at least two.
        validation : Collection, optional
            Datasets for early stopping and to choose settings by; by default each member holds out sources for that.
        checkpoint : path, optional
            File to keep the state of the networks' training in, as in `MetaRatioEstimator.pretrain`.

        Returns
        -------
        self
        """
        self._check_parameters()
        members = clone(list(best_members() if self.members is None else self.members))
        for number, member in enumerate(members):
            member.set_params(alpha=self.alpha)
            if isinstance(member, MetaRatioEstimator):
                file = None if checkpoint is None else f"{os.fspath(checkpoint)}{f'.{number}' if number else ''}"
                member.pretrain(collection, validation, checkpoint=file)
            else:
                member.pretrain(collection, validation)
        self._set_members(members)
        return self

    @property
    def networks_(self) -> list[Network]:
        """The networks of all members."""
        return [network for member in self.members_ for network in getattr(member, "networks_", [])]

    @property
    def history_(self) -> History:
        """How the training of the first network went."""
        return self.networks_[0].history

    @property
    def finds_outliers(self) -> bool:
        """Whether all members tell outliers from other rows."""
        return all(member.finds_outliers for member in self._learned())

    def _set_members(self, members: list[Member]) -> None:
        kinds = Counter(map(type, members))
        self.members_ = self.model_ = members
        self.shares_ = [1 / (len(kinds) * kinds[type(member)]) for member in members]
        columns = members[0]._source_columns
        assert columns is not None
        self._keep_columns(columns)

    def _check_parameters(self, owner: str | None = None, prefix: str = "") -> None:
        super()._check_parameters(owner, prefix)
        if self.members is None:
            return
        others = [type(member).__name__ for member in self.members if type(member).__name__ not in _KINDS]
        if others or not len(self.members):
            raise ParameterError(
                f"members has {', '.join(others) or 'nothing in it'}; estimators of the kinds {' and '.join(_KINDS)} "
                "are needed. Give one or more of these."
            )

    def _learned(self) -> list[Member]:
        return [copy(member).set_params(alpha=self.alpha) for member in super()._learned()]

    def _fit(self, X_nu: Floats, X_de: Floats) -> None:
        # Copies, so that what was fitted before is not changed where this is a copy itself.
        fitted = self._learned()
        for member in fitted:
            member._fit(X_nu, X_de)
        self._fitted = fitted
        self.ratio_nu_ = self._mean([member.ratio_nu_ for member in fitted])
        self.ratio_de_ = self._mean([member.ratio_de_ for member in fitted])

    def _ratio(self, X: Floats) -> NDArray[Any]:
        return self._mean([member._ratio(X) for member in self._fitted])

    def _divergences(self, rows: Floats, nu: Numbers, de: Numbers) -> Floats:
        ratios = self._mean([member._ratios_at_samples(rows, nu, de) for member in self._learned()])
        shares = equal_shares(nu.shape[1], de.shape[1], ratios)
        return relative_pearson_divergence(ratios, shares, float(self.alpha))

    def _mean(self, ratios: list[NDArray[Any]]) -> Floats:
        return np.einsum("m,m...->...", np.array(self.shares_), np.array(ratios, dtype=np.float64))

    def _payload(self) -> tuple[Arrays, dict[str, Any]]:
        parts = [member._payload() for member in self._learned()]
        return joined([arrays for arrays, _ in parts]), {
            "estimator": type(self).__name__,
            "parameters": {"alpha": self.alpha},
            "members": [header for _, header in parts],
        }

    def _restore(self, arrays: Arrays, header: dict[str, Any]) -> None:
        members: list[Member] = []
        for number, part in enumerate(header["members"]):
            kind = _KINDS[part["estimator"]]
            members.append(kind._of_payload(part_of(arrays, number), part | {"format": header["format"]}))
        if not members or any(member._source_columns != members[0]._source_columns for member in members):
            raise ValueError("its members are of other columns than each other")
        self.members = [clone(member) for member in members]
        self._set_members(members)
