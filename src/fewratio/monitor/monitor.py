"""Monitor batches of rows, with one bounded chance of a false alarm over all time."""

import hashlib
import json
import math
import os
from collections import Counter
from collections.abc import Mapping
from itertools import compress
from typing import TYPE_CHECKING, Any, ClassVar, Self, Unpack

import numpy as np
from numpy.typing import NDArray

from fewratio.core.arguments import as_rng, check_number
from fewratio.core.container import Arrays, Fields, Stored, check_arrays, read_tensors
from fewratio.core.draws import row_order
from fewratio.core.shapes import Floats
from fewratio.core.wording import write_count
from fewratio.data.column_kinds import CATEGORY, NUMBER
from fewratio.data.columns import ColumnOptions
from fewratio.data.encoding import Encoding
from fewratio.data.raw_table import RawTable, as_raw
from fewratio.errors import InputError, ModelFileError, ParameterError, name_parameter
from fewratio.estimators import samples as inputs
from fewratio.monitor.betting import RankBets
from fewratio.monitor.learned_scores import WINDOWS, LearnedScores
from fewratio.monitor.new_categories import NewCategories
from fewratio.monitor.row_reader import average, complete, find_units, list_features, match_columns, read_features
from fewratio.monitor.scores import N_BINS, count_bins, find_bins, make_edges
from fewratio.monitor.start import compare_normals, compare_shares, find_start, rank_among
from fewratio.monitor.state import Batch, ColumnEvidence, MonitorState, Since, UnusualRow, as_number

if TYPE_CHECKING:
    from fewratio.charts.chart import Picture

_LEAST_ROWS = 10
# Scores are learned from the reference divided by this number, but from at least this many rows or half of it. The
# other rows are ranked.
_LEARNED_PART, _LEAST_LEARNED = 5, 20
# Shares of the stake on columns, on the distance from the reference, and on scores learned from the last rows.
_SHARES = {"columns": 0.7, "distance": 0.1, "learned": 0.2}
# The share of a column's stake that is bet on its values; the rest is bet on how often it is missing.
_VALUE = 0.8
# The most cells to keep of the reference, to rank by learned scores, and of the last rows, to find where a change
# began.
_MOST_CELLS = 100_000
# The most points in the picture, batches and marks to remember, and rows to show.
_MOST_POINTS, _MOST_BATCHES, _MOST_MARKS, _SHOWN = 1000, 100, 10_000, 5
# Shorter windows after an alarm that are used to find where the change began.
_LISTENS = 5
# A column is reported if chance alone would produce as much evidence in at most one of ten monitors.
_SPEAKS = math.log(10)


class DriftMonitor(Stored):
    """Monitor batches of rows, and raise an alarm once they are no longer like a reference.

    If the rows of the reference and all later ones are exchangeable (for instance, drawn independently from one
    distribution), the chance of any alarm, ever, is at most `level`, whatever the sizes of the batches and however
    often you look. The monitor bets on the rank of each new row among all earlier rows; the evidence is the wealth of
    the bets (`docs/how/monitor.md` has the proof). Dependent rows, such as readings of one machine within an hour, are
    not exchangeable: name the column they share in `groups`, or pass means.

    Parameters
    ----------
    reference : array-like of shape (n, n_columns)
        At least ten normal rows; a table may have columns of any kind.
    level : float, default=0.01
        The chance of a false alarm.
    estimator : RatioEstimator, optional
        An estimator for additional bets on its ratio of the last rows to the reference, such as a model trained on
        related datasets (`load_model`).
    random_state : int, numpy Generator or None, default=0
        Breaks ties, and draws the rows of the reference that scores are learned from.
    groups : str, optional
        A column that names rows that belong together. Their means are monitored. Groups must be exchangeable, and each
        must arrive in one batch.
    **columns
        What to do with columns: `columns`, `drop`, `keep`, `id`, `categorical`, `numeric`
        (`fewratio.ColumnOptions`). Dates are left out unless `keep` names them, since later rows have later dates.

    Attributes
    ----------
    state : MonitorState
        The last return value of `update`.
    marks : list of str
        The marks of the last 10,000 batches that had one.

    Examples
    --------
    >>> import numpy as np
    >>> from fewratio import DriftMonitor
    >>> rng = np.random.default_rng(0)
    >>> monitor = DriftMonitor(rng.normal(size=(200, 3)))
    >>> monitor.update(rng.normal(size=(50, 3))).alarm
    False
    >>> state = monitor.update(rng.normal(size=(50, 3)) + [0, 1.5, 0])
    >>> state.alarm, state.columns[0].column, state.columns[0].change
    (True, '1', 'higher')
    """

    _kind = "monitor"
    _fields: ClassVar[Fields] = {
        "level": (float,), "seed": (int,), "random_state": (int, str, type(None)), "groups": (str, type(None)),
        "encoding": (dict,), "has_estimator": (bool,), "n_rows": (int,), "largest": (float,),
        "alarm_row": (int, type(None)), "since": (list, type(None)), "step": (int,), "batches": (list,),
        "marks": (list,), "reference": (str,), "unusual": (list,), "used": (list,), "options": (dict,),
        "new_names": (list,), "cause": (list, type(None)),
    }  # fmt: skip

    def __init__(
        self,
        reference: Any,
        level: float = 0.01,
        estimator: Any = None,
        random_state: int | np.random.Generator | None = 0,
        *,
        groups: str | None = None,
        **columns: Unpack[ColumnOptions],
    ) -> None:
        self.level = check_number("level", level, 0, 1, "a chance between 0 and 1")
        rng = as_rng(random_state)
        self._seed, self._groups = int(rng.integers(2**31)), groups
        is_number = random_state is None or isinstance(random_state, int)
        self._random_state = random_state if is_number else str(random_state)
        self._options = json.loads(json.dumps(columns, default=list))
        self.estimator = None if estimator is None else inputs.copy_seeded(estimator, estimator, rng)
        raw = as_raw(reference, "reference").hold_in_memory()
        units = find_units(raw, groups)
        watched = raw if groups is None else raw.drop([groups])
        reader: Any = self.estimator or inputs.default_estimator()
        samples = inputs.read_samples(reader, {"reference": watched}, columns, uses_dates=False)
        table = samples.tables[0]
        encoding = samples.encoding or Encoding.of_numbers(table.feature_names, table.n_features)
        if encoding.window is not None:
            found = "estimator is a model of windows of series"
            raise ParameterError(f"{found}; a monitor watches rows. Use a model that was trained without windows.")
        known = average(np.asarray(table.numbers), units)
        if len(known) < _LEAST_ROWS:
            found = f"reference has {write_count(len(known), 'row' if groups is None else 'group')}"
            raise InputError(f"{found}; a monitor needs {_LEAST_ROWS} or more. Pass a longer one.")
        drawn = row_order(known)[rng.permutation(len(known))]
        n_learned = max(len(known) // _LEARNED_PART, min(_LEAST_LEARNED, len(known) // 2))
        is_learned = np.isin(np.arange(len(known)) if units is None else units, drawn[:n_learned])
        self.encoding = complete(encoding, watched, np.flatnonzero(is_learned), reader.has_sources)
        # A model uses only the features that it knows.
        self._used = [not reader.has_sources or name in encoding.features for name in self.encoding.features]
        matched, _ = self._open(raw)
        known = average(read_features(self.encoding, matched), units)
        ranked = known[drawn[n_learned:]]
        self._calibration = ranked[: max(_LEAST_ROWS, _MOST_CELLS // known.shape[1])]
        self._prepare(known[drawn[:n_learned]])
        self._new.learn(matched)
        self._edges[: self._n_fixed] = [make_edges(column) for column in self._score_fixed(self._learner.rows).T]
        n_ones = np.full(len(self._edges) + len(self._new), -1.0)
        n_ones[len(self._edges) :] = 0
        if groups is None:
            is_two = np.flatnonzero(~self._is_value)
            n_ones[is_two] = np.round(self._learner.rows[:, is_two].mean(0) * len(ranked))
        counts = np.zeros((len(n_ones), N_BINS), dtype=np.int64)
        counts[: len(self._edges)] = count_bins(self._edges, self._score(ranked))
        counts[len(self._edges) :, 0] = self._new.n_known.sum(1)
        self._bets = RankBets(counts, n_ones)
        self._reference = _digest(known)
        self._n_rows, self._largest = 0, 0.0
        self._alarm_row: int | None = None
        self._since: Since | None = None
        # Remember the evidence every `_step` rows.
        self._step, self._history = 1, np.zeros((0, 2))
        self._batches: list[Batch] = []
        self.marks: list[str] = []
        self._unusual: list[UnusualRow] = []
        self._changed: list[ColumnEvidence] | None = None
        # The feature that caused the alarm, and its direction.
        self._cause: list[Any] | None = None

    def check_same(self, reference: Any, level: float, groups: str | None, columns: Mapping[str, Any]) -> None:
        """Raise `ParameterError` unless this monitor was made with these arguments."""
        given = {"level": level, "groups": groups, **json.loads(json.dumps(columns))}
        own = {"level": self.level, "groups": self._groups, **self._options}
        for name in own | given:
            now, before = given.get(name), own.get(name)
            if now != before:
                is_now, was = ("not given" if each is None else repr(each) for each in (now, before))
                raise ParameterError(
                    f"{name_parameter(name)} is {is_now}, but was {was} when the monitor was made; it cannot change. "
                    "Use the same options, or start again (`--rebase`)."
                )
        raw, units = self._open(reference, "reference")
        if _digest(average(read_features(self.encoding, raw), units)) != self._reference:
            found = "reference has other rows than the one the monitor was made with"
            raise ParameterError(f"{found}; ranks need the same rows. Pass that one, or start again (`--rebase`).")

    def _prepare(self, learned: Floats) -> None:
        """Set attributes that depend on the columns and on the part of the reference that scores are learned from."""
        self._features = list_features(self.encoding)
        self._missing = [each.missing for each in self._features]
        self._is_value = np.array([each.kind == "value" for each in self._features])
        self._ties: np.random.Generator | None = None
        n_recent = _MOST_CELLS // learned.shape[1]
        self._learner = LearnedScores(learned, self.estimator, np.flatnonzero(self._used), n_recent)
        self._n_fixed = len(self._features) + 1
        self._edges = np.tile(make_edges(np.zeros(1)), (self._n_fixed + len(self._learner), 1))
        # The means of groups have no categories.
        is_category = [column.kind == CATEGORY and self._groups is None for column in self.encoding.used]
        self._new = NewCategories([each.name for each in compress(self.encoding.used, is_category)])
        counts = Counter((each.column, each.kind == "value") for each in self._features)
        counts.update((column, False) for column in self._new.columns)
        has_value = {each.column for each in self._features if each.kind == "value"}
        weights = [_SHARES["columns"] / len(self.encoding.used) for _ in self._features]
        for place, each in enumerate(self._features):
            is_value = each.kind == "value"
            part = (_VALUE if is_value else 1 - _VALUE) if each.column in has_value else 1.0
            weights[place] *= part / counts[each.column, is_value]
        # The last but one feature of a column marks new or rare categories.
        self._new_places = [self.encoding.places[column].stop - 2 for column in self._new.columns]
        self._new_weights = np.log([weights[place] for place in self._new_places])
        self._weights = np.log([*weights, _SHARES["distance"]])
        self._weigh()

    def _open(self, X: Any, name: str = "batch") -> tuple[RawTable, NDArray[np.intp] | None]:
        """Return rows with the columns of the reference, and the group of each."""
        raw = as_raw(X, name).hold_in_memory()
        units = find_units(raw, self._groups)
        return match_columns(self.encoding, raw if self._groups is None else raw.drop([self._groups])), units

    def _score(self, rows: Floats) -> Floats:
        """Score rows by columns, by distance, and by learned scores; NaN for missing values."""
        return np.concatenate([self._score_fixed(rows), self._learner.score(rows)], axis=1)

    def _score_fixed(self, rows: Floats) -> Floats:
        columns = np.where((rows[:, self._missing] >= 1) & self._is_value, np.nan, rows)
        return np.concatenate([columns, self._learner.measure_distance(rows)[:, None]], axis=1)

    def update(self, batch: Any, name: str | None = None, mark: str | None = None) -> MonitorState:
        """Update the evidence with the rows of a batch, in their order, and return the new state.

        Columns that the reference does not have are left out. Absent columns, and cells of another kind, count as
        missing. You are warned of all of these.

        Parameters
        ----------
        batch : array-like of shape (n, n_columns)
            One or more rows. How rows are split into batches does not change the evidence.
        name : str, optional
            Name of the batch in answers; by default its number.
        mark : str, optional
            An identifier to add to `marks`, to remember that the batch was counted.
        """
        raw, units = self._open(batch, name or "batch")
        rows = average(read_features(self.encoding, raw), units)
        categories = self._new.read(raw, self._n_rows)[: len(rows)]
        self.marks = [*self.marks, *([] if mark is None else [mark])][-_MOST_MARKS:]
        first, ranks = self._n_rows, []
        while rows[self._n_rows - first :].size:
            # Stop where the next scores are learned.
            start = self._n_rows - first
            stop = start + WINDOWS[0] - self._n_rows % WINDOWS[0]
            ranks.append(self._bet(rows[start:stop], categories[start:stop]))
        # Keep the largest evidence: normal rows after an alarm do not withdraw it.
        evidence = float((self._bets.evidence + self._all_weights).max())
        is_news = (self._alarm_row or 0) >= first or evidence >= self._largest
        if is_news and self._shows_cause:
            self._changed = self._find_columns()
        self._remember(name, first, rows, np.concatenate(ranks))
        return self.state

    def _bet(self, rows: Floats, categories: NDArray[np.intp]) -> Floats:
        """Bet on rows while the scores stay the same, then learn from them; return their ranks by distance."""
        # Rows with a category are in the first bin.
        bins = np.concatenate([find_bins(self._edges, self._score(rows)), np.minimum(categories, 0)], axis=1)
        if self._ties is None:
            self._ties = np.random.Generator(np.random.PCG64(self._seed).advance(self._n_rows * bins.shape[1]))
        ties = self._ties.random(bins.shape)
        ranks, wealth = self._bets.bet(bins, ties, self._new.rank(categories, ties[:, len(self._edges) :]))
        evidence, limit = (wealth + self._all_weights).max(1), -math.log(self.level)
        reached = np.flatnonzero(evidence >= limit)
        if self._alarm_row is None and len(reached):
            self._alarm_row = self._n_rows + int(reached[0])
        self._largest = max(self._largest, float(evidence.max()))
        numbers = np.arange(self._n_rows, self._n_rows + len(rows), dtype=np.float64)
        self._history = np.concatenate([self._history, np.column_stack([numbers, evidence])[numbers % self._step == 0]])
        while len(self._history) > _MOST_POINTS:
            self._step *= 2
            self._history = self._history[self._history[:, 0] % self._step == 0]
        self._n_rows += len(rows)
        self._learner.keep(rows, self._n_rows)
        alarm_row = self._alarm_row
        if alarm_row is not None and self._cause is None:
            self._changed = self._find_columns()
            self._cause = next(iter(self._find_causes()), None)
        if alarm_row is not None and self._n_rows <= (alarm_row // WINDOWS[0] + _LISTENS) * WINDOWS[0]:
            weighted = self._bets.evidence + self._all_weights
            if self._shows_cause and (self._since is None or weighted.max() >= limit):
                self._since = self._find_start(int(weighted.argmax()), alarm_row)
        for slots, sample in self._learner.learn(self._n_rows):
            places = np.add(slots, self._n_fixed)
            self._edges[places] = [make_edges(column) for column in self._learner.score(sample, slots).T]
            counts = count_bins(self._edges[places], self._learner.score(self._calibration, slots))
            self._bets.restart(places, counts)
            self._weigh()
        return ranks[:, self._n_fixed - 1]

    @property
    def _shows_cause(self) -> bool:
        """Whether there was an alarm whose cause is still visible; later rows may differ for another reason."""
        return self._alarm_row is not None and (self._cause is None or self._cause in self._find_causes())

    def _weigh(self) -> None:
        """Set the logarithms of the weights of all scores, which change when scores are learned."""
        learned = math.log(_SHARES["learned"]) + self._learner.weigh()
        self._all_weights = np.concatenate([self._weights, learned, self._new_weights])

    def _remember(self, name: str | None, first: int, rows: Floats, ranks: Floats) -> None:
        """Keep the summary of a batch."""
        number = self._batches[-1].number + 1 if self._batches else 1
        evidence = as_number(float((self._bets.evidence + self._all_weights).max()))
        self._batches = [*self._batches, Batch(name or f"batch {number}", number, first, evidence)][-_MOST_BATCHES:]
        order = np.argsort(-ranks, kind="stable")[:_SHOWN]
        columns = [self._features[place].column for place in self._learner.find_farthest(rows[order])]
        self._unusual = [
            UnusualRow(int(row), float(ranks[row]), column) for row, column in zip(order, columns, strict=True)
        ]

    @property
    def state(self) -> MonitorState:
        """The current state."""
        evidence = self._bets.evidence + self._all_weights
        return MonitorState(
            self._alarm_row is not None, self._alarm_row, as_number(float(evidence.max())), math.exp(-self._largest),
            self._since, self._find_columns() if self._changed is None else self._changed, self._unusual,
            self._n_rows, self._batches, self._history,
            {
                "level": self.level, "estimator": self.estimator, "random_state": self._random_state,
                "groups": self._groups,
            },
        )  # fmt: skip

    def _find_columns(self) -> list[ColumnEvidence]:
        """Return the columns with evidence of a change, the clearest first."""
        found: dict[str, ColumnEvidence] = {}
        for place in self._list_speaking():
            column, change = self._describe(place)
            # A new category makes the others less frequent, so it is named instead of them, with their evidence.
            if column not in found or place >= len(self._edges):
                evidence = found[column].evidence if column in found else as_number(float(self._bets.evidence[place]))
                found[column] = ColumnEvidence(column, change, evidence, *self._compare_periods(place))
        return list(found.values())

    def _compare_periods(self, place: int) -> tuple[str, float | None, float | None]:
        """Return the mean, deviation or share of a feature in the reference and since the change began."""
        feature, direction = self._features[self._find_feature(place)], self._find_direction(place)
        is_number = any(each.kind == NUMBER for each in self.encoding.used if each.name == feature.column)
        if self._since is None or (feature.kind == "value" and not is_number):
            return "", None, None
        recent = self._learner.list_recent(self._n_rows)
        samples = np.concatenate([self._learner.rows, self._calibration]), recent[self._since.row - self._n_rows :]
        number = self._features.index(feature)
        if feature.kind != "value":
            before, after = (float(rows[:, number].mean()) for rows in samples)
            return "share", before, after
        present = [rows[rows[:, feature.missing] < 1, number] for rows in samples]
        is_spread = direction.endswith("spread")
        if min(map(len, present)) < 1 + is_spread:
            return "", None, None
        before, after = (float(np.std(rows, ddof=1) if is_spread else rows.mean()) for rows in present)
        return "deviation" if is_spread else "mean", before, after

    def _find_causes(self) -> list[list[Any]]:
        """Return the features with evidence of a change, and the direction of the change, the clearest first."""
        places = self._list_speaking()
        return [[self._find_feature(place), self._find_direction(place)] for place in places]

    def _list_speaking(self) -> list[int]:
        """Return the scores of columns with evidence of a change, the clearest first."""
        wealth = self._bets.evidence
        speak = np.flatnonzero(wealth + self._all_weights >= min(-math.log(self.level), _SPEAKS))
        speak = speak[(speak < len(self._features)) | (speak >= len(self._edges))]
        found: list[int] = speak[np.argsort(-wealth[speak], kind="stable")].tolist()
        return found

    def _find_direction(self, place: int) -> str:
        """Return how the feature of a score changed, such as "higher" or "more"."""
        if self._features[self._find_feature(place)].kind == "value" or self._groups is not None:
            return self._bets.describe(place)
        return "more" if place >= len(self._edges) or self._bets.is_higher(place) else "less"

    def _describe(self, place: int) -> tuple[str, str]:
        """Return the column of a score, and how it changed."""
        feature, direction = self._features[self._find_feature(place)], self._find_direction(place)
        if feature.kind == "value" or self._groups is not None:
            number = feature.text if feature.kind == "value" else ""
            return feature.column, f"{number} {direction}".strip()
        is_new = feature.kind == "new" and direction == "more"
        said = self._new.describe(feature.column, self._n_rows) if is_new else ""
        return feature.column, said or f"{feature.text} {direction} often"

    def _find_feature(self, score: int) -> int:
        """Return the feature of a score; scores of new categories belong to the feature of new or rare categories."""
        return score if score < len(self._edges) else self._new_places[score - len(self._edges)]

    def _find_start(self, score: int, alarm_row: int) -> Since:
        """Find where the change in a score began."""
        score = self._find_feature(score)
        known, recent = self._calibration, self._learner.list_recent(self._n_rows)
        pairs = (
            [(self._score_fixed(known).T[score], self._score_fixed(recent).T[score])]
            if score < self._n_fixed
            else (self._learner.score_recent(score - self._n_fixed, known, self._n_rows))
        )
        has = ~np.isnan(np.concatenate([values for _, values in pairs]))
        numbers = np.flatnonzero(has) + self._n_rows - len(recent)
        if self._bets.n_ones[score] >= 0:
            likelihood = compare_shares(pairs[0][1], pairs[0][0])
        else:
            draw = np.random.default_rng(self._seed).random
            ranks = [rank_among(values, known[~np.isnan(known)], draw(len(values))) for known, values in pairs]
            likelihood = compare_normals(np.concatenate(ranks)[has])
        # The change began no later than the alarm; if it persists, later rows show it too.
        n_starts = max(int(numbers.searchsorted(alarm_row, "right")), 1)
        row, low, high = numbers[list(find_start(likelihood[:n_starts]))].tolist()
        # If the change began before the first kept row, the range starts at row 0.
        return Since(row, low if low > numbers[0] else 0, high)

    def plot(self) -> "Picture":
        """Draw the evidence over time."""
        return self.state.plot()

    def to_html(self, path: Any = None) -> str | None:
        """Write a report of all batches to an HTML file, or return it if no path is given."""
        return self.state.to_html(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], estimator: Any = None) -> Self:
        """Load a monitor from a file written by `save`. Nothing in the file is executed.

        Parameters
        ----------
        path : path
            The file.
        estimator : RatioEstimator, optional
            The estimator that the monitor was created with, if any; the file does not contain it.
        """
        return cls._of_file(path, *read_tensors(path, cls._kind, finite=True), estimator=estimator)

    def _payload(self) -> tuple[Arrays, dict[str, Any]]:
        parts = self._bets, self._learner, self._new
        arrays = {
            "learned": self._learner.rows, "calibration": self._calibration, "edges": self._edges,
            "history": self._history,
        } | {name: getattr(part, name) for part in parts for name in part.kept}  # fmt: skip
        header = {
            "level": self.level, "seed": self._seed, "random_state": self._random_state, "groups": self._groups,
            "encoding": self.encoding.to_dict(),
            "used": self._used, "options": self._options, "has_estimator": self.estimator is not None,
            "n_rows": self._n_rows, "largest": self._largest,
            "alarm_row": self._alarm_row, "since": self._since, "step": self._step, "batches": self._batches,
            "marks": self.marks, "reference": self._reference, "unusual": self._unusual,
            "changed": self._changed, "cause": self._cause, "new_names": self._new.names,
        }  # fmt: skip
        return arrays, header

    @classmethod
    def _of_payload(cls, arrays: Arrays, header: dict[str, Any], **changes: Any) -> Self:
        monitor, estimator = cls.__new__(cls), changes["estimator"]
        if header["has_estimator"] != (estimator is not None):
            found = "has bets of an estimator" if header["has_estimator"] else "has no bets of an estimator"
            raise ModelFileError(f"The monitor {found}; it must be given as at the start. Pass the same estimator.")
        monitor.level, monitor._seed, monitor._groups = header["level"], header["seed"], header["groups"]
        monitor._random_state = header["random_state"]
        monitor.encoding = Encoding.from_dict(header["encoding"])
        monitor._used, monitor._options = header["used"], header["options"]
        seeds = np.random.default_rng(monitor._seed)
        monitor.estimator = None if estimator is None else inputs.copy_seeded(estimator, estimator, seeds)
        n_features = monitor.encoding.n_features
        monitor._calibration, monitor._history = arrays.pop("calibration"), arrays.pop("history")
        learned = arrays.pop("learned")
        shapes = (monitor._calibration.shape[1:], learned.shape[1:], monitor._history.shape[1:])
        if shapes != ((n_features,), (n_features,), (2,)):
            raise ValueError(f"its rows have the shapes {shapes}, and {n_features} features are needed")
        monitor._prepare(learned)
        n_scores = len(monitor._edges) + len(monitor._new)
        monitor._bets = RankBets(np.zeros((n_scores, N_BINS), dtype=np.int64), np.zeros(n_scores))
        monitor._new.names = header["new_names"]
        parts: dict[Any, tuple[str, ...]] = {
            each: each.kept for each in (monitor._bets, monitor._learner, monitor._new)
        }
        known = {name: part for part, names in parts.items() for name in names}
        check_arrays(
            arrays, {name: getattr(part, name).shape for name, part in known.items()} | {"edges": monitor._edges.shape}
        )
        monitor._edges = arrays["edges"]
        for name, part in known.items():
            setattr(part, name, arrays[name])
        # The learned scores need weights.
        monitor._weigh()
        monitor._n_rows, monitor._largest = header["n_rows"], header["largest"]
        monitor._alarm_row, monitor._step = header["alarm_row"], header["step"]
        monitor._since = None if header["since"] is None else Since(*header["since"])
        monitor._batches, monitor.marks = [Batch(*each) for each in header["batches"]], header["marks"]
        monitor._unusual, monitor._reference = [UnusualRow(*each) for each in header["unusual"]], header["reference"]
        changed, monitor._cause = header["changed"], header["cause"]
        monitor._changed = None if changed is None else [ColumnEvidence(*each) for each in changed]
        return monitor

    def __repr__(self) -> str:
        return f"DriftMonitor(level={self.level}): {self.state.summary}"


def _digest(rows: Floats) -> str:
    return hashlib.sha256(rows.tobytes()).hexdigest()
