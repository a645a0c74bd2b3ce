"""The report of a comparison of several groups."""

from dataclasses import replace
from typing import Any

from fewratio.charts.chart import Chart, Picture, combine
from fewratio.charts.distributions import marked_histogram
from fewratio.charts.heat_map import heat_map
from fewratio.compare.verdict import write_far
from fewratio.core.effects import write_effect
from fewratio.core.wording import shorten as cut
from fewratio.core.wording import write_count, write_fixed, write_limit, write_p, write_share
from fewratio.report import page
from fewratio.report.columns import column_treatment
from fewratio.report.distributions import Distribution, by_column, counts_around

# The most columns in the table, and columns and groups in a drawing.
_MOST_COLUMNS, _DRAWN, _MOST_DRAWN_GROUPS = 600, 4, 6
# The fewest groups for a map of all pairs; and the columns shown until the reader asks for all.
_FEWEST_MAPPED, _FIRST = 5, 10


def report_groups(result: Any, command: str | None) -> page.Report:
    """Say what a comparison of several groups found.

    Parameters
    ----------
    result : GroupComparisonResult
    command : str or None
        The command that makes the report; by default a call in Python.
    """
    names = _short_names(result)
    sizes = ", ".join(f"{write_fixed(group.n_rows, 0)} of {names[group.name]}" for group in result.groups)
    facts = {
        "Rows": f"{write_fixed(sum(group.n_rows for group in result.groups), 0)}\n{sizes}",
        "Pairs": page.with_figure(result.count_pairs()),
    }
    if result.p_value is not None:
        count = write_count(result.n_permutations, "permutation")
        facts["Test"] = f"p = {write_p(result.p_value)}\nfrom {count} of all rows"
    if result.encoding is not None and result.encoding.is_named:
        facts["Columns"] = page.with_figure(result.encoding.summary)
    # The title names the column.
    answer = result.verdict.replace(f"{result.by} = ", "")
    making = page.describe_making(result.settings, command, "compare_datasets", ("A",))
    return page.Report(
        f"{write_count(len(result.groups), 'group')} by {result.by}",
        answer,
        facts,
        [
            page.Section("Groups", _groups(result)),
            page.Section("Pairs", _pairs(result)),
            page.Section("Columns", _columns(result)),
            page.Section("What was done to the columns", column_treatment(result.samples, list(names.values()))),
            *([] if result.statistic is None else [page.Section("The test", [_explain_test(result)])]),
            page.Section("How this was made", making),
        ],
        headline=page.first_sentence(answer),
    )


def _short_names(result: Any) -> dict[str, str]:
    """Return the name of each group without the column name, which is in the title."""
    return {name: name.removeprefix(f"{result.by} = ") for name in result.names}


def draw_groups(result: Any) -> Picture:
    """Draw the divergences of all pairs, the test if there was one, and the column that differs most."""
    panels = [(_heat_map(result), "Divergence of each pair", 300)]
    if result.statistic is not None:
        panels.append((_test(result), f"Test: p = {write_p(result.p_value)}", 300))
    panels.append((_distributions(result)[0], f"{cut(str(result.columns[0].column))} differs most", 300))
    return combine(panels, f"{len(result.groups)} groups by {cut(result.by)}")


def _groups(result: Any) -> list[page.Block]:
    is_tested, names = result.p_value is not None, _short_names(result)
    table = [
        [names[group.name], group.n_rows, _divergence(group), _least(group), *([_p_value(group.p_value)] * is_tested)]
        for group in result.groups
    ]
    note = (
        "Divergence from all other groups together, 0 if the model sees no difference. At least: an approximate 95 % "
    )
    note += "lower limit of the true one."
    note += " p: adjusted for all groups." * is_tested
    headings = [str(result.by), "rows", "divergence from the rest", "at least", *(["p"] * is_tested)]
    return [page.Table("Each group against the rest", headings, table, False, note)]


def _explain_test(result: Any) -> Chart:
    about = (
        "If the groups did not differ, shuffling the rows among all groups would change nothing. The bars show the "
        f"statistic of {write_count(result.n_permutations, 'such shuffle')}."
    )
    return replace(_test(result), caption=about)


def _test(result: Any) -> Chart:
    """Draw the test statistic of the permutations, and the observed one."""
    edges, counts = counts_around(result.null_distribution, result.statistic)
    titles = "test statistic: evidence of a difference", "permutations"
    return marked_histogram(edges, {"permutations": counts}, titles, (float(result.statistic), "observed"))


def _pairs(result: Any) -> list[page.Block]:
    is_tested, names = result.p_value is not None, _short_names(result)
    table = []
    for pair in result.pairs:
        p_value = _p_value(pair.adjusted_p_value)
        test = p_value._replace(text="too few rows") if pair.has_few_rows else p_value
        table.append([names[pair.first], names[pair.second], _divergence(pair), *([test] * is_tested)])
    headings = ["first", "second", "divergence", *(["p"] * is_tested)]
    note = "p: from permutations of the rows of the two groups, adjusted for all pairs (Holm)." * is_tested
    found = page.Table("All pairs, the clearest first", headings, table, len(table) > 20, note)
    return [_heat_map(result), found] if len(result.groups) >= _FEWEST_MAPPED else [found]


def _heat_map(result: Any) -> Chart:
    names = result.names
    found = {frozenset((pair.first, pair.second)): pair for pair in result.pairs}
    cells: dict[str, list[Any]] = {"divergence": []}
    for first in names:
        for second in names:
            pair = found.get(frozenset((first, second)))
            cells["divergence"].append(0.0 if pair is None else round(pair.divergence or 0.0, 4))
            if result.p_value is not None:
                cells.setdefault("adjusted p", []).append(1.0 if pair is None else round(pair.adjusted_p_value, 4))
    short = list(_short_names(result).values())
    return heat_map(
        (short, short), cells, ("", "", "divergence"), f"Heat map of the divergences of {len(names)} groups."
    )


def _columns(result: Any) -> list[page.Block]:
    is_tested, names = result.p_value is not None, _short_names(result)
    has_gaps = any(any(each.missing) for each in result.columns)
    test, gaps = ["p"] * is_tested, ["missing"] * has_gaps
    headings = ["column", *test, "most different", "effect", *names.values(), *gaps, "kind"]
    table = []
    for each in result.columns[:_MOST_COLUMNS]:
        missing = " / ".join(write_share(share) for share in each.missing) if any(each.missing) else ""
        effect = page.Number(each.effect, write_effect(each.effect))
        found = [_p_value(each.p_value)] * is_tested
        table.append(
            [str(each.column), *found, names[each.group], effect, *each.values, *([missing] * has_gaps), each.kind]
        )
    left = len(result.columns) - len(table)
    note = (
        "Means with standard deviations, or the share of the category that differs most. Most different: the group "
        "that differs most from the rest. Effect: of that group against the rest, Cohen's d of means, h of shares."
        + " p: adjusted for all columns and groups." * is_tested
        + f" {left} more columns, which differ less, are left out here." * (left > 0)
    )
    drawn = page.Charts(_distributions(result))
    return [
        page.Table(
            "Columns, those that differ most clearly first",
            headings,
            table,
            True,
            note,
            n_first=_FIRST,
            minor=("kind",),
        ),
        drawn,
    ]


def _distributions(result: Any) -> list[Chart]:
    """Draw the columns that differ most, for the largest groups if there are many."""
    by_size = sorted(range(len(result.groups)), key=lambda place: -result.groups[place].n_rows)
    places = sorted(by_size[:_MOST_DRAWN_GROUPS])
    columns = {each.column: result.samples.columns[each.column] for each in result.columns[:_DRAWN]}
    samples = [result.samples.tables[place].numbers for place in places]
    found: dict[Any, Distribution] = by_column(columns, samples)
    return [each.chart([_short_names(result)[result.names[place]] for place in places]) for each in found.values()]


def _divergence(found: Any) -> page.Number:
    return page.Number(found.divergence or 0.0, write_far(found.divergence))


def _least(group: Any) -> page.Number:
    return page.Number(group.at_least or 0.0, write_limit(group.at_least) if group.at_least else "")


def _p_value(p_value: float | None) -> page.Number:
    return page.Number(p_value or 0.0, "" if p_value is None else write_p(p_value))
