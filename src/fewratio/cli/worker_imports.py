"""What workers need, imported once by the process that they are forked from."""

from contextlib import suppress
from importlib import import_module

from fewratio.errors import MissingPackageError
from fewratio.report.bundle import chart_script
from fewratio.report.page import Report, render

for _module in (
    *(f"fewratio.applications.{name}" for name in ("all_pairs", "changes", "comparison", "outliers", "weights")),
    *(f"fewratio.report.{name}" for name in ("all_pairs", "changes", "comparison", "outliers", "weights")),
    *("fewratio.cli", "fewratio.cli.worker", "fewratio.demos.examples"),
    *("fewratio.estimators.auto", "fewratio.estimators.universal"),
    *("openpyxl", "pyarrow.csv", "pyarrow.parquet", "typer._adapters"),
    *("scipy.cluster.hierarchy", "sklearn.covariance", "sklearn.neighbors"),
):
    with suppress(ImportError):
        import_module(_module)
with suppress(MissingPackageError):
    # The first time the script takes seconds; then it is in a file. Templates are compiled.
    chart_script()
    render(Report("", "", {}, ()))
