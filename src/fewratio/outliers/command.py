"""``fewratio outliers``."""

from dataclasses import replace
from pathlib import Path

from fewratio.cli import frame
from fewratio.cli.verb import COMMON, SHARED, Field, Page, Verb, declare_table
from fewratio.errors import ParameterError

_REASONS = 3


def outliers(
    request: frame.Request,
    unlabelled: Path,
    normal: Path | None,
    normal_if: str | None,
    contamination: float | None,
    common: bool,
) -> None:
    """Find the outliers of a table, given rows that are known to be normal.

    Rows to judge of a large CSV, TSV or Parquet file stay there, and are read and written as they come, unless
    --normal-if or --model needs them all.

    Example: fewratio outliers --normal good.csv --unlabelled today.csv --report outliers.html
    """
    if (normal is None) == (normal_if is None):
        found = "Neither --normal nor --normal-if is given" if normal is None else "--normal and --normal-if are given"
        raise ParameterError(
            f"{found}; one of them must say which rows are normal. Give a table with --normal, or a condition with "
            "--normal-if."
        )
    paths = (unlabelled,) if normal is None else (normal, unlabelled)
    with request.open(*paths) as (tables, estimator):
        from fewratio.core.wording import write_count
        from fewratio.data.split_table import split_by_condition
        from fewratio.outliers.detector import InlierOutlierDetector
        from fewratio.outliers.rows import most_are_outliers

        X_inlier, raw = tables[0], tables[-1]
        judged = raw
        if normal_if is not None:
            X_inlier, raw, condition = split_by_condition(tables[0], normal_if)
            judged = raw.drop([condition])
        if common:
            shared = [label for label in X_inlier.labels if label in judged.places]
            X_inlier, judged = X_inlier.select(shared), judged.select(shared)
        options = request.options(X_inlier, judged)
        detector = InlierOutlierDetector(estimator, contamination, random_state=request.seed).fit(X_inlier, **options)
        result = detector.detect(judged)
        X, n_outliers = result.samples.tables[0], int(result.is_outlier.sum())
        lines = [
            f"{n_outliers} of {write_count(X.n_rows, 'row')} of {frame.make_label(unlabelled)} are outliers",
            f"threshold   {result.threshold:.3g}: {result.meaning}",
        ]
        if result.rule == "false discovery rate" and estimator is None:
            by_thumb = (result.scores < detector._threshold(result._scored, "rule of thumb")).sum()
            lines.append(f"            {by_thumb} by the rule of thumb for few normal rows, which promises nothing")
        if contamination is None and most_are_outliers(result.is_outlier):
            lines.append("note        most rows are unlike the normal ones; check their columns, units and kind")
        lines += request.summary(result.samples, ("the normal rows", "the rows to judge"), result.non_overlapping)
        lines.append("rows        the most anomalous first" + ", counting from 0" * (X.row_names is None))
        table = frame.identify_rows(X)
        names = table.get("name", range(X.n_rows))
        cells = [("row", "score", "", "differs most from the nearest normal rows in")]
        # Explaining many rows takes long, and only JSON shows them all.
        n_explained = max(frame.SHOWN, n_outliers if request.wants_json else 0)
        explained = result.order[:n_explained].tolist()
        reasons = result.explanations(explained)
        for row, reason in zip(explained[: frame.SHOWN], reasons, strict=False):
            mark = "outlier" if result.is_outlier[row] else ""
            cells.append((names[row], f"{result.scores[row]:.3g}", mark, reason.largest(_REASONS).summary))
        lines += frame.align_columns(cells)
        lines += request.and_more(n_outliers - frame.SHOWN)
        payload = result.to_dict() if request.wants_json else {}
        if payload:
            # With all columns the reasons would be as large as the table.
            payload["explanations"] = [
                {"row": row, **reason.largest(frame.SHOWN).to_dict()}
                for row, reason in zip(explained, reasons, strict=True)
                if result.is_outlier[row]
            ]
        table |= {"score": result.scores, "margin": result.margins, "is_outlier": result.is_outlier.astype(int)}
        request.deliver(
            frame.Answer(lines, payload, table, [raw]),
            result.plot,
            lambda command: result._report(command, frame.make_label(unlabelled)),
        )


VERB = Verb(
    outliers,
    (
        declare_table("unlabelled", "Table of the rows to judge; - for CSV on standard input.", is_positional=False),
        declare_table("normal", "Table of rows known to be normal.", is_positional=False, is_required=False),
        Field("normal-if", "Which rows of --unlabelled are normal, such as 'status == ok'."),
        Field("contamination", "Share of rows to flag, at most 0.5. [default: by false discovery rate]", float).on_page(
            "Share of rows to flag (empty: chosen so that few normal rows are flagged)", "automatic", (0.001, 0.5)
        ),
        # `fit` sees only the normal rows, so the shared columns are selected before it.
        replace(
            COMMON,
            lines="shared = [name for name in normal.column_names if name in unlabelled.column_names]\n"
            "normal, unlabelled = normal.select(shared), unlabelled.select(shared)",
        ),
        *(field for field in SHARED if field is not COMMON),
    ),
    "detector = fewratio.InlierOutlierDetector({settings}).fit({normal}{columns})\n"
    "result = detector.detect({unlabelled})\nprint(result)",
    Page(
        "Find outliers",
        "Which rows are outliers?",
        "Rows that are unlike rows known to be normal, and in which columns.",
        {
            "normal": ("Normal rows", "Rows that are known to be as they should", "example-grower_1"),
            "unlabelled": ("Rows to judge", "For instance, the delivery of today", "example-delivery"),
        },
        "a delivery of wine",
    ),
)
