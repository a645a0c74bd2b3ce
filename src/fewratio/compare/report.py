"""The report of a comparison of two datasets."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fewratio.charts.chart import Chart, Picture, combine
from fewratio.charts.distributions import grouped_bars, marked_histogram, signed_bars
from fewratio.charts.points import limit_chart, small_scatter
from fewratio.charts.style import FIRST, SECOND
from fewratio.compare.blocks import describe_pairs
from fewratio.compare.columns import WORDS_NAMED, explain_effects, explain_parts
from fewratio.compare.regions import explain_regions
from fewratio.compare.verdict import write_headline, write_source
from fewratio.core.draws import draw_rows
from fewratio.core.effects import write_effect
from fewratio.core.wording import (
    group_alike,
    join_names,
    start_sentence,
    write_count,
    write_divergence,
    write_fixed,
    write_list,
    write_number,
    write_p,
    write_share,
)
from fewratio.core.wording import shorten as cut
from fewratio.data.column_kinds import MISSING, NUMBER
from fewratio.data.columns import NOT_IN_ALL
from fewratio.report import page, rows
from fewratio.report.columns import column_treatment
from fewratio.report.distributions import Distribution, by_column, counts_around, is_skewed, round_values, shares_chart
from fewratio.testing import LEVEL

_NAMED, _LARGE, _TYPICAL, _VALUES = 3, 4, 10, 7
# The most points in a small chart; with so few distinct values, points are shifted by this share of a step.
_POINTS, _FEW_LEVELS, _SHIFT = 300, 5, 0.25
# The most rows in the table of columns, and how many of them to draw.
_MOST_COLUMNS, _DRAWN = 600, 10
# Rows shown until the reader asks for all; each of these opens a larger chart, which makes the file larger.
_FIRST = 10


def report_comparison(result: Any, command: str | None) -> page.Report:
    """Say what a comparison found.

    Parameters
    ----------
    result : ComparisonResult
    command : str or None
        The command that makes the report; by default a call in Python.
    """
    columns = result.samples.columns
    shown = result.columns[:_MOST_COLUMNS]
    samples = [table.numbers for table in result.samples.tables]
    distributions = by_column({each.column: columns[each.column] for each in shown}, samples)
    a, b = result.names
    call = "compare_datasets", ("A",) if result.settings.get("by") else ("A", "B")
    return page.Report(
        f"{a} and {b}",
        _answer(result),
        _facts(result),
        [
            page.Section("Overview", _overview(result)),
            page.Section("Columns", _columns(result, shown, distributions)),
            *([page.Section("Words", [_words(result)])] if result.words else []),
            *([page.Section("Relations", _relations(result, command))] if result.relations else []),
            *([page.Section("Regions", _regions(result))] if result.regions else []),
            page.Section("Rows", _rows(result.for_typical_rows, result)),
            page.Section("What was done to the columns", column_treatment(result.samples, result.names)),
            *([] if result.statistic is None else [page.Section("The test", [_explain_test(result)])]),
            page.Section("How this was made", page.describe_making(result.settings, command, *call)),
        ],
        # What the test could have found is reported below.
        headline=page.first_sentence(write_headline(result)),
    )


def _overview(result: Any) -> list[page.Block]:
    """Show how far apart the tables are, which columns they do not share, and what is missing or occurs twice."""
    samples, names = result.samples, result.names
    rows_of: dict[str, list[str]] = {}
    # Encoded tables, and tables read from files in pieces, are not read again.
    raws = samples._raws
    if raws and all(raw.is_held for raw in raws):
        labels = [[str(label) for label in raw.labels] for raw in raws]
        only = [[label for label in own if label not in set(other)] for own, other in (labels, labels[::-1])]
        kinds = [{label: raw.values(label).as_read().kind for label in raw.labels if raw.is_named} for raw in raws]
        changed = [label for label, kind in kinds[0].items() if len({kind, kinds[1].get(label, kind)} - {MISSING}) > 1]
        if any(only):
            rows_of["columns"] = [write_fixed(len(each), 0) for each in labels]
            rows_of["columns only in this table"] = [write_list(map(cut, each)) or "none" for each in only]
        if changed:
            rows_of["columns of another type"] = [
                write_list(f"{cut(label)} ({kind[label]})" for label in changed) for kind in kinds
            ]
    if all(isinstance(table.numbers, np.ndarray) for table in samples.tables):
        gaps = [place.stop - 1 for column, place in samples.columns.values() if column.marks_missing]
        n_cells = len(samples.columns)
        missing = [int(table.numbers[:, gaps].sum()) for table in samples.tables]
        rows_of["missing cells"] = [
            f"{write_fixed(n, 0)}{f' ({write_share(n / (table.n_rows * n_cells))})' if n else ''}"
            for n, table in zip(missing, samples.tables, strict=True)
        ]
        repeated = [table.n_rows - len(np.unique(table.numbers, axis=0)) for table in samples.tables]
        rows_of["duplicate rows"] = [write_fixed(n, 0) for n in repeated]
    note = "Missing cells and duplicate rows: in the columns that are compared; rare categories count as one."
    table = page.Table(
        "The two tables", ["", *names], [[what, *cells] for what, cells in rows_of.items()], False, note,
        colours=dict(zip(names, (FIRST, SECOND), strict=True)),
    )  # fmt: skip
    return [*_how_far(result), *([table] if rows_of else [])]


def _answer(result: Any) -> str:
    differ = [each for each in result.columns if each.p_value is None or each.p_value <= LEVEL][:_NAMED]
    explained = [(cut(str(each.column)), result.explain_small_effect(each)) for each in differ]
    named = ", ".join(f"{name} ({said})" if said else name for name, said in explained)
    first = f"\n{'Strongest' if result.p_value is None else 'Clearest'}: {named}."
    caution = f"\n{result.caution}" if result.caution else ""
    if result.p_value is None:
        return f"{result.verdict}{_apart(result)}{first}{caution}"
    rest = f"{_not_compared(result)}{caution}"
    if result.p_value > LEVEL:
        return f"{result.verdict}{_apart(result)}{rest}"
    together = "\nNo single column stands out; they differ together."
    told = first if named else together
    told += f" {source}" if (source := write_source(result)) else ""
    told += f"\n{result.words[0].write(result.names)}." if result.words else ""
    told += f"\n{result.relations[0].write(result.names)}." if result.relations else ""
    is_hint = (result.without_non_overlapping or result).p_value > LEVEL
    told += f"\n{result.regions[0].write(result.names)}." if result.regions and not is_hint else ""
    return f"{result.verdict}{_apart(result)}{told}{rest}"


def _apart(result: Any) -> str:
    """Name the columns whose values do not overlap."""
    all_rows = [cut(str(each.column), 80) for each in result.non_overlapping if each.share == 1]
    most = [each for each in result.non_overlapping if each.share < 1]
    said = ""
    if all_rows:
        called, verb, own = ("columns", "separate", "their") if len(all_rows) > 1 else ("column", "separates", "its")
        said = f" The {called} {join_names(all_rows)} {verb} the tables on {own} own."
    for each in most[:_NAMED]:
        said += f" The column {cut(str(each.column), 80)} alone separates {each.rows}."
    return said


def _not_compared(result: Any) -> str:
    """Name the columns that one table lacks."""
    columns = () if result.encoding is None else result.encoding.columns
    names = [cut(column.name) for column in columns if column.left_out == NOT_IN_ALL]
    return f"\nNot compared, since only one table has them: {write_list(names, _NAMED)}." if names else ""


def _facts(result: Any) -> dict[str, str]:
    facts = {"Divergence": page.with_figure(result.describe_divergence())}
    if result.p_value is not None:
        which = "all " if result.is_enumerated else ""
        count = write_count(result.n_permutations, "permutation")
        facts["Test"] = f"p = {write_p(result.p_value)}\nfrom {which}{count}"
    sizes = group_alike([write_fixed(len(each), 0) for each in (result.ratios_a, result.ratios_b)])
    facts["Rows"] = f"{' and '.join(sizes)}\nof {' and '.join(result.names)}"
    if result.paired_rows is not None:
        facts["Pairs"] = page.with_figure(describe_pairs(result))
    summary = result.encoding.summary if result.encoding is not None and result.encoding.is_named else ""
    if result.p_value is not None:
        differ = sum(each.p_value <= LEVEL for each in result.columns)
        verb = "differs" if 1 in (differ, len(result.columns)) else "differ"
        facts["Columns"] = (
            f"{differ} of {len(result.columns)}\n{verb} (p at most {LEVEL}){'; ' * bool(summary)}{summary}"
        )
    elif summary:
        facts["Columns"] = page.with_figure(summary)
    if result.model_used is not None:
        facts["Model"] = start_sentence(result.model_used, ())
    if result.rows_used is not None:
        facts["Rows used"] = result.rows_used
    return facts


def _how_far(result: Any) -> list[page.Block]:
    if not math.isfinite(result.max_divergence):
        return []
    about = "0: the samples do not differ; the right end: they have nothing in common."
    limit = " The bar begins at the lower limit (95 %, approximate)." if result.at_least else ""
    if result.may_be_chance:
        limit = " The test finds no difference, so a divergence of this size may be chance."
    chart = limit_chart(result.divergence, result.at_least, result.max_divergence, "divergence")
    return [replace(chart, caption=about + limit)]


def _explain_test(result: Any) -> Chart:
    share = f"{100 * result.p_value:.1f} %" if result.p_value >= 0.001 else "almost none"
    shuffling = "shuffling rows between the samples" if result.paired_rows is None else "swapping the rows of pairs"
    about = (
        f"If there were no difference, {shuffling} would change nothing. The bars show the "
        f"statistic of {write_count(result.n_permutations, 'such shuffle')}; {share} of them, counting the observed "
        "one, are at least as large as observed."
    )
    return replace(_test(result), caption=about)


def draw_comparison(result: Any) -> Picture:
    """Draw the ratio at the rows of both samples, the test if there was one, and the columns that differ most."""
    panels = [(_ratios(result), "Ratio at the rows", 300)]
    if result.statistic is not None:
        panels.append((_test(result), f"Test: p = {write_p(result.p_value)}", 300))
    panels.append((_effects(result), _title_columns(result), 260))
    return combine(panels, " and ".join(cut(name, 48) for name in result.names))


def _test(result: Any) -> Chart:
    """Draw the test statistic of the permutations, and the observed one."""
    edges, counts = counts_around(result.null_distribution, result.statistic)
    titles = "test statistic: evidence of a difference", "permutations"
    return marked_histogram(edges, {"permutations": counts}, titles, (float(result.statistic), "observed"))


def _ratios(result: Any) -> Chart:
    """Draw how the ratio is distributed at the rows of both samples."""
    (a, b), ratios = result.names, dict(zip(result.names, (result.ratios_a, result.ratios_b), strict=True))
    highest = max(_largest_ratio(result), *(float(each.max()) for each in ratios.values()))
    medians = [float(np.median(each)) for each in ratios.values()]
    about = f"Ratio at the rows: median {medians[0]:.2f} at those of {a}, {medians[1]:.2f} at those of {b}."
    return shares_chart(ratios, highest, 20, f"ratio {cut(a, 20)}/{cut(b, 20)}", about)


def _largest_ratio(result: Any) -> float:
    if math.isfinite(result.max_divergence):
        return 1 + 2 * float(result.max_divergence)
    return float(max(each.max() for each in (result.ratios_a, result.ratios_b)))


def _effects(result: Any) -> Chart:
    """Draw the effect sizes of the columns that differ most."""
    # Columns without an effect size have no bar.
    shown = [each for each in result.columns[:_DRAWN] if each.effect is not None] or result.columns[:_DRAWN]
    names, effects = [str(each.column) for each in shown], [round(float(each.effect or 0), 4) for each in shown]
    is_clear = [each.p_value is None or each.p_value <= LEVEL for each in shown]
    title = [f"effect; above 0: more in {cut(result.names[0], 20)}"]
    title += [] if all(is_clear) else [f"grey: p > {LEVEL}"]
    largest = max(shown, key=lambda each: abs(each.effect or 0))
    size = write_effect(largest.effect) or "none"
    about = f"Effect sizes of {write_count(len(shown), 'column')}, the largest that of {largest.column}: {size}."
    return signed_bars(names, effects, is_clear, title, about)


def _title_columns(result: Any) -> str:
    """Name the order of the columns: by p-value, or by effect if there was no test."""
    return f"Columns, the {'strongest' if result.p_value is None else 'clearest'} first"


def _columns(result: Any, shown: Sequence[Any], distributions: Mapping[str | int, Distribution]) -> list[page.Block]:
    a, b = result.names
    is_tested, is_measured = result.p_value is not None, shown[0].alone is not None
    has_gaps = any(any(each.missing) for each in distributions.values())
    headings = ["column", "effect", *["p"] * is_tested, "distributions", a, b, *["missing"] * has_gaps]
    headings += ["alone", "without"] * is_measured + ["kind"]
    table, joint = [], result.joint_columns
    for each in shown:
        found = distributions[each.column]
        gaps = " / ".join(write_share(share) for share in found.missing) if any(found.missing) else ""
        what = result.explain_small_effect(each).rpartition(", ")[2]
        effect = page.Number(each.effect or 0, f"{write_effect(each.effect)}\n{what}".strip())
        test = [] if each.p_value is None else [page.Number(each.p_value, write_p(each.p_value))]
        measured = []
        if is_measured:
            parts = each.alone, each.without
            measured = [page.Number(part or 0, "" if part is None else write_divergence(part)) for part in parts]
        name = f"{each.column} *" if each in joint else str(each.column)
        values = [found.small_chart(result.names), each.first, each.second, *([gaps] if has_gaps else [])]
        table.append([name, effect, *test, *values, *measured, each.kind])
    left, names = len(result.columns) - len(shown), [each.column for each in shown]
    note = (
        f"Effect: {explain_effects(shown, a)}. "
        + "p: adjusted for all columns; the smallest comes first. " * is_tested
        + "Below it: what differs though the mean hardly does. " * any(map(result.explain_small_effect, shown))
        + f"Distributions: {a} above the line, {b} below it, on the same scale."
        + f" {left} more columns, which differ less, are left out here." * (left > 0)
        + "".join(f" {start_sentence(said, names)}." for said in explain_parts(result, shown))
    )
    return [
        _effects(result),
        page.Table(
            _title_columns(result),
            headings,
            table,
            True,
            note,
            n_first=_FIRST,
            larger=[distributions[each.column].chart(result.names) for each in shown[:_FIRST]],
            colours={a: FIRST, b: SECOND},
            minor=("kind", "missing", "alone", "without"),
        ),
        page.Charts([distributions[each.column].chart(result.names) for each in shown[:_LARGE]]),
    ]


def _words(result: Any) -> page.Block:
    table = [
        [
            each.text,
            str(each.column),
            *(page.Number(share, write_share(share)) for share in (each.first, each.second)),
            page.Number(each.p_value, write_p(each.p_value)),
        ]
        for each in result.words
    ]
    note = f"Shares: rows that have it. p: adjusted for all words and phrases. {WORDS_NAMED}"
    headings = ["word or phrase", "column", *result.names, "p"]
    return page.Table("Words that differ, the clearest first", headings, table, len(table) > 20, note)


def _relations(result: Any, command: str | None) -> list[page.Block]:
    """Draw the two columns of a relation side by side, or show their means or shares by category."""
    blocks: list[page.Block] = []
    for each in result.relations[:_NAMED]:
        blocks.append(page.Text(f"{each.write(result.names)}."))
        if each.inside is None:
            kinds = {result.samples.columns[label][0].kind for label in each.columns}
            blocks.extend([page.Charts(_scatters(result, each))] if kinds <= {NUMBER} else [])
        else:
            table = [
                [where, *cells] for where, cells in zip((f"where {each.where}", "elsewhere"), each.cells, strict=True)
            ]
            blocks.append(page.Table(start_sentence(each.what, each.columns), ["rows", *result.names], table))
    left = len(result.relations) - _NAMED
    where = "result.relations has" if command is None else "--json lists"
    others = f"{write_count(left, 'more pair')} of columns changed; {where} all. "
    more = others if left > 0 else ""
    return [*blocks, page.Text(f"{more}The p-values are adjusted for all pairs of columns.")]


def _scatters(result: Any, relation: Any) -> list[Chart]:
    """Draw two columns of numbers against each other for each sample, on the same axes."""
    columns = [result.samples.columns[label] for label in relation.columns]
    drawn = []
    for table in result.samples.tables:
        known = np.ones(table.n_rows, dtype=np.bool_)
        for column, place in columns:
            known &= (table.numbers[:, place.stop - 1] == 0) if column.marks_missing else True
        rows = np.flatnonzero(known)
        rows = rows[draw_rows(table.numbers[rows], _POINTS, np.random.default_rng(0))]
        drawn.append({axis: table.numbers[rows, place.start] for axis, (_, place) in zip("xy", columns, strict=True)})
    domains = {
        axis: [min(float(each[axis].min()) for each in drawn), max(float(each[axis].max()) for each in drawn)]
        for axis in "xy"
    }
    titles = [cut(str(label)) for label in relation.columns]
    are_log = {}
    for place, axis in enumerate("xy"):
        pooled = np.concatenate([each[axis] for each in drawn])
        are_log[axis] = is_skewed(pooled)
        levels = np.unique(pooled)
        if len(levels) <= _FEW_LEVELS:
            # Equal points would hide each other.
            titles[place] += " (dots shifted)"
            apart = _SHIFT * float(np.diff(levels).min(initial=levels[-1] - levels[0]))
            shifts = np.random.default_rng(place)
            for each in drawn:
                each[axis] = each[axis] + shifts.uniform(-apart, apart, len(each[axis]))
            domains[axis] = [domains[axis][0] - apart, domains[axis][1] + apart]
    return [
        small_scatter(
            {axis: round_values(each) for axis, each in points.items()},
            (titles[0], titles[1]),
            domains,
            colour,
            (
                f"{len(points['x'])} dots: {titles[1]} by {titles[0]} in {cut(name)}.",
                f"{cut(name)}: rank correlation {write_fixed(round(correlation, 2) + 0.0, 2)}",
            ),
            are_log,
        )
        for name, points, colour, correlation in zip(
            result.names, drawn, (FIRST, SECOND), (relation.first, relation.second), strict=True
        )
    ]


def _regions(result: Any) -> list[page.Block]:
    a, b = result.names
    rules = [f"{place}. {'of the rest: ' * each.is_of_rest}{each.rule}" for place, each in enumerate(result.regions, 1)]
    labels = [str(place) for place in range(1, len(rules) + 1)]
    shares = {a: [each.first for each in result.regions], b: [each.second for each in result.regions]}
    described = ". ".join(each.write(result.names) for each in result.regions)
    table = [
        [
            rule,
            *(page.Number(share, text) for share, text in zip((each.first, each.second), each.shares, strict=True)),
            page.Number(min(each.ratio, 1e9), write_number(each.ratio, 2)),
            f"{write_number(each.ratio_low, 2)} to {write_number(each.ratio_high, 2)}",
            page.Number(each.p_value, write_p(each.p_value)),
        ]
        for rule, each in zip(rules, result.regions, strict=True)
    ]
    headings = ["rows with", a, b, "times", "95 %", "p"]
    interval = (
        f"Times: the share in {a} divided by that in {b}; 95 %: an approximate interval of it, which also accounts for "
        "the search."
    )
    note = " ".join(f"{start_sentence(said, result.samples.columns)}." for said in explain_regions(result))
    return [
        grouped_bars(labels, shares, "regions", f"{described}."),
        page.Table("Where the tables differ, the strongest region first", headings, table, False, f"{note} {interval}"),
    ]


def _rows(result: Any, whole: Any) -> list[page.Block]:
    """Show which rows are typical; `whole` is the comparison of all columns."""
    a, b = result.names
    aside = whole.set_aside
    labels = [str(each.column) for each in result.columns]
    tables, ratios = result.samples.tables, (result.ratios_a, result.ratios_b)
    raws = [rows.restore_given(X, table) for X, table in zip(result.samples.given, tables, strict=True)]
    about = (
        f"The ratio compares how likely a row is in {a} and in {b}: above 1 it is more typical of {a}, below 1 of {b}, "
        "near 1 of both."
    )
    if math.isfinite(result.max_divergence):
        about += f" At {_largest_ratio(result):g}, the largest possible ratio, only {a} has such rows; at 0, only {b}."
    if aside and not result.set_aside:
        about += f" These ratios leave {aside} aside. Otherwise all rows would be almost equally typical."
    if whole.may_be_chance:
        about += " The test finds no difference, so these ratios may be chance."
    if result.divergence and not whole.has_typical_rows:
        about += f" All rows are equally typical of their table: nothing but {aside} separates the tables."
    regions, region_of = [f"{place}. {cut(each.rule, 80)}" for place, each in enumerate(result.regions, 1)], []
    for table, of_table in zip(tables, zip(*map(result.rows, result.regions), strict=True), strict=bool(regions)):
        region_of.append(np.full(table.n_rows, -1))
        for number, inside in enumerate(of_table):
            region_of[-1][inside] = number
    points = rows.row_map(
        result.names, tables, raws, ratios, labels, _largest_ratio(result), regions=regions, region_of=region_of
    )
    blocks: list[page.Block] = [page.Text(about), _ratios(result), points]
    if not whole.has_typical_rows:
        return blocks
    for name, table, raw, order, each in zip(
        result.names, tables, raws, (result.rows_a, result.rows_b), ratios, strict=True
    ):
        # A ratio on the other side of 1 is typical of the other sample.
        is_typical = each > 1 if name == a else each < 1
        typical, counts = rows.find_distinct(table, order[is_typical[order]], _TYPICAL)
        if len(typical):
            caption = f"The rows most typical of {name}"
            blocks.append(rows.row_table(caption, table, raw, typical, {"ratio": each}, labels[:_VALUES], counts))
        else:
            blocks.append(page.Text(f"No row is more typical of {name} than of the other table."))
    return blocks
