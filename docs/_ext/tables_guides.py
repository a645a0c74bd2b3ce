"""Tables of the guides and of the pages on how it works."""

from collections import Counter
from itertools import product
from statistics import mean

from records import both_halves, grid, only, records

# Related datasets, rows per sample, columns and time to learn; and the row of the experiment.
ESTIMATORS = {
    "{class}`~fewratio.AutoRatioEstimator`": ("any number, or none", "any", "the same in all", "seconds", ""),
    "{func}`~fewratio.estimators.make_best_members`": (
        "20 or more",
        "1 to 50",
        "the same in all",
        "an hour or more; minutes on a GPU",
        "fewratio, ensemble",
    ),
    "{class}`~fewratio.DiscriminantRatioEstimator`": (
        "5 or more",
        "1 to 50",
        "the same in all",
        "seconds",
        "fewratio, closed form",
    ),
    "{class}`~fewratio.MetaRatioEstimator`": (
        "20 or more",
        "1 to 10, or as trained",
        "the same in all",
        "minutes",
        "fewratio",
    ),
    "{class}`~fewratio.UniversalRatioEstimator`": ("none", "2 to 100", "any", "none", "fewratio, no sources"),
    "{class}`~fewratio.RuLSIF`, lambda by validation": ("none", "20 or more", "any", "none", "RuLSIF, ratio clipped"),
}


def estimators():
    """Estimators, what they need, and J on the data of the paper."""
    lines = []
    for name, (*needs, method) in ESTIMATORS.items():
        found = [
            only("relative-dre", data=data, n_support="avg", method=method)["mean"]
            if method
            else mean(each["squared_error"] for each in records("sources", data=data, way="default", n_sources=40))
            for data in ("Mnist-r", "Isolet")
        ]
        lines.append([name, *needs, *(f"{number:.3f}" for number in found)])
    needs = ["related datasets", "rows per sample", "columns", "time to learn, two cores"]
    return grid(["estimator", *needs, "J, Mnist-r", "J, Isolet"], lines, texts=5)


# Estimators that need no related datasets, and their names in records.
ALONE = {
    "auto": "{class}`~fewratio.AutoRatioEstimator`",
    "universal": "{class}`~fewratio.UniversalRatioEstimator`",
    "classifier": "{class}`~fewratio.ClassifierRatio`",
    "logistic regression": "`ClassifierRatio(LogisticRegression())`",
    "RuLSIF, cv": '`RuLSIF(sigma="cv", reg="cv")`',
    "RuLSIF": "`RuLSIF()`",
    "KLIEP": "{class}`~fewratio.KLIEP`",
}


def sizes():
    """J without related datasets by the number of rows, and milliseconds of a fit."""
    numbers, timed = (2, 5, 10, 20, 50, 200, 1000), (10, 200)
    lines = []
    for name, label in ALONE.items():
        found = {each["instances_a_side"]: each for each in records("sizes", estimator=name)}
        times = [f"{1000 * found[number]['seconds_a_fit']:.0f}" for number in timed]
        lines.append([label, *(f"{found[number]['J']:.3f}" for number in numbers), *times])
    return grid(["rows per sample", *(f"{number:,}" for number in numbers), *(f"ms at {n}" for n in timed)], lines)


def sizes_of_tables():
    """J without related datasets by the number of rows, on pairs of classes of real tables."""
    names = {"RuLSIF, cv": ALONE["RuLSIF, cv"]}
    found = records("halves", table="J by size")
    columns = {each["rows_nu"]: f"{each['rows_nu']} rows" for each in found}
    J = {
        (
            names.get(each["estimator"], f"{{class}}`~fewratio.{each['estimator']}`"),
            each["half"],
            columns[each["rows_nu"]],
        ): each["J"]
        for each in found
    }
    return both_halves("", J, list(columns.values()), 3, min)


def large_files():
    """Memory of commands on large Parquet files."""
    lines = []
    for command in ("ratio", "weights", "outliers", "changes"):
        found = only("stream", what=f"fewratio {command}", kind="parquet", rows=5_000_000)
        table = found["rows"] * found["columns"] * 8 // 10**6
        measured = f"{found['beyond_start_mb']} MB", f"{found['cpu_seconds']:.0f} s"
        lines.append([f"`{command}`", f"{found['rows']:,}", f"{table} MB", *measured])
    return grid(["command", "rows", "the table", "memory beyond", "processor time"], lines)


def monitor_delays():
    """Rows from a change to the alarm."""
    cells = (200, 5), (2000, 30)
    methods = {"fewratio": "fewratio", "page-hinkley": "Page-Hinkley", "adwin": "ADWIN", "naive": "p < 0.01"}
    found = [
        {
            (each["method"], each["change"]): each
            for each in records("monitor", what="delay", calm=100, reference=n, columns=d)
            if each["batch"] in (1, 20)
        }
        for n, d in cells
    ]
    lines = []
    for change in dict.fromkeys(change for each in found for _, change in each):
        medians = [each.get((method, change), {}).get("median") for each in found for method in methods]
        lines.append([change, *("–" if median is None else f"{median:.0f}" for median in medians)])
    return grid(["change", *(f"{method}, {n} rows" for n, _ in cells for method in methods.values())], lines)


def monitor_real():
    """Rows to the alarm after anomalies enter rows of real tables."""
    methods = {"fewratio": "fewratio", "page-hinkley": "Page-Hinkley", "adwin": "ADWIN"}
    found = {(each["change"], each["method"]): each for each in records("monitor", what="real delay")}
    lines = []
    for table in dict.fromkeys(table for table, _ in found):
        medians = [found[table, method]["median"] for method in methods]
        lines.append([table.partition("_")[2], *("–" if each is None else f"{each:.0f}" for each in medians)])
    return grid(["table", *methods.values()], lines)


def monitor_false():
    """Calm streams with any alarm, by level."""
    found = [each for each in records("monitor", what="false alarms", rows=10_000) if "kind" in each]
    lines = []
    for kind, n in dict.fromkeys((each["kind"], each["reference"]) for each in found):
        some = [each for each in found if (each["kind"], each["reference"]) == (kind, n)]
        alarms = (sum(each["alarms"] for each in some if each["level"] == level) for level in (0.01, 0.05))
        lines.append([kind, f"{n:,}", sum(each["streams"] for each in some if each["level"] == 0.01), *alarms])
    return grid(["rows", "reference", "streams", "with an alarm at level 0.01", "at level 0.05"], lines)


def learning_time():
    """Seconds to learn from related datasets."""
    known = {}
    for each in records("discriminant-xeon", benchmark="pretrain", validation=False):
        data = each["sources"].split()[0] if " x " not in each["sources"] else "Gaussian"
        known.setdefault((data, each["datasets"], each["columns"]), {})[each["way"]] = f"{each['seconds']:.1f}"
    rows = [[*data, ways["default"], ways["closed form"]] for data, ways in known.items()]
    return grid(["data", "sources", "columns", "default, s", "this one alone, s"], rows)


def changes_false():
    """Share of series without a change in which one is found."""
    return _by_mode("false changes", "series_of", "share_with_changes", ["segmentation", "test at 0.05", "swings"])


def changes_power():
    """Share of series with a change in which it is found."""
    modes = ["segmentation", "segmentation without trend", "test at 0.05", "swings"]
    return _by_mode("power of kinds", "change", "share_found", modes)


def changes_pieces():
    """What is lost without each piece of the search for changes."""
    found = {}
    for each in records("pieces"):
        # A kind that was measured again counts once.
        known = found.setdefault(each["piece"], {"false": {}, "found": {}, "called": {}})
        for figures in ("false", "found", "called"):
            known[figures] |= each.get(figures, {})
        known |= {name: each[name] for name in ("lines", "f1", "covering")}
    whole = found.pop("everything")
    lines = []
    for piece, each in found.items():
        cells = [
            "; ".join(f"{kind} {whole[figures][kind]:.2f} → {share:.2f}" for kind, share in each[figures].items())
            for figures in ("false", "found", "called")
        ]
        lines.append([piece, each["lines"] or "", *cells, f"{each['f1']:.2f}", f"{each['covering']:.2f}"])
    lines.append(["none", "", "", "", "", f"{whole['f1']:.2f}", f"{whole['covering']:.2f}"])
    return grid(["without", "its lines", "false changes", "changes found", "called right", "F1", "covering"], lines, 5)


def _by_mode(table, name, figure, modes):
    # Records of other seeds are pooled.
    shares, counts = Counter(), Counter()
    for each in records("changes", table=table):
        shares[each[name], each["mode"]] += each[figure] * each["series"]
        counts[each[name], each["mode"]] += each["series"]
    found = {key: shares[key] / n for key, n in counts.items()}
    names = {
        "segmentation": "default",
        "segmentation without trend": "`trend=False`",
        "test at 0.05": "`level=0.05`",
        "swings": '`swings="changes"`',
    }
    texts = {key: f"{share:.2f}" for key, share in found.items()}
    lines = [
        [each, f"{counts[each, modes[0]]:,}", *(texts.get((each, mode), "–") for mode in modes)]
        for each in dict.fromkeys(key for key, _ in found)
    ]
    return grid(["series", "how many", *map(names.get, modes)], lines)


def monitor_starts():
    """How often the range of a start contains it, and how wide it is."""
    lines = []
    for each in records("monitor", what="since"):
        sizes = [f"{each[name]:.0f}" for name in ("median_width", "median_error")]
        lines.append([each["change"], each["reference"], each["calm"], f"{100 * each['held']:.0f} %", *sizes])
    head = ["change", "rows of the reference", "at row", "range contains it", "median width", "median error"]
    return grid(head, lines)


def grids():
    """All trainings of the paper's Table 1 on a GPU, in two precisions."""
    lines = []
    for name, tf32 in (("float32", False), ("TF32", True)):
        found = only("paper_grid", tf32=tf32)
        seconds = [found["both, from first start to last end"], found["Isolet, training seconds"]]
        scores = [
            " / ".join(f"{found[f'{data}, {key}']:.{digits}f}" for data in ("Mnist-r", "Isolet"))
            for key, digits in (("J", 4), ("AUC", 2))
        ]
        lines.append([name, *seconds, *scores])
    return grid(["precision", "seconds", "of them training", "J, Mnist-r / Isolet", "AUC"], lines)


def coverage():
    """Coverage and mean width of 90 per cent intervals learned from related datasets, by rows per sample."""
    lines, sizes = [], (1, 3, 5, 10)
    truths = {"known": "Gaussians, true ratio known", "reference": "other families, ratio of many rows"}
    names = {"default": "`AutoRatioEstimator`", "closed form": "`DiscriminantRatioEstimator`"}
    names |= {name: name for name in ("network, 30 steps", "network, 500 steps")}
    for (truth, label), (name, shown), what in product(truths.items(), names.items(), ("ratio", "divergence")):
        cells = []
        for size in sizes:
            found = records("intervals", truth=truth, estimator=name, n_support=size)
            held, width = (mean(each[f"{what}_{key}"] for each in found) for key in ("held", "width"))
            cells.append(f"{held:.2f} ({width:.2f})")
        lines.append([label, shown, what, *cells])
    return grid(["", "", "of", *(f"{size} rows" for size in sizes)], lines)


def universal_coverage():
    """Coverage, in per cent, of the intervals of the universal network."""
    kinds = {"trained": "kinds trained on", "held-out relation": '"subset" pairs, never shown'}
    kinds |= {"held-out shape": '"warped" columns, never shown'}
    numbers = (2, 5, 10, 30, 75)
    found = {kind: [only("universal", kind=kind, instances_per_sample=number) for number in numbers] for kind in kinds}
    lines = [[kinds[kind], *(f"{100 * each['ratio within 0.9']:.0f}" for each in row)] for kind, row in found.items()]
    return grid(["rows per sample", *numbers], lines)


COLLECTIONS = {"digits_r": "digits_r", "mnist_r": "Mnist-r", "gaussian": "synthetic family"}


def summaries():
    """J of learning from rows, from summaries and from one merged summary."""
    lines = []
    for data, n_components in (("digits_r", 512), ("mnist_r", 512), ("digits_r", 0), ("mnist_r", 0), ("gaussian", 0)):
        features = f"{n_components} cosines" if n_components else "columns"
        found = [
            records("summaries", data=data, n_components=n_components, way=way)
            for way in ("rows", "summaries", "one merged summary")
        ]
        means = [
            " / ".join(f"{mean(each['J'][rows] for each in splits):.3f}" for rows in ("1", "3", "5", "10"))
            for splits in found
        ]
        lines.append([f"{COLLECTIONS[data]}, {features}", *means])
    return grid(["data", "rows", "separate summaries", "one merged summary"], lines)


def privacy():
    """J of learning from summaries with noise, by the rows of a site."""
    lines = []
    for data, label in COLLECTIONS.items():
        without = only("summaries", data=data, way="no sources")
        for rows in (100, 1_000, 10_000):
            found = [
                only("summaries", data=data, rows_per_source=rows, epsilon=epsilon) for epsilon in (1.0, 2.0, 8.0, None)
            ]
            cells = [f"{each['J']['3']:.3f} / {each['J']['5']:.3f}" for each in (*found, without)]
            lines.append([label, f"{rows:,}", *cells])
    return grid(["data", "rows per site", "epsilon 1", "2", "8", "no noise", "no sources"], lines)


def divergence_limits():
    """Divergences and their lower limits, beside the truth, by kind of difference and rows."""
    found = {}
    for each in records("answers", table="limit"):
        number = f"{each['divergence']:.2f} / {each['at_least']:.2f}"
        above = f" ({each['above_truth']:.0%} above)" if each["above_truth"] else ""
        found.setdefault((each["pairs_of"], each["truth"]), {})[each["rows"]] = number + above
    sizes = list(next(iter(found.values())))
    lines = [[name, f"{truth:.3f}", *(of[n] for n in sizes)] for (name, truth), of in found.items()]
    return grid(["what differs", "truth", *(f"{n:,} rows" for n in sizes)], lines)
