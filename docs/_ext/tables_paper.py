"""Tables of the paper's experiments, from ``results/tables/`` and the records of what was measured beside them."""

import re

from records import RESULTS, bold_best, grid, only, records

PANELS = [(table, data) for table in ("relative-dre", "dataset-comparison") for data in ("Mnist-r", "Isolet")]
DIGITS = (3, 3, 2, 2)
PAPERS = {
    "the paper's method, measured here": ("Ours", "validation"),
    "its network with our settings (`MetaRatioEstimator`)": ("fewratio", "none"),
    'distances to the support (`network="relational"`)': ("fewratio, relational, calibrated", "none"),
    'a committee of networks (`Architecture("both", n_networks=2)`)': ("fewratio, committee", "none"),
    "closed form (`DiscriminantRatioEstimator`), seconds": ("fewratio, closed form", "none"),
    "closed form, the mean of four": ("fewratio, closed form, four draws", "none"),
    "committee and closed form (`make_best_members`)": ("fewratio, ensemble", "none"),
    "no related datasets (`UniversalRatioEstimator`)": ("fewratio, no sources", "none"),
    "RuLSIF, ratio clipped": ("RuLSIF, ratio clipped", "validation"),
}


def averages(method, selection):
    """Give, for each panel, the average over sizes: mean, standard error and the paper's number."""
    wanted = {"n_support": "avg", "method": method, "selection": selection}
    found = [only(table, data=data, **wanted) for table, data in PANELS]
    return [(row["mean"], row["standard_error"], row["published"]) for row in found]


def paper():
    """J and AUC of the paper's method and ours."""
    rows = {label: averages(*key) for label, key in PAPERS.items()}
    published = ["the paper's method, published"]
    given = averages("Ours", "validation")
    published += [f"{number:.{digits}f}" for (_, _, number), digits in zip(given, DIGITS, strict=True)]
    columns = []
    for place, digits in enumerate(DIGITS):
        means = bold_best([row[place][0] for row in rows.values()], digits, min if place < 2 else max)
        errors = [f"{row[place][1]:.{digits}f}" for row in rows.values()]
        columns.append([f"{mean} ± {error}" for mean, error in zip(means, errors, strict=True)])
    header = ["method", "J, Mnist-r", "J, Isolet", "AUC, Mnist-r", "AUC, Isolet"]
    return grid(header, [published, *zip(rows, *columns, strict=True)])


# Agreement, set before anything was measured: J, and AUC in per cent.
TOLERANCE = {"squared_error": 0.03, "auc": 3.0}
METRICS = {"squared_error": "J", "auc": "AUC", "regret": "regret"}
APPENDIX = ("relative-vs-plain", "alpha-dependency", "trainable-alpha", "deeper-network")


def agreement():
    """Each published average beside ours, and whether they agree."""
    return _agreement("relative-dre", "dataset-comparison", "outlier-detection")


def appendix():
    """Give the same of the paper's appendix."""
    return _agreement(*APPENDIX)


def _agreement(*tables):
    found = [row for name in tables for row in records(name, n_support="avg") if row["published"] != ""]
    # Some rows are in several tables.
    rows = {
        (f"{row['data']}, {METRICS[row['metric']]}", _name(row), _selection(row), *_beside(row), _verdict(row)): row
        for row in found
    }
    return grid(["data", "method", "selected by", "here", "paper", "verdict"], rows, texts=3)


def _name(row):
    return re.sub(r"^Ours\b", "paper's method", row["method"]).replace("w/ train", "with a learned alpha")


def _selection(row):
    return row["selection"].replace("_", " ")


def _beside(row):
    digits = 2 if row["metric"] == "auc" else 3
    paper = "" if row["published"] == "" else f"{row['published']:.{digits}f}"
    return f"{row['mean']:.{digits}f} ± {row['standard_error']:.{digits}f}", paper


def _verdict(row):
    if row["published"] == "":
        return ""
    if abs(row["difference"]) <= TOLERANCE[row["metric"]]:
        return "agrees"
    return "better" if (row["difference"] > 0) == (row["metric"] == "auc") else "worse"


# ---------------------------------------------------------------- row by row

# Tables with rows of one experiment, and its data.
ROWS = {
    "relative-dre": (("relative-dre", "ablation-relative-dre"), ("Mnist-r", "Isolet")),
    "dataset-comparison": (("dataset-comparison", "ablation-dataset-comparison"), ("Mnist-r", "Isolet")),
    "outlier-detection": (
        ("outlier-detection", "additional-outlier", "ablation-outlier-detection", "known-outliers"),
        ("Landmine", "School"),
    ),
}


def rows(experiment):
    """The paper's rows of an experiment, averages over sizes, each selected as in the paper."""
    data, cells = _cells(experiment)
    cells = {key: each for key, each in cells.items() if each[data[0]][1]}
    header = ["row", "selected by", *(text for name in data for text in (name, "paper", "verdict"))]
    return grid(header, [[*key, *(text for name in data for text in each[name])] for key, each in cells.items()], 2)


def other_rows(experiment):
    """Rows that are not in the paper, with every selection."""
    data, cells = _cells(experiment)
    published = {method for (method, _), each in cells.items() if each[data[0]][1]}
    lines = [[*key, *(each[name][0] for name in data)] for key, each in cells.items() if key[0] not in published]
    return grid(["row", "selected by", *data], lines, texts=2)


def _cells(experiment):
    tables, data = ROWS[experiment]
    cells = {}
    for row in (row for name in tables for row in records(name, n_support="avg") if row["data"] in data):
        cells.setdefault((_name(row), _selection(row)), {}).setdefault(row["data"], [*_beside(row), _verdict(row)])
    return data, cells


def synthetic():
    """Give J and regret on the synthetic data."""
    cells = {}
    for row in records("synthetic"):
        cells.setdefault((_name(row), _selection(row)), {})[row["metric"]] = _beside(row)
    lines = [[*key, *each["squared_error"], each["regret"][0]] for key, each in cells.items()]
    return grid(["row", "selected by", "J", "paper", "regret"], lines, texts=2)


def best_and_worst():
    """Which of the published methods is best and which worst, as the tables say it."""
    lines = []
    for path in sorted((RESULTS / "tables").glob("*.md")):
        title, *parts = path.read_text("utf-8").split("\n## ")
        for part in parts:
            for best, worst in re.findall(r"Best of the published methods: (.*)\. Worst of .*?: (.*)\.\n", part):
                place = part.partition("\n")[0].replace(" [%]", "")
                lines.append([title.strip("# \n"), place, best, worst])
    return grid(["table", "data", "best", "worst"], lines, texts=4).replace("paired t-test ", "")


def paired():
    """Paired t-tests between rows of which no table has one (``benchmarks/paired.py``)."""
    lines = []
    for each in records("paired"):
        first, second = (key for key in each if "/" in key)
        digits = 3 if each[first] < 0 else 2
        names = [re.sub("^Ours/", "paper's method/", key).replace("/none", "") for key in (first, second)]
        names = [name.replace("/", " (").replace("_", " ") + ")" * ("/" in name) for name in names]
        means = [f"{each[key]:.{digits}f}" for key in (first, second)]
        lines.append([f"{each['table']}, {each['data']}", *names, *means, f"{each['paired t-test, p']:.2g}"])
    return grid(["table, data", "row", "and row", "first", "second", "p"], lines, texts=3)


# Words that records have and pages do not.
WORDING = {"a look every": "a validation every", "16 tasks a step": "16 pairs per step", "bound": "C ="}


def variants(row):
    """One row of the experiments on pairs with one thing changed at a time, and the paper's numbers."""
    found, columns = {}, {}
    for each in records("differences", row=row):
        for old, new in WORDING.items():
            each["variant"] = each["variant"].replace(old, new)
        found.setdefault(each["variant"], {})[each["data"]] = each
        columns |= {(each["data"], metric): f"{METRICS[metric]}, {each['data']}" for metric in ("squared_error", "auc")}
    lines = [
        [variant, *(_short(each[data][metric], metric) for data, metric in columns)] for variant, each in found.items()
    ]
    paper = [_published(row, *column) for column in columns]
    lines += [["**paper**", *paper]] if any(paper) else []
    return grid([row.replace("Ours", "paper's method"), *columns.values()], lines)


def _short(number, metric):
    return f"{number:.{1 if metric == 'auc' else 3}f}"


def _published(method, data, metric):
    tables = [table for experiment in ("relative-dre", "dataset-comparison") for table in ROWS[experiment][0]]
    found = [
        row for table in tables for row in records(table, method=method, data=data, metric=metric, n_support="avg")
    ]
    return next((_short(row["published"], metric) for row in found if row["published"] != ""), "")


def late_stopping():
    """AUC of outliers with the weights of the best validation and with those after the last step."""
    found = {}
    for each in records("late_stopping"):
        found.setdefault((each["data"], each["method"]), {})[each["weights"]] = each
    lines = []
    for weights in found.values():
        best, last = weights["best look of every 100 steps"], weights["last step"]
        cells = [f"{each['auc']:.1f} ± {each['standard_error']:.1f}" for each in (best, last)]
        lines.append([f"{best['data']}, {_name(best)}", *cells, f"{best['published']:.1f}", best["splits"]])
    return grid(["data, row", "best validation", "last step", "paper", "splits"], lines)


def split_luck():
    """Give what the choice of splits does to the AUC of two methods that are not trained."""
    names = {
        "hardest dataset": "hardest dataset",
        "easiest dataset": "easiest",
        "mean of ten splits": "mean of ten splits",
    }
    names |= {"its standard deviation": "standard deviation", "published": "paper"}
    share = "share of draws as far off"
    lines = [
        [f"{each['data']}, {each['method']}", *(f"{each[key]:.1f}" for key in names), f"{each[share]:.0%}"]
        for each in records("split_luck")
        if share in each
    ]
    return grid(["data, row", *names.values(), "draws as far off"], lines)


def more_splits():
    """Give the best two of outlier detection on thirty further splits."""
    rows = ("Ours", "RuLSIF-FT")
    lines = [
        [each["data"], *(f"{each[row]:.1f}" for row in rows), f"{each['paired t-test, p']:.2g}", each["splits"]]
        for each in records("more_splits")
    ]
    return grid(["data", "paper's method", "RuLSIF-FT", "p", "splits"], lines)
