"""``fewratio weights``."""

from pathlib import Path

from fewratio.cli import frame
from fewratio.cli.verb import COLUMNS, MARKS, MODEL, RESULTS, SEED, Field, Page, Verb, declare_table


def weights(request: frame.Request, train: Path, target: Path, label: str | None, clip: float | None) -> None:
    """Weight training rows so that they resemble the target.

    Large CSV, TSV and Parquet files are read and written piece by piece.

    Example: fewratio weights train.csv target.csv --output weights.csv
    """
    with request.open(train, target) as ((X_train, X_target), estimator):
        from fewratio.core.wording import write_share
        from fewratio.weights.weighting import importance_weights

        options = request.options(X_train, X_target)
        result = importance_weights(
            X_train, X_target, y=label, estimator=estimator, clip=clip, random_state=request.seed, **options
        )
        table, names = result.samples.tables[0], frame.make_labels(train, target)
        columns = frame.identify_rows(table) | {"weight": result.weights}
        shares = [(name, share) for name, share in result.overlap_by_column.items() if round(share, 2) < 1]
        outside = [f"{name} {write_share(share)}" for name, share in shares] or ["all of every column"]
        lines = [
            f"{len(result)} rows of {names[0]}, weighted to resemble {names[1]}: effective sample size "
            f"{result.effective_sample_size:.1f}, overlap {result.overlap:.2f}, {result.n_clipped} clipped",
            *request.summary(result.samples, names),
            f"rows of {names[1]} in the range, or among the categories, of {names[0]}: "
            f"{', '.join(outside[: frame.SHOWN])}",
            f"advice: {result.advice or 'none without the column to predict; name it with --label'}",
            *request.write_first_rows(columns, len(result)),
        ]
        payload = result.to_dict() | {"row_names": columns.get("name")} if request.wants_json else {}
        request.deliver(
            frame.Answer(lines, payload, columns, [X_train]),
            result.plot,
            lambda command: result._report(command, (names[0], names[1])),
        )


VERB = Verb(
    weights,
    (
        declare_table("train", "Rows to weight; - reads CSV from standard input."),
        declare_table("target", "Rows like those that your model will be used on."),
        Field(
            "label",
            "Column of TRAIN that your model predicts. The answer says whether weights lower its error.",
            python="y",
        ).on_page("Column to predict", "none", is_column=True),
        Field("clip", "Largest ratio allowed.", float).on_page("Largest ratio", "none", (1e-6, None)),
        *(MODEL, *COLUMNS, *MARKS, *RESULTS, SEED),
    ),
    "result = fewratio.importance_weights({train}, {target}{settings}{columns})\nprint(result)",
    Page(
        "Weigh rows",
        "Which weights make rows resemble others?",
        "Weights of training rows, so that a model learned from them fits the rows it will be used on.",
        {
            "train": ("Rows to weight", "For example, training rows", "example-survey"),
            "target": ("Rows to resemble", "Rows the model will be used on", "example-people"),
        },
        "a survey that reached the young",
    ),
)
