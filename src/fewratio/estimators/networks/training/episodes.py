"""Episodes: small estimation tasks cut from datasets whose other instances evaluate the result."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from fewratio.core.arrays import equal_shares, masked_shares
from fewratio.core.shapes import Float, Int
from fewratio.core.wording import write_count
from fewratio.errors import CollectionError, ParameterError
from fewratio.estimators.networks.pair import Episode
from fewratio.estimators.networks.training.keyed_draws import RANKS_BELOW, fold, fold_salt, ranks, salt, uniform
from fewratio.estimators.networks.training.pools import Pools

# A draw without replacement costs a random key for each candidate row. In a larger pool, a random window of this many
# rows (the rows being shuffled once) stands for the whole.
WINDOW = 1024


# Row numbers of a task: support of the numerator and of the denominator, then the same of the query.
Cut = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


class SupportSize(NamedTuple):
    """Range of the number of support instances per sample: from ``low`` to ``high``."""

    low: int
    high: int


class EpisodeSampler:
    """Training episodes of Alg. 1 and Alg. 2 as a pure function of a seed and a step's number.

    The query is drawn without replacement, all rows where a pool has fewer than ``n_query``, and its first rows are the
    support: support instances are in the query while training. Leading axes are (member, task).

    Parameters
    ----------
    rows : Tensor of shape (n, d)
        The table that the pools number.
    pools : sequence of Pools
        One for each member of an ensemble.
    seeds : sequence of int
        One for each member.
    sizes : sequence of (SupportSize, SupportSize)
        Sizes of the two supports, one for each member, drawn for each task, up to `WINDOW`, and at most the size of the
        pool. (Except for unlabelled instances, Alg. 2, a pool must have at least ``low`` rows.)
    n_query : int
        Query instances per side.
    tasks_per_step : int
        Number of tasks per step.
    held_out : (bool, bool)
        Whether to keep the support of the numerator, and of the denominator, out of the query; the paper does not.
    alphas : (float, float), optional
        Range from which each task's relative parameter is drawn; by default the tasks have none of their own.
    skew : float
        With 1 every size of a range is as likely; the larger, the more small ones there are.
    part : slice
        Which of the tasks to draw, by default all; they are the same whatever the others are.
    """

    def __init__(
        self,
        rows: Float[Tensor, "n d"],
        pools: Sequence[Pools],
        seeds: Sequence[int],
        sizes: Sequence[tuple[SupportSize, SupportSize]],
        n_query: int = 128,
        tasks_per_step: int = 1,
        held_out: tuple[bool, bool] = (False, False),
        alphas: tuple[float, float] | None = None,
        skew: float = 1.0,
        part: slice = slice(None),
    ) -> None:
        n_drawn = len(range(tasks_per_step)[part])
        if not n_drawn:
            raise ParameterError(
                f"tasks_per_step is {tasks_per_step}, but more processes train together; each needs a task. Start "
                "fewer processes, or raise tasks_per_step."
            )
        for member, (nu_size, de_size) in zip(pools, sizes, strict=True):
            _check_sizes(member.nu, member.names, nu_size.low + held_out[0])
            _check_sizes(member.de, member.names, (1 if member.paired else de_size.low) + held_out[1])
            _check_window(member.nu, nu_size.high + held_out[0])
            _check_window(member.de, de_size.high + held_out[1])
        device = rows.device
        self._rows = rows
        self._seeds = torch.tensor([seed % 2**63 for seed in seeds], device=device)
        self._n_tasks, self._part = tasks_per_step, part
        self._paired = pools[0].paired
        self._count = torch.tensor([len(member.nu) for member in pools], device=device)[:, None, None]

        flat, starts, lengths = _flatten_pools(pools, seeds)
        self._numbers = torch.from_numpy(flat).to(device)
        self._starts, self._lengths = (torch.from_numpy(part).flatten().to(device) for part in (starts, lengths))
        # Where in those the first dataset of each (member, task, side) is.
        self._first = (torch.arange(2 * len(pools), device=device) * starts.shape[-1]).view(-1, 1, 2)
        real = np.concatenate([[len(pool) for pool in member.nu + member.de] for member in pools])
        self._window = min(int(real.max()), WINDOW)
        low, high = (torch.tensor([[size[bound] for size in member] for member in sizes]) for bound in (0, 1))
        largest: list[int] = high.amax(0).tolist()
        # One row more than a support that is kept out, so that there is something left to evaluate on.
        needed = [size + kept_out for size, kept_out in zip(largest, held_out, strict=True)]
        self._n_query = min(max(n_query, *needed), self._window)
        self._uneven = bool(real.min() < self._window)
        self._windowed = bool(real.max() > self._window)

        # Axes (member, task, side).
        self._low = low.unsqueeze(1).to(device)
        self._spread = (high - low + 1).unsqueeze(1).to(device)
        highs = [min(size, self._n_query) for size in largest]
        self._query_shares = equal_shares(self._n_query, self._n_query, rows)
        self._support_shares = equal_shares(highs[0], highs[1], rows)
        # Where in the joined query the support's rows are: at the start of either side.
        places = [torch.arange(n) + side * self._n_query for side, n in enumerate(highs)]
        self._support_rows = torch.cat(places).to(device)
        self._n_support_nu = highs[0]
        self._held_out = torch.tensor(held_out, device=device)[:, None]
        self._holds_out = any(held_out)
        self._alphas, self._skew = alphas, skew
        self._support_index = torch.full((2 * self._n_query,), -1, device=device)
        self._support_index[self._support_rows] = torch.arange(sum(highs), device=device)
        self._padded = bool(real.min() < self._n_query)
        self._ranged = bool((low < high.amax(0)).any())

        # What is drawn: datasets, order of rows, window, sizes, alpha. And a number for each side of each task: the
        # window of a larger member must not shift the numbers of a smaller one.
        self._role_salts = salt(torch.arange(5, device=device))
        self._side_salts = salt(torch.arange(2 * tasks_per_step, device=device)).view(-1, 2)[part]
        self._is_second = torch.tensor([[False], [True]], device=device)

        # Drawing is much overhead and little work on a CPU: many steps are drawn at once and kept.
        self._steps_at_once = 1 if device.type == "cuda" else max(1, 64 // (len(pools) * n_drawn))
        self._block: tuple[int, tuple[Tensor, ...]] | None = None

    @property
    def device(self) -> torch.device:
        """Where the rows are."""
        return self._rows.device

    def __call__(self, step: Int[Tensor, ""]) -> Episode:
        """Draw the episodes of a step."""
        numbers, length, size, *share = self._draw_numbers(step)
        # A pool that is hardly larger than its support still leaves one row to evaluate on.
        size = torch.minimum(size, length.clamp_max(self._n_query) - self._held_out.flatten().long())
        query = numbers.flatten(2)  # (member, task, row of the joined query)
        joined = torch.cat([query[..., self._support_rows], query], dim=-1)
        rows = self._rows.index_select(0, joined.flatten()).unflatten(0, joined.shape)
        query_shares, support_shares = self._query_shares, self._support_shares
        if self._padded or self._holds_out:
            position = torch.arange(self._n_query, device=rows.device)
            real = position < length.unsqueeze(-1)
            if self._holds_out:
                real = real & ((position >= size.unsqueeze(-1)) | ~self._held_out)
            query_shares = masked_shares(real.flatten(-2), query_shares)
        if self._padded or self._ranged:
            real = torch.arange(self._n_query, device=rows.device) < size.unsqueeze(-1)
            support_shares = masked_shares(real.flatten(-2)[..., self._support_rows], support_shares)
        alpha = None
        if self._alphas is not None:
            alpha = self._alphas[0] + (self._alphas[1] - self._alphas[0]) * share[0]
        sizes = self._n_support_nu, self._n_query
        return Episode.from_joined(rows, support_shares, query_shares, *sizes, alpha, self._support_index)

    def _draw_numbers(self, step: Tensor) -> tuple[Tensor, ...]:
        """Row numbers, pool lengths and support sizes of a step, and a number in [0, 1) for alpha where it is drawn.

        Axes are (member, task, side, ...).
        """
        if self._steps_at_once == 1:
            return self._draw(fold(self._seeds, step))
        block, offset = divmod(int(step), self._steps_at_once)
        if self._block is None or self._block[0] != block:
            steps = torch.arange(self._steps_at_once).unsqueeze(-1) + block * self._steps_at_once
            self._block = block, self._draw(fold(self._seeds, steps))
        return tuple(part[offset] for part in self._block[1])

    def _draw(self, key: Tensor) -> tuple[Tensor, ...]:
        # Few operations on all roles: on a GPU it is their number that costs, and most of a small step were these.
        keys = fold_salt(key, self._role_salts.view(-1, *[1] * key.dim()))
        numbers = uniform(keys[:4], 2 * self._n_tasks).unflatten(-1, (-1, 2))[..., self._part, :]
        # Shares become indices in float64: float32 could round the largest share up to the count itself.
        choice, _, shift, size = numbers.double()
        index = (choice * self._count).long()
        if self._paired:
            index = index[..., :1].expand_as(index)
        start, length = self._starts[self._first + index], self._lengths[self._first + index]

        rank = ranks(fold_salt(keys[1, ..., None, None], self._side_salts), self._window)
        apart = self._holds_out and not self._paired
        if apart:
            # A dataset that meets itself is dealt out from both ends: neither support may be in the other's query.
            itself = (index[..., 0] == index[..., 1])[..., None, None] & self._is_second
            rank = torch.where(itself, RANKS_BELOW - 1 - rank[..., :1, :], rank)
        # Each operation that is not needed saves one or two per cent of a step on a GPU.
        if self._uneven:
            outside = torch.arange(self._window, device=rank.device) >= length.unsqueeze(-1)
            rank = rank.masked_fill(outside, torch.iinfo(rank.dtype).max)
        position = rank.topk(self._n_query, largest=False, sorted=True).indices
        if self._windowed:
            offset = (shift * length).long()
            if apart:
                offset = torch.where(itself.squeeze(-1), offset[..., :1], offset)
            offset = offset * (length > self._window)
            position = (position + offset.unsqueeze(-1)) % length.unsqueeze(-1)
        elif self._padded:
            position = torch.minimum(position, length.unsqueeze(-1) - 1)
        support = self._low + (size**self._skew * self._spread).long()
        alpha = () if self._alphas is None else (uniform(keys[4], self._n_tasks)[..., self._part],)
        return self._numbers[start.unsqueeze(-1) + position], length, support, *alpha


class EvaluationEpisodes:
    """Fixed episodes for validation and testing: every ordered pair, a few support draws each.

    The query holds instances that are in no support. A pair of a dataset with itself gets two disjoint supports. In
    paired pools (Alg. 2) the denominator's support is part of its query: all unlabelled instances are to be evaluated.

    Parameters
    ----------
    rows : Tensor of shape (n, d)
        The table that the pools number.
    pools : sequence of Pools
        One for each member of an ensemble.
    seeds : sequence of int
        One for each member.
    sizes : sequence of (SupportSize, SupportSize)
        Sizes of the two supports, one for each member; draws run through both ranges evenly,
        the denominator's half a range ahead.
    n_draws : int
        Support draws per pair.
    n_query : int, optional
        Query instances per side at most; by default all there are.
    tasks_per_batch : int
        Tasks that are evaluated at a time.
    max_pairs : int, optional
        Most ordered pairs; if there are more, this many are drawn.

    Attributes
    ----------
    tasks : int array of shape (member, task, 2)
        Which pool is the numerator and which the denominator of each task.
    """

    def __init__(
        self,
        rows: Float[Tensor, "n d"],
        pools: Sequence[Pools],
        seeds: Sequence[int],
        sizes: Sequence[tuple[SupportSize, SupportSize]],
        n_draws: int = 1,
        n_query: int | None = None,
        tasks_per_batch: int = 512,
        max_pairs: int | None = None,
    ) -> None:
        self._rows = rows
        self._tasks_per_batch = max(1, tasks_per_batch // len(pools))
        members = [
            _cut_tasks(member, np.random.default_rng(seed), *size, n_draws, n_query, max_pairs)
            for member, seed, size in zip(pools, seeds, sizes, strict=True)
        ]
        counts = {len(tasks) for tasks, _ in members}
        if len(counts) > 1:
            raise CollectionError(
                f"Models trained together have different numbers of validation episodes ({sorted(counts)}). "
                "Give all of them equally many validation datasets of equal sizes, or train them one by one."
            )
        self.tasks = np.array([tasks for tasks, _ in members])
        # Four blocks of row numbers: support nu, support de, query nu, query de.
        blocks = [_pad([[cut[block] for cut in cuts] for _, cuts in members]) for block in range(4)]
        self._numbers = torch.cat([numbers for numbers, _ in blocks], dim=-1).to(rows.device)
        support_nu, support_de, query_nu, query_de = (real for _, real in blocks)
        self._shares = _shares(support_nu, support_de, rows), _shares(query_nu, query_de, rows)
        self._n_nu = support_nu.shape[-1], query_nu.shape[-1]
        # In paired pools a denominator's query begins with its support; elsewhere the two have no row in common.
        common = min(support_de.shape[-1], query_de.shape[-1]) if pools[0].paired else 0
        index = torch.full((query_nu.shape[-1] + query_de.shape[-1],), -1)
        index[query_nu.shape[-1] :][:common] = torch.arange(common) + support_nu.shape[-1]
        self._support_index = index.to(rows.device)

    def batches(self) -> Iterator[Episode]:
        """Yield the episodes, a batch of tasks at a time; leading axes (member, task)."""
        for first in range(0, self.tasks.shape[1], self._tasks_per_batch):
            part = slice(first, first + self._tasks_per_batch)
            support, query = (shares if shares.dim() == 2 else shares[:, part] for shares in self._shares)
            rows = self._rows[self._numbers[:, part]]
            yield Episode.from_joined(rows, support, query, *self._n_nu, None, self._support_index)


def _cut_tasks(
    pools: Pools,
    rng: np.random.Generator,
    nu_size: SupportSize,
    de_size: SupportSize,
    n_draws: int,
    n_query: int | None,
    max_pairs: int | None,
) -> tuple[list[tuple[int, int]], list[Cut]]:
    """Cut every task of a member into support and query."""
    _check_sizes(pools.nu, pools.names, nu_size.low + 1)
    _check_sizes(pools.de, pools.names, 1 if pools.paired else de_size.low + 1)
    pairs = [(i, j) for i in range(len(pools.nu)) for j in range(len(pools.nu)) if i == j or not pools.paired]
    # One dataset as both sides needs rows for two supports and a query; where it is too small the pair is left out.
    alone = nu_size.low + de_size.low + 1
    pairs = [(i, j) for i, j in pairs if pools.paired or i != j or len(pools.nu[i]) >= alone]
    if not pairs:
        raise CollectionError(
            f"Dataset {pools.names[0]!r} is the only one and has {len(pools.nu[0])} instances; {alone} are needed for "
            "two supports and a query. Give more datasets or instances, or lower n_support."
        )
    if max_pairs is not None and len(pairs) > max_pairs:
        pairs = [pairs[chosen] for chosen in np.sort(rng.choice(len(pairs), max_pairs, replace=False))]
    sizes_nu, sizes_de = (np.linspace(*size, n_draws).round().astype(int).tolist() for size in (nu_size, de_size))
    # Half a range ahead: in step, the supports of a task would always be of one size.
    ahead = n_draws // 2

    def cut(i: int, j: int, n_nu: int, n_de: int) -> Cut:
        nu = rng.permutation(pools.nu[i])
        if i == j and not pools.paired:
            spare = len(nu) - 1
            # Where both do not fit, half each, but neither falls below its smallest size.
            n_nu = min(n_nu, max(nu_size.low, spare // 2, spare - n_de), spare - de_size.low)
            n_de = min(n_de, spare - n_nu)
            rest = nu[n_nu + n_de :][:n_query]
            return nu[:n_nu], nu[n_nu : n_nu + n_de], rest, rest
        de = rng.permutation(pools.de[j])
        # What is unlabelled is evaluated whole.
        n_nu, n_de = min(n_nu, len(nu) - 1), n_de if pools.paired else min(n_de, len(de) - 1)
        return nu[:n_nu], de[:n_de], nu[n_nu:][:n_query], de[0 if pools.paired else n_de :][:n_query]

    cuts = [
        cut(i, j, n_nu, n_de)
        for n_nu, n_de in zip(sizes_nu, sizes_de[ahead:] + sizes_de[:ahead], strict=True)
        for i, j in pairs
    ]
    return pairs * n_draws, cuts


def _pad(members: list[list[np.ndarray]]) -> tuple[Tensor, Tensor]:
    """Stack row numbers of uneven lengths, and say which are real."""
    each = [numbers for tasks in members for numbers in tasks]
    lengths = np.array([len(numbers) for numbers in each])
    real = np.arange(lengths.max()) < lengths[:, None]
    padded = np.zeros(real.shape, dtype=np.int64)
    padded[real] = np.concatenate(each)
    numbers, is_real = (torch.from_numpy(part).unflatten(0, (len(members), -1)) for part in (padded, real))
    return numbers, is_real


def _shares(real_nu: Tensor, real_de: Tensor, like: Tensor) -> Tensor:
    shares = equal_shares(real_nu.shape[-1], real_de.shape[-1], like)
    real = torch.cat([real_nu, real_de], dim=-1).to(like.device)
    return shares if real.all() else masked_shares(real, shares)


def _flatten_pools(pools: Sequence[Pools], seeds: Sequence[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Put all pools of all members into one array; starts and lengths have shape (member, side, dataset)."""
    most = max(len(member.nu) for member in pools)
    starts, lengths = (np.zeros((len(pools), 2, most), dtype=np.int64) for _ in range(2))
    flat: list[np.ndarray] = []
    position = 0
    for m, (member, seed) in enumerate(zip(pools, seeds, strict=True)):
        rng = np.random.default_rng(seed)
        for side, numbers in enumerate((member.nu, member.de) if member.nu is not member.de else (member.nu,)):
            for d, pool in enumerate(numbers):
                flat.append(rng.permutation(pool) if len(pool) > WINDOW else pool)
                starts[m, side, d], lengths[m, side, d] = position, len(pool)
                position += len(pool)
        if member.nu is member.de:
            starts[m, 1], lengths[m, 1] = starts[m, 0], lengths[m, 0]
    return np.concatenate(flat), starts, lengths


def _check_window(pools: list[np.ndarray], most: int) -> None:
    """Raise if a pool could give a larger support than is ever drawn."""
    if min(most, max(map(len, pools))) > WINDOW:
        raise ParameterError(
            f"n_support asks for up to {most} instances per sample; training draws {WINDOW} at most. Lower n_support "
            "(or n_support_de)."
        )


def _check_sizes(pools: list[np.ndarray], names: Sequence[str], needed: int) -> None:
    for pool, name in zip(pools, names, strict=True):
        if len(pool) < needed:
            raise CollectionError(
                f"Dataset {name!r} has {write_count(len(pool), 'instance')} to draw from; at least {needed} are needed "
                "for the support and the query. Lower n_support or leave the dataset out."
            )
