"""Import what workers need, once, in the process that they are forked from."""

from contextlib import suppress
from importlib import import_module

from fewratio.errors import MissingPackageError
from fewratio.report.bundle import chart_script
from fewratio.report.page import Report, render

for _module in (
    *("fewratio.changes.detection", "fewratio.compare.comparison", "fewratio.many.all_pairs"),
    *("fewratio.monitor.monitor", "fewratio.outliers.detector", "fewratio.weights.weighting"),
    *(f"fewratio.{task}.report" for task in ("changes", "compare", "many", "monitor", "outliers", "weights")),
    *("fewratio.app", "fewratio_web.worker", "fewratio.demo.examples"),
    *("fewratio.estimators.mixtures.auto", "fewratio.estimators.networks.universal"),
    *("openpyxl", "pyarrow.csv", "pyarrow.parquet", "typer._adapters"),
    *("scipy.cluster.hierarchy", "sklearn.covariance", "sklearn.neighbors"),
):
    with suppress(ImportError):
        import_module(_module)
with suppress(MissingPackageError):
    # Building the script takes seconds the first time; then it is cached in a file. Also compile the templates.
    chart_script()
    render(Report("", "", {}, ()))
