"""``fewratio compare``."""

import math
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fewratio.cli import frame
from fewratio.cli.verb import SHARED, Field, Page, Verb, declare_count, declare_table
from fewratio.core.wording import write_count, write_divergence, write_limit, write_list, write_p, write_share
from fewratio.errors import ParameterError, warn
from fewratio.testing import LEVEL, PERMUTATIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fewratio.compare.columns import ColumnDifference
    from fewratio.compare.comparison import ComparisonResult
    from fewratio.compare.groups import GroupComparisonResult
    from fewratio.data.columns import ColumnOptions
    from fewratio.data.raw_table import RawTable

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_CONDITION = re.compile(rf"\s*(p|p_value|divergence)\s*(<=|>=|<|>)\s*({_NUMBER})\s*", re.ASCII)
# More permutations take minutes, so they are used only on request.
_MOST_PERMUTATIONS = 99_999
# Typical rows to show, and values of each.
_ROWS, _VALUES = 3, 5
# Pairs of columns to show.
_RELATIONS, _WORDS = 3, 5
# Pairs of groups to show.
_PAIRS = 10


def compare(
    request: frame.Request,
    a: Path,
    b: Path | None,
    by: str | None,
    permutations: int | None,
    blocks: str | None,
    paired: str | None,
    fail_if: list[str] | None,
) -> None:
    """See whether two datasets, or the groups of one, differ, by how much, and in which columns and rows.

    Example: fewratio compare before.csv after.csv --report difference.html
    """
    if (b is None) == (by is None):
        given, advice = "Two tables and --by are given", "Leave out --by, or one table"
        if b is None:
            given, advice = "One table is given without --by", "Give a second table, or --by"
        raise ParameterError(f"{given}; expected two tables, or one and --by with the grouping column. {advice}.")
    fails = _Conditions.of(fail_if, permutations) if fail_if else None
    tables, estimator = request.read(a, cut=False) if b is None else request.read(a, b)
    options = request.options(*tables)
    n_permutations = permutations if fails is None else fails.choose_permutations(permutations)
    from fewratio.compare.comparison import compare_datasets, split_groups

    settings: dict[str, Any] = {"estimator": estimator, "n_permutations": n_permutations, "random_state": request.seed}
    settings |= {"blocks": blocks, "paired": paired, **options}
    if by is not None:
        groups = split_groups(tables[0], by, estimator)
        if len(groups) > 2:
            from fewratio.compare.groups import PairDifference

            of_groups: Any = compare_datasets(tables[0], by=by, **settings)
            lines = list(_write_groups(of_groups, request, frame.make_label(a)))
            pairs = dict(zip(PairDifference._fields, map(list, zip(*of_groups.pairs, strict=True)), strict=True))
            request.deliver(frame.Answer(lines, of_groups.to_dict(), pairs), of_groups.plot, of_groups._report)
            if fails is not None:
                fails.check(of_groups.p_value, of_groups.largest_divergence, of_groups.smallest_p_value)
            return
        names, tables = list(groups), list(groups.values())
    if b is not None:
        names = frame.make_labels(a, b)
        # A table compared with itself, say.
        names = names if names[0] != names[1] else [f"{name} ({place})" for place, name in enumerate(names, 1)]
        if request.model is None:
            settings |= _reference_encoding(b, options) or _reference_encoding(a, options)
    found = compare_datasets(*tables, **settings)
    result = replace(found, names=(names[0], names[1]))
    if result.paired_rows is not None:
        tables = [table.take(rows) for table, rows in zip(tables, result.paired_rows, strict=True)]
    answer = frame.Answer(list(_lines(result, request, tables)), result.to_dict(), _columns(result), tables)
    request.deliver(answer, result.plot, result._report)
    if fails is not None:
        fails.check(result.p_value, result.divergence, result.smallest_p_value)


def _reference_encoding(path: Path, options: "ColumnOptions") -> "ColumnOptions":
    """Return the encoding of a reference as an option; no option for any other table."""
    from fewratio.data.reference import read_encoding

    encoding = read_encoding(path)
    if encoding is None:
        return {}
    if unused := sorted(set(options) - {"keep"}):
        raise ParameterError(
            f"--{unused[0]} is given, but {frame.make_label(path)} is a reference, whose columns are encoded already. "
            f"Leave --{unused[0]} out, or give it to `fewratio reference`."
        )
    return {"encoding": encoding}


@dataclass(frozen=True)
class _Conditions:
    """The conditions of ``--fail-if``: any one is enough; parts joined by "and" must all hold.

    Attributes
    ----------
    texts : sequence of str
        The conditions as the user wrote them.
    parts : sequence of sequence of (str, str, str)
        Name, sign and limit of each part of each.
    """

    texts: "Sequence[str]"
    parts: "Sequence[Sequence[tuple[str, str, str]]]"

    @classmethod
    def of(cls, texts: "Sequence[str]", permutations: int | None) -> "_Conditions":
        """Read conditions; refuse those that cannot hold with the requested permutations."""
        result = cls(texts, [[_condition(part, text, permutations) for part in text.split(" and ")] for text in texts])
        result.count_permutations(permutations)
        return result

    def check(self, p_value: Any, divergence: Any, smallest: float | None) -> None:
        """Exit if a condition holds; warn if there are too few rows for a p-value small enough to meet one."""
        from fewratio.data.split_table import SIGNS

        values = {"p": p_value, "p_value": p_value, "divergence": divergence}
        for parts in self.parts:
            if all(SIGNS[sign](values[name], float(limit)) for name, sign, limit in parts):
                frame.fail(" and ".join(f"{name} = {values[name]:.3g} {sign} {limit}" for name, sign, limit in parts))
        for text, (_, sign, limit) in self._list_bounds():
            if smallest is not None and not SIGNS[sign](smallest, float(limit)):
                message = f"--fail-if {text!r} cannot hold: with so few rows, no p-value is below {write_p(smallest)}."
                warn(f"{message} More rows are needed, or another limit.")

    def choose_permutations(self, given: int | None) -> int | None:
        """Return how many permutations to use, None for the default; say so if there are more."""
        chosen = self.count_permutations(given)
        if given is None and chosen > PERMUTATIONS:
            message = f"{chosen} permutations are used: with {PERMUTATIONS}, --fail-if could never hold."
            warn(message)
        return given if chosen == PERMUTATIONS else chosen

    def count_permutations(self, given: int | None) -> int:
        """Return the given permutations, or as many as all conditions need; refuse too few."""
        from fewratio.data.split_table import SIGNS

        used = PERMUTATIONS if given is None else given
        for text, (_, sign, limit) in self._list_bounds():
            smallest = 1 / (used + 1)
            if SIGNS[sign](smallest, float(limit)):
                continue
            gives = "gives" if used == 1 else "give"
            given_up = f"{write_count(used, 'permutation')} {gives} no p-value below {write_p(smallest)}"
            if float(limit) <= 0:
                found = f"--fail-if is {text!r}, but no p-value is 0"
                raise ParameterError(f"{found}; expected a limit above 0. Write 'p < 0.01', for instance.")
            needed = math.ceil(1 / float(limit)) - 1
            needed += not SIGNS[sign](1 / (needed + 1), float(limit))
            if given is not None or needed > _MOST_PERMUTATIONS:
                found = f"--fail-if is {text!r}, but {given_up}"
                raise ParameterError(f"{found}; {needed} are needed. Give --permutations {needed}, or another limit.")
            used = needed
        return used

    def _list_bounds(self) -> "Iterator[tuple[str, tuple[str, str, str]]]":
        """Yield the parts that need a small p-value, each with its condition."""
        for text, parts in zip(self.texts, self.parts, strict=True):
            yield from ((text, part) for part in parts if part[0].startswith("p") and part[1].startswith("<"))


def _condition(part: str, text: str, permutations: int | None) -> tuple[str, str, str]:
    """Return the name, the sign and the number of a condition."""
    found = _CONDITION.fullmatch(part)
    if found is None:
        raise ParameterError(
            f"--fail-if is {text!r}; it must be p or divergence, one of < <= > >=, and a number; or several of these "
            "joined by and. Write 'p < 0.01', for instance."
        )
    if found[1].startswith("p") and permutations == 0:
        raise ParameterError(
            f"--fail-if is {text!r}, but --permutations is 0, which gives no p-value. Raise --permutations, or test "
            "the divergence."
        )
    return found[1], found[2], found[3]


def _lines(result: "ComparisonResult", request: frame.Request, tables: "Sequence[RawTable]") -> "Iterator[str]":
    from fewratio.compare.blocks import describe_pairs
    from fewratio.compare.regions import explain_regions

    a, b = result.names
    yield result.verdict
    sizes = (write_count(len(each), "row") for each in (result.ratios_a, result.ratios_b))
    yield f"tables      {' and '.join(f'{name} ({size})' for name, size in zip((a, b), sizes, strict=True))}"
    if result.caution is not None:
        yield f"note        {result.caution}"
    if result.paired_rows is not None:
        yield f"pairs       {describe_pairs(result)}"
    yield from request.summary(result.samples, result.names)
    if result.model_used is not None:
        yield f"model       {'' if request.model is None else f'{request.model.name}: '}{result.model_used}"
    yield f"divergence  {result.describe_divergence()}"
    if result.p_value is not None:
        permutations = f"{'all ' * result.is_enumerated}{result.n_permutations} permutations"
        yield f"p-value     {write_p(result.p_value)} ({permutations})"
    if result.rows_used is not None:
        yield f"rows used   {result.rows_used}"
    named = [each for each in result.columns if each.p_value is None or each.p_value <= LEVEL]
    if named or result.joint_columns:
        yield from _differences(result, [*named, *result.joint_columns])
    else:
        smallest = min(each.p_value or 0 for each in result.columns)
        yield f"differ in   no single column (smallest p-value, adjusted for all columns: {write_p(smallest)})"
    for place, word in enumerate(result.words[:_WORDS]):
        yield f"{'' if place else 'words':<12}{word.write(result.names)}"
    if len(result.words) > _WORDS:
        yield f"            and {len(result.words) - _WORDS} more; --json gives all"
    for relation in result.relations[:_RELATIONS]:
        yield f"together    {relation.write(result.names)}"
    if len(result.relations) > _RELATIONS:
        yield f"            and {write_count(len(result.relations) - _RELATIONS, 'more pair')}; --json gives all"
    for place, region in enumerate(result.regions):
        yield f"{'' if place else 'regions':<12}{region.write(result.names)}"
    yield from (f"            ({said})" for said in explain_regions(result))
    differs = result.p_value is None or result.p_value <= LEVEL
    if differs and result.divergence > 0 and not result.has_typical_rows:
        yield f"rows        all are equally typical: nothing but {result.set_aside} separates the tables"
    elif differs and result.divergence > 0:
        related = [str(name) for relation in result.relations[:1] for name in relation.columns] if not named else []
        yield from _typical(result.for_typical_rows, related, tables, result.set_aside)


def _differences(result: "ComparisonResult", named: "Sequence[ColumnDifference]") -> "Iterator[str]":
    from fewratio.compare.columns import explain_effects, explain_parts, explain_small_effects
    from fewratio.compare.verdict import write_source
    from fewratio.core.effects import write_effect

    tested = ", p adjusted for all columns" * (result.p_value is not None)
    differ = result.p_value is None or result.p_value <= LEVEL
    heading = "differ in" if differ else "by column"
    yield f"{heading:<12}(effect: {explain_effects(named[: frame.SHOWN], result.names[0])}{tested})"
    shown = named[: frame.SHOWN]
    names = [f"{each.column} *" if each in result.joint_columns else str(each.column) for each in shown]
    gaps = [f"{write_share(each.missing_first)} / {write_share(each.missing_second)}" for each in shown]
    has_gaps = any(each.missing_first or each.missing_second for each in shown)
    columns: list[list[Any]] = [
        ["", *names],
        [result.names[0], *(each.first for each in shown)],
        [result.names[1], *(each.second for each in shown)],
        ["effect", *(write_effect(each.effect) for each in shown)],
        *([["p", *(write_p(each.p_value) for each in shown)]] if tested else []),
    ]
    optional = [["missing", *gaps]] if has_gaps else []
    if named[0].alone is not None:
        for part in ("alone", "without"):
            found = [getattr(each, part) for each in shown]
            optional.append([part, *("" if each is None else write_divergence(each) for each in found)])
    # In a narrow terminal whole names say more than these.
    hidden = []
    while optional and not frame.fits([*columns, *optional]):
        hidden.append(optional.pop(0)[0])
    yield from frame.align_columns([*zip(*columns, *optional, strict=True)])
    if len(named) > frame.SHOWN:
        yield f"  and {len(named) - frame.SHOWN} more; --json gives all"
    if hidden:
        yield f"  (a wider terminal, or --json, also shows {write_list(hidden)})"
    if differ:
        said = [
            *explain_small_effects(result, shown),
            *explain_parts(result, shown, [heading for heading, *_ in optional if heading in ("alone", "without")]),
            write_source(result),
        ]
        yield from (f"  {each}" for each in filter(None, said))


def _typical(
    result: "ComparisonResult", related: list[str], tables: "Sequence[RawTable]", aside: str
) -> "Iterator[str]":
    """Show the most typical rows of each sample, with their values in related columns and those that differ most."""
    from fewratio.report.rows import find_distinct

    columns = list(dict.fromkeys([*related, *(str(each.column) for each in result.columns)]))
    without = f", without {aside}" if aside and not result.set_aside else ""
    sides = (result.rows_a, result.ratios_a), (result.rows_b, result.ratios_b)
    a, b = result.names
    most = f"{1 + 2 * result.max_divergence:g}: " if math.isfinite(result.max_divergence) else "large: "
    for name, (rows, ratios), table, raw in zip(result.names, sides, result.samples.tables, tables, strict=True):
        shown = [label for label in columns if label in raw.places][:_VALUES]
        values = [raw.cells(label) for label in shown]
        counting = " (counting from 0)" * (table.row_names is None)
        meaning = f"; ratio {most}only {a} has such rows, 0: only {b}" * (name == a)
        yield f"rows        the most typical of {name}{without}{counting}{meaning}"
        shown_rows, counts = find_distinct(table, rows, _ROWS)
        has_alike = bool(counts.max() > 1)
        cells: list[tuple[Any, ...]] = [("", "ratio", *(["rows alike"] * has_alike), *shown)]
        for row, count in zip(shown_rows.tolist(), counts.tolist(), strict=True):
            called = str(row) if table.row_names is None else table.row_names[row]
            cells.append((called, f"{ratios[row]:.2f}", *([count] * has_alike), *(column[row] for column in values)))
        yield from frame.align_columns(cells)


def _write_groups(result: "GroupComparisonResult", request: frame.Request, name: str) -> "Iterator[str]":
    """Write what a comparison of several groups of a table found."""
    from fewratio.compare.verdict import write_far

    n_rows = sum(group.n_rows for group in result.groups)
    yield result.verdict
    yield f"table       {name} by {result.by}: {len(result.groups)} groups, {write_count(n_rows, 'row')}"
    yield from request.summary(result.samples, result.names)
    tested = result.p_value is not None
    if tested:
        yield f"p-value     {write_p(result.p_value)} ({result.n_permutations} permutations of all rows)"
    yield f"groups      (each against the rest; at least: a lower limit, 95 %{'; p adjusted for all groups' * tested})"
    cells: list[tuple[Any, ...]] = [("", "rows", "divergence", "at least", *(("p",) * tested))]
    for group in result.groups:
        least = write_limit(group.at_least) if group.at_least else ""
        test = (write_p(group.p_value),) * tested
        cells.append((group.name, group.n_rows, write_far(group.divergence), least, *test))
    yield from frame.align_columns(cells)
    yield f"pairs       {result.count_pairs()}"
    cells = [("", "", "divergence", *(("p",) * tested))]
    for pair in result.pairs[:_PAIRS]:
        test = ("too few rows" if pair.has_few_rows else write_p(pair.adjusted_p_value),) if tested else ()
        cells.append((pair.first, pair.second, write_far(pair.divergence), *test))
    yield from frame.align_columns(cells)
    yield from request.and_more(len(result.pairs) - _PAIRS)
    yield from _write_group_columns(result)


def _write_group_columns(result: "GroupComparisonResult") -> "Iterator[str]":
    """Write the columns that differ, with all groups side by side if there is room."""
    from fewratio.core.effects import write_effect

    tested = result.p_value is not None
    named = [each for each in result.columns if each.p_value is None or each.p_value <= LEVEL]
    if not named:
        smallest = min(each.p_value or 0 for each in result.columns)
        adjusted = "adjusted for all columns and groups"
        yield f"differ in   no single column (smallest p-value, {adjusted}: {write_p(smallest)})"
        return
    adjusted = ", p adjusted for all columns and groups" * tested
    yield f"differ in   (effect of the group that differs most from the rest: Cohen's d, h of shares{adjusted})"
    side_by_side = [["", *result.names, "most different", "effect", *(["p"] * tested)]]
    only_most = [["", "most different", "its values", "effect", *(["p"] * tested)]]
    for each in named[: frame.SHOWN]:
        test = [write_effect(each.effect), *([write_p(each.p_value)] * tested)]
        side_by_side.append([str(each.column), *each.values, each.group, *test])
        only_most.append([str(each.column), each.group, each.values[result.names.index(each.group)], *test])
    yield from frame.align_columns(side_by_side if frame.fits([*zip(*side_by_side, strict=True)]) else only_most)
    if len(named) > frame.SHOWN:
        yield f"  and {len(named) - frame.SHOWN} more; --json gives all"


def _columns(result: "ComparisonResult") -> dict[str, list[Any]]:
    a, b = result.ratios_a.tolist(), result.ratios_b.tolist()
    samples = [result.names[0]] * len(a) + [result.names[1]] * len(b)
    numbers = (range(len(a)), range(len(b))) if result.paired_rows is None else result.paired_rows
    return {"sample": samples, "row": [int(row) for rows in numbers for row in rows], "ratio": a + b}


_SECOND = "Second table, with the same columns, or a file that `fewratio reference` wrote."
_TESTS = f"[default: {PERMUTATIONS}, or as many as --fail-if needs]"
VERB = Verb(
    compare,
    (
        declare_table("a", "First table; - reads CSV from standard input."),
        declare_table("b", _SECOND, is_required=False),
        Field("by", "Compare the groups of one table; names the grouping column (2 to 20 groups).").on_page(
            "Or compare the groups of the first table by", "no column", is_column=True
        ),
        declare_count("permutations", f"Permutations for the p-value; 0 skips the test. {_TESTS}", least=0).on_page(
            "Permutations for the p-value", str(PERMUTATIONS), (0, 100_000)
        ),
        Field("blocks", "Column whose rows belong together, such as patient or day. They are permuted together."),
        Field("paired", "Column that matches the rows of both tables. Pairs of rows are compared.").on_page(
            "Compare pairs of rows with the same", "none", is_column=True
        ),
        Field(
            "fail-if",
            f"Exit with code {frame.FAILED} if this is true: 'p < 0.01', or 'p < 0.01 and divergence > 0.1'. Repeat "
            "the option for alternatives.",
            list[str],
            python="",
        ),
        *SHARED,
    ),
    "result = fewratio.compare_datasets({a}, {b}{settings}{columns})\nprint(result.verdict)",
    Page(
        "Compare",
        "How do two tables differ?",
        "Which columns and rows differ, by how much, and whether that may be chance.",
        {
            "a": ("First table", "For example, last month", "example-grower_1"),
            "b": ("Second table", "For example, this month", "example-grower_2"),
        },
        "wines of two growers",
        instead={"b": "by"},
    ),
)
