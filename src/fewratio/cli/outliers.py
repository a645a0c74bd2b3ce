"""``fewratio outliers``."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from fewratio.cli import exchange
from fewratio.errors import ParameterError

_REASONS = 3
_MEANINGS = {
    "contamination": "the share of rows that --contamination asks for is below it",
    "false discovery rate": "at most a tenth of the outliers are expected to be normal",
    "rule of thumb": "a rule of thumb, few normal rows would have such a score; it promises nothing",
}


@partial(exchange.verb, without=("report",))
def outliers(
    request: exchange.Request,
    unlabelled: Annotated[Path, typer.Option(help="Table of the rows to judge; - for CSV on standard input.")],
    normal: Annotated[Path | None, typer.Option(help="Table of rows known to be normal.")] = None,
    normal_if: Annotated[
        str | None, typer.Option(help="Which rows of --unlabelled are normal, such as 'status == ok'.")
    ] = None,
    contamination: Annotated[
        float | None, typer.Option(help="Share of rows to flag, at most 0.5. [default: by false discovery rate]")
    ] = None,
) -> None:
    """Find the outliers of a table, given rows that are known to be normal.

    Example: fewratio outliers --normal good.csv --unlabelled today.csv --plot outliers.png
    """
    if (normal is None) == (normal_if is None):
        found = "Neither --normal nor --normal-if is given" if normal is None else "--normal and --normal-if are given"
        raise ParameterError(
            f"{found}; one of them must say which rows are normal. Give a table with --normal, or a condition with "
            "--normal-if."
        )
    tables, estimator = request.read(*((unlabelled,) if normal is None else (normal, unlabelled)))
    import numpy as np

    from fewratio.applications.inputs import Samples
    from fewratio.applications.outliers import InlierOutlierDetector
    from fewratio.applications.rows import most_are_outliers
    from fewratio.data.columns import counted
    from fewratio.data.partition import divided

    X_inlier, raw = tables[0], tables[-1]
    judged = raw
    if normal_if is not None:
        X_inlier, raw, condition = divided(tables[0], normal_if)
        judged = raw.without([condition])
    if request.common:
        shared = [label for label in X_inlier.labels if label in judged.places]
        X_inlier, judged = X_inlier.select(shared), judged.select(shared)
    options = request.options(X_inlier, judged)
    detector = InlierOutlierDetector(estimator, contamination, random_state=request.seed).fit(X_inlier, **options)
    X = detector._open(judged, judged.argument)
    by_rule, threshold = detector._judge(X)
    margins, rule = by_rule - threshold, detector._rule(X.n_rows)
    scores = (by_rule if estimator is None else detector.score_samples(X)).tolist()
    is_outlier, order = (margins < 0).tolist(), np.lexsort([margins, scores]).tolist()
    lines = [
        f"{sum(is_outlier)} of {counted(len(is_outlier), 'row')} of {exchange.label(unlabelled)} are outliers",
        f"threshold   {threshold:.3g}: {_MEANINGS[rule]}",
    ]
    if rule == "false discovery rate" and estimator is None:
        by_thumb = np.less(*detector._judge(X, "rule of thumb")).sum()
        lines.append(f"            {by_thumb} by the rule of thumb for few normal rows, which promises nothing")
    if contamination is None and most_are_outliers(margins < 0):
        lines.append("note        most rows are unlike the normal ones; check their columns, units and kind")
    separating = detector.separating(X)
    apart = [column.column for column in separating]
    encoding = None if detector.encoding_ is None else detector.encoding_.without(apart)
    lines += request.summary(Samples(encoding, [X], separating), ("the normal rows", "the rows to judge"))
    lines.append("rows        the most anomalous first" + ", counting from 0" * (X.row_names is None))
    table = exchange.row_columns(X)
    names = table.get("name", range(X.n_rows))
    cells = [("row", "score", "", "differs most from the nearest normal rows in")]
    for row in order[: exchange.SHOWN]:
        reasons = detector.explain(X.row(row), leave_out=apart).largest(_REASONS).summary
        cells.append((names[row], f"{scores[row]:.3g}", "outlier" if is_outlier[row] else "", reasons))
    lines += exchange.aligned(cells)
    lines += request.and_more(sum(is_outlier) - exchange.SHOWN)
    payload: dict[str, Any] = {
        "rule": rule,
        "threshold": threshold,
        "score": scores,
        "margin": margins.tolist(),
        "outlier": is_outlier,
        "order": order,
        "row_names": table.get("name"),
    }
    # Explaining many rows takes long, and only JSON shows them all; with all columns it would be as large as the table.
    if request.wants_json:
        payload["explanations"] = [
            {"row": row, **detector.explain(X.row(row), leave_out=apart).largest(exchange.SHOWN).to_dict()}
            for row in order
            if is_outlier[row]
        ]
    table |= {"score": scores, "margin": margins.tolist(), "outlier": [int(flag) for flag in is_outlier]}
    request.deliver(exchange.Answer(lines, payload, table, [raw]), lambda: detector.plot(X))
