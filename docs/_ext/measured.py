"""Tables of the results pages and of the README, made from the records in ``results/``: none of their numbers is typed.

In a page, ``{measured} NAME`` shows a table of `TABLES`, and ``{experiment} NAME`` one of ``results/tables/``.
"""

import csv
import json
import re
from pathlib import Path

from sphinx.util.docutils import SphinxDirective

RESULTS = Path(__file__).parents[2] / "results"


def records(name, **wanted):
    """Read the records of a benchmark that have these values."""
    lines = (RESULTS / "benchmarks" / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [each for each in map(json.loads, lines) if wanted.items() <= each.items()]


def only(name, **wanted):
    """Read the last record with these values; an earlier one was measured again."""
    return records(name, **wanted)[-1]


def grid(header, rows, align="---"):
    """Write a table in Markdown."""
    lines = [header, [align, *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def bold_best(numbers, digits, best=max):
    """Write numbers; the best, and those that look like it, in bold."""
    texts = [f"{number:.{digits}f}" for number in numbers]
    return [f"**{text}**" if float(text) == float(texts[numbers.index(best(numbers))]) else text for text in texts]


# ---------------------------------------------------------------- the paper's experiments

PANELS = [(table, data) for table in ("relative-dre", "dataset-comparison") for data in ("Mnist-r", "Isolet")]
DIGITS = (3, 3, 2, 2)
PAPERS = {
    "the paper's method, measured here": ("Ours", "validation"),
    "its network with our settings (`MetaRatioEstimator`)": ("fewratio", "none"),
    'distances to the support (`network="relational"`)': ("fewratio, relational, calibrated", "none"),
    'a committee of networks (`Architecture("both", n_networks=2)`)': ("fewratio, committee", "none"),
    "closed form (`DiscriminantRatioEstimator`), seconds": ("fewratio, closed form", "none"),
    "closed form, the mean of four": ("fewratio, closed form, four draws", "none"),
    "committee and closed form (`EnsembleRatioEstimator`)": ("fewratio, ensemble", "none"),
    "no related datasets (`UniversalRatioEstimator`)": ("fewratio, no sources", "none"),
    "RuLSIF, ratio clipped": ("RuLSIF, ratio clipped", "validation"),
}


def averages(method, selection):
    """Give, for each panel, the average over sizes: mean, standard error and the paper's number."""
    found = []
    for table, data in PANELS:
        with open(RESULTS / "tables" / f"{table}.csv", encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file) if row["data"] == data and row["n_support"] == "avg"]
        (row,) = (row for row in rows if (row["method"], row["selection"]) == (method, selection))
        found.append((float(row["mean"]), float(row["standard_error"]), row["published"]))
    return found


def paper():
    """J and AUC of the paper's method and ours."""
    rows = {label: averages(*key) for label, key in PAPERS.items()}
    published = ["the paper's method, published"]
    given = [float(number) for _, _, number in averages("Ours", "validation")]
    published += [f"{number:.{digits}f}" for number, digits in zip(given, DIGITS, strict=True)]
    columns = []
    for place, digits in enumerate(DIGITS):
        means = bold_best([row[place][0] for row in rows.values()], digits, min if place < 2 else max)
        errors = [f"{row[place][1]:.{digits}f}" for row in rows.values()]
        columns.append([f"{mean} ± {error}" for mean, error in zip(means, errors, strict=True)])
    header = ["", "J, Mnist-r", "J, Isolet", "AUC, Mnist-r", "AUC, Isolet"]
    return grid(header, [published, *zip(rows, *columns, strict=True)])


# Agreement, set before anything was measured: J, and AUC in per cent.
TOLERANCE = {"squared_error": 0.03, "auc": 3.0}


def agreement():
    """Each published average beside ours, and whether they agree."""
    rows = []
    for name in ("relative-dre", "dataset-comparison", "outlier-detection"):
        with open(RESULTS / "tables" / f"{name}.csv", encoding="utf-8") as file:
            published = [row for row in csv.DictReader(file) if row["n_support"] == "avg" and row["published"]]
        for row in published:
            digits, difference = (3 if row["metric"] == "squared_error" else 2), float(row["difference"])
            higher_is_better = row["metric"] == "auc"
            verdict = "agrees" if abs(difference) <= TOLERANCE[row["metric"]] else "worse"
            if verdict == "worse" and (difference > 0) == higher_is_better:
                verdict = "better"
            numbers = [f"{float(row[key]):.{digits}f}" for key in ("mean", "published")]
            method = "paper's method" if row["method"] == "Ours" else row["method"]
            metric = "J" if row["metric"] == "squared_error" else "AUC"
            rows.append([f"{row['data']}, {metric}", f"{method} ({row['selection']})", *numbers, verdict])
    return grid(["data", "method (selected by)", "here", "paper", ""], rows).replace("_on_", " on ")


# ---------------------------------------------------------------- answers

TESTS = ["fewratio", "MMD, median width", "MMD, 7 widths", "energy distance", "classifier"]


def power():
    """Share of pairs in which a difference is found."""
    found = records("many_draws", table="power")
    rows = [
        [f"{each['pairs_of']}, {each['rows']} rows", *bold_best([each[test] for test in TESTS], 2)] for each in found
    ]
    return grid(["what differs", *TESTS], rows)


def power_with_sources():
    """The same where related datasets are there to learn from."""
    labels = {"fewratio, with sources": "`compare_datasets`, model learned from sources"}
    labels |= {"fewratio": "`compare_datasets`, default", "MMD": "MMD, permutation test"}
    data = {"isolet": "Isolet", "mnist_r": "Mnist-r"}
    found = {each: [only("comparison", benchmark="power", data=name, test=each) for name in data] for each in labels}
    cells = [
        [f"{each['share_of_p_at_most_0_05']:.3f} ({each['standard_error']:.3f})" for each in row]
        for row in found.values()
    ]
    return grid(["test", *data.values()], [[label, *row] for label, row in zip(labels.values(), cells, strict=True)])


def level():
    """Share of pairs of one distribution with a small p-value."""
    shares = [f"share of p <= {level}" for level in (0.05, 0.1, 0.2)]
    rows = [
        [f"{each['law']}, {' + '.join(map(str, each['rows']))} rows", *(f"{each[share]:.3f}" for share in shares)]
        for each in records("many_draws", table="level")
    ]
    return grid(["distribution", *(share.replace("<=", "≤") for share in shares)], rows)


def outliers():
    """Mean AUROC by the number of known normals, over twelve seeds that nothing was chosen on."""
    numbers = ["5", "10", "50", "half"]
    found = [each for each in records("answers", table="outliers: AUROC") if len(each["seeds"]) == 12]
    by_method = {method: {} for method in dict.fromkeys(each["method"] for each in found)}
    for each in found:
        by_method[each["method"]][each["normals"]] = each["auroc"]
    columns = [bold_best([row[number] for row in by_method.values()], 3) for number in numbers]
    names = [method.replace("fewratio, default", "`InlierOutlierDetector()`") for method in by_method]
    return grid(["known normal rows", *numbers], zip(names, *columns, strict=True))


def changes():
    """F1 and covering of found changes, means over annotated series."""
    found = records("answers", table="annotated series", series="mean")
    names = {"fewratio, segmentation": "`detect_changes`", "fewratio, test at 0.05": "`detect_changes(level=0.05)`"}
    methods = [names.get(each["method"], each["method"]) for each in found]
    scores = [bold_best([each[score] for each in found], 3) for score in ("f1", "covering")]
    return grid(["method", "F1", "covering"], zip(methods, *scores, strict=True))


# ---------------------------------------------------------------- speed

# What is measured, the record, and what is said of it.
SPEED = [
    (
        "training one network, one task per step, one thread of an Intel Xeon",
        ("train_step-xeon", {"what": "1 models", "tasks_per_step": 1}),
        "{model_steps_per_second:.0f} steps/s, {times_plain} times the plain loop",
    ),
    (
        "training eight networks together, one thread of an Intel Xeon",
        ("train_step-xeon", {"what": "8 models", "threads": 1}),
        "{model_steps_per_second:.0f} steps/s, {times_plain} times the plain loop",
    ),
    (
        "the 700 trainings behind the paper's Table 1, one H200",
        ("paper_grid", {"tf32": False}),
        "{both, from first start to last end:.0f} s (the paper: 138 s for one)",
    ),
    (
        "`DiscriminantRatioEstimator.pretrain`, Mnist-r (40 datasets, 256 columns), two cores",
        ("discriminant", {"benchmark": "pretrain", "sources": "Mnist-r", "validation": False}),
        "{seconds:.1f} s",
    ),
    (
        "the same, Isolet (110 datasets, 617 columns)",
        ("discriminant", {"benchmark": "pretrain", "sources": "Isolet", "validation": False}),
        "{seconds:.1f} s",
    ),
    (
        "divergences of pairs of 5 + 5 rows of one table, 256 columns, closed form, two cores",
        ("discriminant", {"benchmark": "pairs"}),
        "{one table, pairs per second:,} pairs/s, {one table / network:.1f} times the paper's network in one batch",
    ),
    (
        "adapting the paper's network to pairs of 5 + 5 rows, 256 columns, two cores",
        ("adapt", {}),
        "{batched, pairs per second:,} pairs/s, {batched / one by one:.0f} times one by one (the paper: 312 pairs/s)",
    ),
    (
        "`compare_datasets`, 999 permutations, 200 rows of 20 columns per sample, one thread",
        ("answers", {"table": "seconds", "rows": 200, "columns": 20}),
        "{fewratio} s (a plain permutation test of the MMD: {plain MMD} s)",
    ),
    (
        "the same, 1,000,000 rows per sample",
        ("answers", {"table": "seconds", "rows": 1000000}),
        "{fewratio:.0f} s",
    ),
    (
        "`compare_all`, 5,000 datasets of 5 x 64, one thread",
        ("comparison", {"benchmark": "all pairs", "datasets": 5000}),
        "{ordered_pairs_a_cpu_second:,} ordered pairs per second of processor time, {peak_memory_mb} MB at most",
    ),
    (
        "`predict` on a million rows of 256 columns",
        ("predict_memory", {"estimator": "MetaRatioEstimator"}),
        "{beyond_input_gb:.2f} GB beyond the input of {input_gb:.2f} GB",
    ),
    (
        "`fewratio ratio --model`, 5,000,000 rows of 20 columns, Parquet to Parquet",
        ("stream", {"what": "fewratio ratio", "kind": "parquet", "rows": 5000000}),
        "{rows_per_cpu_second:,} rows per second of processor time, {beyond_start_mb} MB",
    ),
    (
        "`fewratio compare` of two files of 30 rows, all imports included",
        ("startup", {}),
        "{times_sklearn_base} times the processor time of `import sklearn.base`",
    ),
]


def speed():
    """Times, each with the commit and the device of its record."""
    rows = []
    for what, (name, wanted), text in SPEED:
        record = only(name, **wanted)
        rows.append([what, text.format(**record), f"`{record['commit'][:7]}`"])
    return grid(["what", "measured", "commit"], rows).replace("---:", "---")


def kernel():
    """RuLSIF beside other packages, on the same candidates."""
    packages = ["fewratio", "densratio", "torchdensityestimation"]
    rows = []
    for rows_a_side, features, alpha in ((500, 2, 0.5), (2000, 2, 0.5), (2000, 20, 0.0), (2000, 20, 0.5)):
        size = {"rows_a_side": rows_a_side, "features": features, "alpha": alpha}
        found = [only("kernel", package=package, **size) for package in packages]
        name = "RuLSIF" if alpha else "uLSIF"
        times = [f"{each['times_ours']:.0f} times" for each in found[1:]]
        errors = [f"{each['mean_squared_error']:.3g}" for each in found]
        rows.append([f"{name}, {rows_a_side:,} rows, {features} columns", f"{found[0]['ms']:.0f} ms", *times, *errors])
    header = ["", *packages, *(f"error, {package}" for package in packages)]
    return grid(header, rows)


# ---------------------------------------------------------------- README


def readme():
    """What fewratio is better at than what one would pick instead, in five rows."""
    closed, clipped = (averages(*PAPERS[label]) for label in (list(PAPERS)[4], list(PAPERS)[8]))
    published = averages("Ours", "validation")
    mixed = only("many_draws", table="power", pairs_of="classes of tables, mixed units", rows=5)
    rival = max(TESTS[1:], key=mixed.get)
    normals = [each for each in records("answers", table="outliers: AUROC", normals="5") if len(each["seeds"]) == 12]
    ours, *others = sorted(normals, key=lambda each: (each["method"] != "fewratio, default", -each["auroc"]))
    n_series = len({each["series"] for each in records("answers", table="annotated series")} - {"mean"})
    series = [line.split(" | ") for line in changes().splitlines()[2:]]
    peer = max((row for row in series if "ruptures" in row[0]), key=lambda row: row[1])
    large = only("kernel", package="densratio", rows_a_side=2000, features=20, alpha=0.5)
    rows = [
        [
            "telling digits apart by 1 to 5 images each, learned from other rotations (AUC, Mnist-r)",
            f"**{closed[2][0]:.1f}**",
            f"{float(published[2][2]):.1f} (the paper), {clipped[2][0]:.1f} (RuLSIF)",
        ],
        [
            "finding that two tables of 5 rows differ, columns in mixed units (power)",
            f"**{mixed['fewratio']:.2f}**",
            f"{mixed[rival]:.2f} ({rival})",
        ],
        [
            "finding outliers, given 5 normal rows (AUROC, mean of 21 tables)",
            f"**{ours['auroc']:.3f}**",
            f"{others[0]['auroc']:.3f} ({others[0]['method']})",
        ],
        [
            f"finding changes in {n_series} annotated series (F1)",
            series[0][1],
            f"{peer[1]} ({peer[0].strip('| ').split(',')[0]})",
        ],
        [
            "RuLSIF with cross-validation, 2,000 rows of 20 columns (speed)",
            f"**{large['times_ours']:.0f} times faster**",
            "than densratio",
        ],
    ]
    return grid(["", "fewratio", "instead"], rows).replace("| ---: | ---: |", "| ---: | --- |")


TABLES = {
    each.__name__: each
    for each in (paper, agreement, power, power_with_sources, level, outliers, changes, speed, kernel, readme)
}


class Measured(SphinxDirective):
    """Show a table of `TABLES`."""

    required_arguments = 1

    def run(self):
        return self.parse_text_to_nodes(TABLES[self.arguments[0]]())


class ExperimentTable(SphinxDirective):
    """Show a table of ``results/tables/``, which a test compares with the records, without its title."""

    required_arguments = 1

    def run(self):
        path = RESULTS / "tables" / f"{self.arguments[0]}.md"
        self.env.note_dependency(str(path))
        text = path.read_text("utf-8").partition("\n")[2]
        return self.parse_text_to_nodes(re.sub(r"^## (.*)$", r"**\1**", text, flags=re.MULTILINE))


def setup(app):
    app.add_directive("measured", Measured)
    app.add_directive("experiment", ExperimentTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
