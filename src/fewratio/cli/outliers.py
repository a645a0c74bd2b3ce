"""``fewratio outliers``."""

from pathlib import Path
from typing import Annotated, Any

import typer

from fewratio.cli.exchange import (
    SHOWN,
    Answer,
    AsJson,
    Model,
    Output,
    Plot,
    Seed,
    Standardise,
    and_more,
    check_targets,
    chosen_estimator,
    deliver,
    label,
    load_model,
    read_tables,
    verb,
)

_MEANINGS = {
    "contamination": "as many rows have a lower score as --contamination asks for",
    "false discovery rate": "of the odd rows a tenth at most is expected to be normal (by margin, not by score)",
    "quarter of the median": "a quarter of the usual score, a rule of thumb for few normals",
}


@verb
def outliers(
    normal: Annotated[Path, typer.Option(help="Table of rows known to be normal; - for CSV on standard input.")],
    unlabelled: Annotated[Path, typer.Option(help="Table of the rows to judge.")],
    contamination: Annotated[
        float | None, typer.Option(help="Share of rows to flag, at most 0.5. [default: by false discovery rate]")
    ] = None,
    model: Model = None,
    standardise: Standardise = False,
    as_json: AsJson = False,
    output: Output = None,
    plot: Plot = None,
    seed: Seed = 0,
) -> None:
    """Find the odd rows of a table, given rows that are known to be normal.

    Example: fewratio outliers --normal good.csv --unlabelled today.csv --plot odd.png
    """
    check_targets(output, plot, normal, unlabelled, model)
    learned = load_model(model)
    X_inlier, X = read_tables([normal, unlabelled], learned, model)
    import numpy as np

    from fewratio.applications.outliers import InlierOutlierDetector

    estimator = chosen_estimator(learned, standardise)
    detector = InlierOutlierDetector(estimator, contamination, random_state=seed).fit(X_inlier)
    margins, threshold = detector.decision_function(X), detector.threshold(X)
    scores, odd = detector.score_samples(X).tolist(), (margins < 0).tolist()
    order = np.argsort(margins, kind="stable").tolist()
    lines = [
        f"{sum(odd)} of {len(odd)} rows of {label(unlabelled)} are odd (by {detector.threshold_rule_}); "
        "the oddest first, counting from 0:",
        f"threshold {threshold:.3g}: {_MEANINGS[detector.threshold_rule_]}",
        f"{'row':>8}  {'score':>8}  {'':<3}  differs most from the nearest normals in",
    ]
    for row in order[:SHOWN]:
        columns = ", ".join(_differences(detector.explain(X.block(row, row + 1))))
        lines.append(f"{row:>8}  {scores[row]:>8.3g}  {'odd' if odd[row] else '':<3}  {columns}")
    lines += and_more(sum(odd) - SHOWN, output)
    words: dict[str, Any] = {
        "rule": detector.threshold_rule_,
        "threshold": threshold,
        "score": scores,
        "margin": margins.tolist(),
        "odd": odd,
        "order": order,
    }
    # For a person those above will do; many take their time.
    if as_json or (output is not None and output.suffix.lower() == ".json"):
        words["explanations"] = [
            {"row": row, **_explained(detector.explain(X.block(row, row + 1)))} for row in order if odd[row]
        ]
    table = {"row": range(len(odd)), "score": scores, "margin": margins.tolist(), "odd": [int(flag) for flag in odd]}
    deliver(Answer(lines, words, table), as_json, output, plot, lambda: detector.plot(X))


def _explained(explanation: Any) -> dict[str, Any]:
    """Give what a row differs in most: of many columns the rest is noise, and as large as the table."""
    words = explanation.to_dict()
    return words | {key: words[key][:SHOWN] for key in ("columns", "differences")}


def _differences(explanation: Any, most: int = 3) -> list[str]:
    found = zip(explanation.columns[:most], explanation.differences, strict=False)
    return [f"{column} ({difference:+.2g})" for column, difference in found]
