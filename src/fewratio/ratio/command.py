"""``fewratio ratio``."""

import math
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from fewratio.cli import frame
from fewratio.cli.verb import SHARED, Verb, declare_table
from fewratio.core.wording import OF_FITTED_ROWS

# The probability of intervals.
LEVEL = 0.9
# A smaller share of columns as they are is not mentioned.
_LEAST_SHARE = 0.005


def ratio(request: frame.Request, nu: Path, de: Path, rows: Path | None) -> None:
    """Estimate the density ratio of two samples at given rows.

    Rows of CSV, TSV and Parquet files are read and written piece by piece, so there can be any number.

    Example: fewratio ratio new.csv old.csv rows.csv --output ratios.csv
    """
    files, estimator = request.find(*([nu, de] if rows is None else [nu, de, rows]))
    from fewratio import AutoRatioEstimator
    from fewratio.core.blocks import HIDDEN_VALUES, block_rows
    from fewratio.core.wording import write_count, write_divergence
    from fewratio.data.raw_table import naming_rows
    from fewratio.data.readers.files import open_rows, read_raw
    from fewratio.estimators.samples import check_compares, read_samples
    from fewratio.progress import progress_bar
    from fewratio.ratio.report import RatioRows

    tables = [frame.cut_series(read_raw(file), estimator) for file in files[:2]]
    if estimator is None or request.model is None:
        # The network's ratios of small samples are better than a kernel's (docs/decisions/0008).
        estimator = AutoRatioEstimator(scale=request.scale or "auto", random_state=0)
    check_compares(estimator)
    samples = read_samples(estimator, {raw.name: raw for raw in tables}, request.options(*tables))
    X_nu, X_de = samples.tables
    # Whole blocks, so that predict forms the same blocks as for a table in memory: bit-identical.
    step = block_rows(X_nu.n_features + HIDDEN_VALUES)
    step *= block_rows(step * X_nu.n_features)
    pieces: list[dict[str, Sequence[Any]]] = []
    given = tables[0] if rows is None else None
    if rows is not None and frame.cuts_series(estimator):
        # The whole series is read at once, since a window may lie in two pieces.
        given = frame.cut_series(read_raw(files[2]), estimator)
    with open_rows(files[2]) if given is None else nullcontext(given) as source:
        estimator.fit(X_nu, X_de)
        start, n_rows = 0, source.n_rows
        is_sure = estimator.has_intervals
        shown = RatioRows(n_rows)
        with request.row_file() as write, progress_bar(n_rows, "ratios", unit="rows") as report:
            for raw in source.pieces(step):
                with naming_rows(raw, start, n_rows):
                    encoding = None if estimator.has_sources else samples.encoding
                    table = estimator._open(raw, "X") if encoding is None else encoding.encode(raw)
                ratios = estimator.predict(table)
                columns = frame.identify_rows(table, start) | {"ratio": ratios.tolist()}
                if is_sure:
                    columns |= dict(
                        zip(("lower", "upper"), estimator._bound_ratios(ratios, LEVEL).T.tolist(), strict=True)
                    )
                if request.report is not None or request.plot is not None:
                    shown.add(table, raw, ratios, start)
                write(columns, raw)
                # Without JSON only the first rows are shown.
                if not pieces or request.wants_json:
                    pieces.append(columns)
                start += table.n_rows
                report(start, None)
    divergence = estimator.divergence()
    labels = frame.make_labels(nu, de, nu if rows is None else rows)
    # That of the fitted rows may be below 0.
    size, limits = write_divergence(max(divergence, 0.0)), f"that divergence is {OF_FITTED_ROWS}"
    if is_sure:
        least, most = estimator.divergence_interval(LEVEL)
        size = f"{_floor(least):.3g} to {-_floor(-most):.3g} with probability {LEVEL}"
        limits = f"a ratio is between lower and upper with probability {LEVEL}"
    lines = [
        f"{labels[0]} ({write_count(X_nu.n_rows, 'row')}) over {labels[1]} ({write_count(X_de.n_rows, 'row')}): "
        f"divergence {size}",
        f"({limits})",
        *describe_units(estimator),
        *request.summary(samples, labels),
        f"ratio at the rows of {labels[2]}:",
        *request.write_first_rows(pieces[0], n_rows),
    ]
    names = {"ratio": "ratio", "lower": "lower", "upper": "upper", "name": "row_names"}
    joined = {names[key]: [value for columns in pieces for value in columns[key]] for key in names if key in pieces[0]}
    payload = {"divergence": divergence, **joined}
    if hasattr(estimator, "share_of_one_unit_"):
        payload["share_of_one_unit"] = estimator.share_of_one_unit_
    if is_sure:
        payload["divergence_interval"] = least, most
    request.deliver(
        frame.Answer(lines, {"row_names": None} | payload, None),
        lambda: shown.draw(labels),
        lambda command: shown.report(
            labels, size if is_sure else f"{size}, {OF_FITTED_ROWS}", samples, {"estimator": estimator}, command
        ),
    )


def _floor(value: float) -> float:
    """Return a number rounded down to three decimals."""
    return math.floor(1000 * value) / 1000


def describe_units(estimator: Any) -> list[str]:
    """Say that answers depend on units, if values as they are count."""
    share = getattr(estimator, "share_of_one_unit_", 0.0) if getattr(estimator, "scale", None) == "auto" else 0.0
    if share < _LEAST_SHARE:
        return []
    where = " for fewratio train" if estimator.has_sources else ""
    return [
        f"({100 * share:.0f} % of the answer compares columns as they are, so a column of larger numbers counts more; "
        f"if the columns have different units, use --scale columns{where})"
    ]


VERB = Verb(
    ratio,
    (
        declare_table("nu", "Sample of the numerator; - reads CSV from standard input."),
        declare_table("de", "Sample of the denominator."),
        declare_table("rows", "Rows at which to evaluate the ratio. [default: those of NU]", is_required=False),
        *SHARED[:-1],
    ),
)
