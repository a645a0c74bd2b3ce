"""``fewratio outliers``."""

import re
from dataclasses import replace
from pathlib import Path

from fewratio.cli import frame
from fewratio.cli.verb import COMMON, SHARED, Field, Page, Verb, declare_table
from fewratio.errors import ParameterError

# Rows to show below the outliers.
_NOT_FLAGGED = 3
_CONDITION = re.compile(r"outliers\s*(<=?|>=?)\s*(\d+\.?\d*)\s*(%?)")


def outliers(
    request: frame.Request,
    normal: Path,
    unlabelled: Path | None,
    normal_if: str | None,
    contamination: float | None,
    fail_if: str | None,
    common: bool,
) -> None:
    """Find the outliers in a table, given rows that you know are normal.

    Large CSV, TSV and Parquet files are read and written piece by piece, unless --normal-if or --model needs all
    rows at once.

    Example: fewratio outliers good.csv today.csv --report outliers.html
    """
    if (unlabelled is None) == (normal_if is None):
        found, advice = "Two tables and --normal-if are given", "Leave out --normal-if, or the first table"
        if unlabelled is None:
            found, advice = (
                "One table is given without --normal-if",
                "Give the table to judge as the second, or a condition",
            )
        raise ParameterError(
            f"{found}; expected a table of normal rows and one to judge, or one table and --normal-if with the "
            f"condition that normal rows meet. {advice}."
        )
    fails = None if fail_if is None else _read_condition(fail_if)
    paths = (normal,) if unlabelled is None else (normal, unlabelled)
    judged_path = paths[-1]
    with request.open(*paths) as (tables, estimator):
        from fewratio.core.wording import write_count
        from fewratio.data.split_table import SIGNS, split_by_condition
        from fewratio.outliers.detector import InlierOutlierDetector
        from fewratio.outliers.result import CLEAN_FLAGGED

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
        counted = f"{n_outliers} of {write_count(X.n_rows, 'row')} of {frame.make_label(judged_path)}"
        verdict = f"{counted} {'is an outlier' if n_outliers == 1 else 'are outliers'}{result.expectation}"
        if result.unflagged:
            verdict = f"All {write_count(X.n_rows, 'row')} of {frame.make_label(judged_path)} {result.unflagged}"
        lines = [
            verdict,
            f"threshold   {result.threshold:.3g}: {result.meaning}",
        ]
        if result.rule == "false discovery rate" and estimator is None:
            by_row = (result.scores < detector._threshold(result._scored, "false positive rate")).sum()
            flagged = f"flags about {100 * CLEAN_FLAGGED:.0f} % of normal rows"
            lines.append(f"            {by_row} by the rule for few normal rows, which {flagged}")
        lines += [f"note        {said}" for said in (result.shift, result.few_normals) if said]
        lines += request.summary(result.samples, ("the normal rows", "the rows to judge"), result.non_overlapping)
        lines.append("rows        the most anomalous first" + ", counting from 0" * (X.row_names is None))
        lines.append("            (a signed number after a column: standard deviations from the nearest normal rows)")
        table = frame.identify_rows(X)
        names = table.get("name", range(X.n_rows))
        cells = [("row", "score", "", "reason")]
        # Explaining many rows is slow, and only JSON shows them all.
        n_shown = min(frame.SHOWN, n_outliers + _NOT_FLAGGED)
        n_explained = max(n_shown, n_outliers if request.wants_json else 0)
        explained = result.order[:n_explained].tolist()
        reasons = result.explanations(explained)
        for row, reason in zip(explained[:n_shown], reasons, strict=False):
            mark = "outlier" if result.is_outlier[row] else ""
            why = result.say_why(row, reason)
            cells.append((names[row], f"{result.scores[row]:.3g}", mark, why))
        lines += frame.align_columns(cells)
        lines += request.and_more(X.n_rows - n_shown)
        shown = set(explained[: frame.SHOWN])
        others = [each for each in result.reasons.items() if not (result.is_outlier[each[0]] or each[0] in shown)]
        if others:
            lines.append("cells       to check, in rows that are not flagged")
            lines += frame.align_columns([("row", ""), *((names[row], text) for row, text in others[: frame.SHOWN])])
            lines += request.and_more(len(others) - frame.SHOWN)
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
            lambda command: result._report(command, frame.make_label(judged_path)),
        )
        if fails is not None:
            share, (sign, limit, per_cent) = n_outliers / X.n_rows, fails
            if SIGNS[sign](100 * share if per_cent else n_outliers, float(limit)):
                frame.fail(f"{n_outliers} of {X.n_rows} rows ({100 * share:.3g} %) are outliers: {fail_if}")


def _read_condition(text: str) -> tuple[str, str, str]:
    """Return the sign, the number, and "%" if it is a share."""
    found = _CONDITION.fullmatch(text.strip())
    if found is None:
        raise ParameterError(
            f"--fail-if is {text!r}; it must be outliers, one of < <= > >=, and a number of rows or a share. Write "
            "'outliers > 5%', for instance."
        )
    return found[1], found[2], found[3]


VERB = Verb(
    outliers,
    (
        declare_table("normal", "Rows that are normal; with --normal-if, the only table."),
        declare_table("unlabelled", "Rows to score; - reads CSV from standard input.", is_required=False),
        Field("normal-if", "If you have one table: which of its rows are normal, such as 'status == ok'."),
        Field(
            "contamination",
            "Share of rows to flag, at most 0.5. [default: rows that score as low as the lowest 4 % of normal rows; "
            "with 999 normal rows, or ten per row to score, by false discovery rate]",
            float,
        ).on_page(
            "Share of rows to flag (empty: chosen so that few normal rows are flagged)", "automatic", (0.001, 0.5)
        ),
        Field(
            "fail-if",
            f"Exit with code {frame.FAILED} if this is true: 'outliers > 5%', or 'outliers > 10'.",
            python="",
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
            "normal": ("Normal rows", "Rows that are known to be as they should be", "example-grower_1"),
            "unlabelled": ("Rows to check", "For example, today's delivery", "example-delivery"),
        },
        "a delivery of wine, a tenth of which to flag",
        settings={"contamination": 0.1},
    ),
)
