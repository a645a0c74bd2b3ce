"""Tables of answers beside those of others, of speed and of faults, and the table of the README."""

from collections import Counter
from statistics import mean, stdev

from records import bold_best, both_halves, grid, only, records
from tables_paper import PAPERS, averages

# ---------------------------------------------------------------- answers

FAULTS = ("python", "tables", "files", "kills", "signals", "machine", "workers")
TESTS = ["fewratio", "MMD, median width", "MMD, 7 widths", "energy distance", "classifier", "KS or chi-square"]


def power():
    """Share of pairs in which a difference is found."""
    found = records("many_draws", table="power")
    tests = [test for test in TESTS if all(test in each for each in found)]
    rows = [
        [f"{each['pairs_of']}, {each['rows']} rows", *bold_best([each[test] for test in tests], 2)] for each in found
    ]
    return grid(["what differs", *tests], rows)


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


def classes():
    """Share of pairs of classes of real tables in which a difference is found."""
    found = records("halves", table="classes")
    sizes = {each["rows"]: f"{each['rows']} rows" for each in found}
    shares = {(test, each["half"], sizes[each["rows"]]): each[test] for test in TESTS for each in found}
    return both_halves("", shares, list(sizes.values()), 2)


def weights():
    """Mean log errors of weights, of what they are used for, and how far they are behind the best rival's."""
    found = records("weights", table="weights: mean log error", half="development")
    errors, methods = (list(dict.fromkeys(each[key] for each in found)) for key in ("error", "method"))
    cells = {
        (each["method"], each["error"]): f"{each['mean_log_error']:.2f} ({each['behind_best_rival']:+.2f} ± "
        f"{each['standard_error']:.2f})"
        for each in found
    }
    return grid(["", *errors], [[method, *(cells[method, error] for error in errors)] for method in methods])


def outliers():
    """Mean AUROC by the number of known normals."""
    found = {
        (each["method"].replace("fewratio, default", "`InlierOutlierDetector()`"), each["half"], each["normals"]): each
        for each in records("halves", table="outliers: AUROC")
    }
    aurocs = {place: each["auroc"] for place, each in found.items()}
    return both_halves("known normal rows", aurocs, ["5", "10", "50", "half"], 3)


def planted_errors():
    """Recall of planted errors by the number of known normals, beside the best of the rivals in each cell."""
    found = {}
    for each in records("errors", table="planted errors"):
        if "flagged" not in each["method"]:
            found.setdefault(each["error"], {}).setdefault(each["normals"], {})[each["method"]] = each
    rows, behind, largest = [], [], 0
    for error, by_size in found.items():
        row = []
        for each in by_size.values():
            ours = each.pop("fewratio, default")
            best = max(each.values(), key=lambda other: other["recall"])
            behind.append(ours["recall"] < best["recall"] - 0.02)
            largest = max(largest, ours["standard_error"])
            row.append(f"{' / '.join(bold_best([ours['recall'], best['recall']], 2))}<br>{best['method']}")
        rows.append([_write_error(error), *row])
    table = grid(["error", *(f"{size} normals" for size in by_size)], rows)
    within = f"fewratio is at most 0.02 below the best in {len(behind) - sum(behind)} of {len(behind)} cells"
    return f"{table}\n\nHere {within}; its standard errors are {largest:.2f} or less."


def listed_errors():
    """Share of planted errors, and of rows of clean batches, that are flagged, and that are flagged or listed."""
    found = {
        (each["error"], each["normals"], each["method"]): each["recall"]
        for each in records("errors", table="planted errors")
        if "flagged" in each["method"]
    }
    kinds, sizes = (list(dict.fromkeys(key[place] for key in found)) for place in (0, 1))
    methods = ("fewratio, flagged", "fewratio, flagged or listed")
    rows = [
        [
            "none: share of all rows" if kind == "none" else _write_error(kind),
            *(" / ".join(f"{found[kind, size, method]:.3f}" for method in methods) for size in sizes),
        ]
        for kind in kinds
    ]
    return grid(["error", *(f"{size} normals" for size in sizes)], rows)


def _write_error(kind):
    """Write a factor with the signs of multiplication and division."""
    return kind.replace("x 1", "× 1").replace(": 1", "÷ 1")


def novelty():
    """Share of datasets, as they are and with faults, that are called unlike the others, by three scores."""
    rows = []
    for each in records("novelty", data="all"):
        shares = [f"{each[score]:.2f} ({each[score + '_error']:.2f})" for score in ("before", "plain", "after")]
        rows.append([each["fault"], *shares, f"{each['cells_below']} of {each['cells']}"])
    return grid(["fault", "before", "plain", "`compare_all`", "cells more than 0.05 below the better"], rows)


def defaults():
    """Mean J of the default with related datasets, and of what one could choose in its place, by rows per sample."""
    sizes, found = (1, 3, 5, 10, 30), {}
    for each in records("defaults"):
        for way, errors in each["errors"].items():
            of_none = {
                "default": "0 sources",
                "common unit": "0 sources, one unit",
                "column units": "0 sources, column units",
            }
            label = way if each["n_sources"] else of_none[way]
            label = f"{label}, columns multiplied" if each["rescaled"] else label
            found.setdefault((label, each["n_support"]), {}).setdefault((each["family"], each["n_sources"]), []).extend(
                errors
            )
    ways = dict.fromkeys(way for way, _ in found)
    # Families and numbers of sources count alike.
    cells = {key: mean(map(mean, errors.values())) for key, errors in found.items()}
    return grid(
        ["", *(f"{size} rows" for size in sizes)], [[way, *(f"{cells[way, n]:.3f}" for n in sizes)] for way in ways]
    )


def all_sources():
    """Mean J of the default with all sources, over splits, with standard errors, by rows per sample."""
    found = {}
    for each in records("all_sources"):
        found.setdefault(each["family"], {}).setdefault(each["n_support"], []).append(each["J"])
    rows = [
        [family, *(f"{mean(each):.3f} ({stdev(each) / len(each) ** 0.5:.3f})" for each in by_size.values())]
        for family, by_size in found.items()
    ]
    (sizes, *_) = found.values()
    return grid(["", *(f"{size} row{'s' * (size > 1)}" for size in sizes)], rows)


def changes():
    """F1 and covering of found changes, means over annotated series."""
    names = {"fewratio, segmentation": "`detect_changes`", "fewratio, test at 0.05": "`detect_changes(level=0.05)`"}
    names |= {"fewratio, swings": '`detect_changes(swings="changes")`'}
    scores = {"F1": "f1", "covering": "covering"}
    found = {
        (names.get(each["method"], each["method"]), each["half"], score): each[key]
        for each in records("halves", table="annotated means")
        for score, key in scores.items()
    }
    return both_halves("", found, list(scores), 3)


def long_series():
    """Changes that are found in series without any, and the places of two changes, by blocks and by all rows."""
    lines = []
    for kind in dict.fromkeys(each["series"] for each in records("long_series")):
        both = [only("long_series", series=kind, way=way) for way in ("blocks", "rows")]
        if "false_changes" in both[0]:
            shown = [f"{each['false_changes']:.1f}" for each in both]
        else:
            places = [" and ".join(f"{off:.0f}" for off in each["rows_off"] or "-") for each in both]
            shown = [f"{each['both_found']:.0%}, {off} rows off" for each, off in zip(both, places, strict=True)]
        ratio = both[1]["cpu_seconds"] / both[0]["cpu_seconds"]
        lines.append([kind, *shown, f"{ratio:.1f}"])
    return grid(["series", "by blocks", "by all rows", "times as fast"], lines)


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
        "{both, from first start to last end:.0f} s (the paper: {paper:.0f} s for one)",
    ),
    (
        "`AutoRatioEstimator.pretrain`, Mnist-r (40 datasets, 256 columns), two cores",
        ("discriminant-xeon", {"way": "default", "sources": "Mnist-r", "validation": False}),
        "{seconds:.1f} s",
    ),
    (
        "the same, Isolet (110 datasets, 617 columns)",
        ("discriminant-xeon", {"way": "default", "sources": "Isolet", "validation": False}),
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
        "{batched, pairs per second:,} pairs/s, {batched / one by one:.0f} times one by one, "
        "{batched / paper:.0f} times the paper's",
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
    rows, paper = [], only("computation-cost", what="Ours (train)")["published"]
    for what, (name, wanted), text in SPEED:
        record = only(name, **wanted)
        rows.append([what, text.format(**record, paper=paper), f"`{record['commit'][:7]}`"])
    return grid(["what", "measured", "commit"], rows, texts=3)


def kernel():
    """RuLSIF beside other packages, on the same candidates."""
    packages = ["fewratio", "densratio", "torchdensityestimation"]
    rows = []
    for rows_a_side, features, alpha in ((500, 2, 0.5), (2000, 2, 0.5), (2000, 20, 0.0), (2000, 20, 0.5)):
        size = {"rows_a_side": rows_a_side, "features": features, "alpha": alpha}
        found = [only("kernel", package=package, **size) for package in packages]
        name = "RuLSIF" if alpha else "uLSIF"
        times = [f"{found[0]['ms']:.0f} ms", *(f"{each['times_ours']:.0f} times" for each in found[1:])]
        cells = [f"{time} ({each['mean_squared_error']:.3g})" for time, each in zip(times, found, strict=True)]
        rows.append([f"{name}, {rows_a_side:,} rows, {features} columns", *cells])
    return grid(["estimator and data", *packages], rows)


# ---------------------------------------------------------------- faults


def faults():
    """What was tried and what became of it, from the last record of each part."""
    last = {each["part"]: each for each in records("faults", quick=False) if "figures" not in each}
    rows = []
    for part in FAULTS:
        counts = Counter()
        for name, count in last[part]["outcomes"].items():
            counts[name.rpartition(": ")[2]] += count
        outcomes = ", ".join(f"{count:,} {name}" for name, count in counts.most_common() if name != "failed")
        rows.append([f"`{part}`", outcomes, f"{last[part]['cases']:,}", len(last[part]["failures"])])
    return grid(["part", "outcomes", "cases", "failures"], rows, texts=2)


def longest_inputs():
    """Memory and time of commands on the longest inputs."""
    last = {each["part"]: each["figures"] for each in records("faults", quick=False) if "figures" in each}
    rows = [
        [
            f"`{part.partition(':')[2]}`",
            f"{each['files']:,} x {each['rows']:,} x {each['columns']}",
            *(f"{each[key]} MB" for key in ("input_mb", "beyond_mb")),
            f"{each['processor_seconds']} s",
        ]
        for part, figures in last.items()
        for each in figures
    ]
    return grid(
        ["command", "files x rows x columns", "input", "beyond input and result", "processor time"], rows, texts=2
    )


# ---------------------------------------------------------------- README


def readme():
    """How fewratio compares with the best alternative of five tasks, and what the figures were measured on."""
    closed, clipped = (averages(*PAPERS[label]) for label in (list(PAPERS)[4], list(PAPERS)[8]))
    published = averages("Ours", "validation")
    shares = only("halves", table="classes", half="test", rows=5)
    test = [(shares[test], test) for test in TESTS]
    outlier = [
        (each["auroc"], each["method"]) for each in records("halves", half="test", normals="5") if "auroc" in each
    ]
    change = [(each["f1"], each["method"]) for each in records("halves", half="test", table="annotated means")]
    n_outlier = only("halves", half="test", table="outliers: AUROC")["tables"]
    n_change = only("halves", half="test", table="annotated means")["series"]
    peers = ("torchdensityestimation", "densratio")
    fastest, usual = (only("kernel", package=name, rows_a_side=2000, features=20, alpha=0.5) for name in peers)
    rows = [
        ["find outliers, given 5 normal rows (AUROC)", *_beside_best(outlier, 3), f"{n_outlier} tables", "no"],
        [
            "find that two classes differ, 5 rows of each (power)",
            *_beside_best(test, 2),
            f"{shares['tables']} tables",
            "no",
        ],
        ["find changes in a series (F1)", *_beside_best(change, 3), f"{n_change} annotated series", "no"],
        [
            "tell two digits apart, 1 to 5 images of each (AUC)",
            f"**{closed[2][0]:.1f}**",
            f"{published[2][2]:.1f} (the paper), {clipped[2][0]:.1f} (RuLSIF)",
            "Mnist-r, rotations not trained on",
            "yes (closed-form learner)",
        ],
        [
            "fit RuLSIF with cross-validation (time relative to fewratio, lower is better)",
            "**1**",
            f"{fastest['times_ours']:.0f} (torchdensityestimation), {usual['times_ours']:.0f} (densratio)",
            "2,000 rows of 20 columns",
            "no",
        ],
    ]
    names = ["task", "fewratio", "best alternative", "measured on", "used for tuning?"]
    return grid(names, rows).replace("| ---: | ---: | ---: | ---: |", "| ---: | --- | --- | --- |")


def _beside_best(found, digits):
    """Write our figure, which is the first, and the best other one; the better of both in bold."""
    (ours, _), *others = found
    other, name = max(each for each in others if "fewratio" not in each[1])
    first, second = bold_best([ours, other], digits)
    return [first, f"{second} ({name.rpartition(',')[0] if 'ruptures' in name else name})"]
