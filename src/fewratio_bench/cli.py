"""Command line of the reproduction: ``fewratio-bench run EXPERIMENT``, ``fewratio-bench table EXPERIMENT``.

argparse, not typer: the runner must work where only torch, numpy, scipy and scikit-learn are installed. A verb imports
what it needs, so that help comes at once.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from fewratio.errors import DataNotFoundError, FewRatioError, ParameterError
from fewratio_bench.rendering import FORMATS, table_text


class _Names:
    """The names in a dict of a module, which is imported on demand."""

    def __init__(self, module: str, attribute: str) -> None:
        self.module, self.attribute = module, attribute

    def __iter__(self) -> Iterator[str]:
        return iter(getattr(import_module(self.module), self.attribute))


EXPERIMENT_NAMES: Any = _Names("fewratio_bench.experiments", "EXPERIMENTS")
FIGURE_NAMES: Any = _Names("fewratio_bench.figures", "FIGURES")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and give its exit code: 0 done, 1 failed, 2 called wrongly."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["data"]:
        # What ``fewratio data`` does, where the paper's data are known.
        from fewratio.cli import data, frame

        frame.make_app(data.VERBS)(arguments[1:], prog_name="fewratio-bench data")
    try:
        args = _parser().parse_args(arguments)
        args.action(args)
    except (FewRatioError, OSError) as error:
        sys.stderr.write(f"fewratio-bench: {error}\n")
        return 2 if isinstance(error, ParameterError) else 1
    except ModuleNotFoundError as error:
        sys.stderr.write(f"fewratio-bench needs {error.name}. Install it: pip install 'fewratio[bench]'.\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("fewratio-bench: interrupted; what was measured is kept, run again to go on\n")
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="fewratio-bench", description="Rebuild the paper's tables from own records.")
    verbs = parser.add_subparsers(required=True, metavar="VERB")

    run = verbs.add_parser("run", help="measure what is not in the records yet")
    extent = run.add_mutually_exclusive_group()
    extent.add_argument("--paper", action="store_true", help="all splits, sizes and settings (the default)")
    extent.add_argument("--quick", action="store_true", help="two splits, two sizes, small grids and short trainings")
    run.add_argument("--splits", type=_positive, help="number of splits (default: 10, or 2 with --quick)")
    run.add_argument("--device", default="auto", help="auto, cpu or cuda (default: auto)")
    run.add_argument(
        "--jobs", type=_positive, default=1, help="processes on a CPU (default: 1); set OMP_NUM_THREADS=1 with several"
    )
    run.add_argument("--data", nargs="+", default=(), help="only these data (default: all of the experiment)")
    run.add_argument("--methods", nargs="+", default=(), help="only these methods (default: all)")
    run.add_argument("--no-progress", action="store_true", help="show neither a progress bar nor what is done")
    run.set_defaults(action=_run)

    pack = verbs.add_parser("pack", help="compress the records, and join those of several folders")
    pack.add_argument("--join", type=Path, nargs="+", default=(), help="other folders, whose records are added")
    pack.set_defaults(action=_pack)

    table = verbs.add_parser("table", help="print a table made from the records")
    table.add_argument("--format", choices=FORMATS, default="markdown", help="(default: markdown)")
    table.add_argument("--quick", action="store_true", help="the table of a quick run")
    table.set_defaults(action=_table)

    figure = verbs.add_parser("figure", help="draw a figure from the records")
    figure.add_argument("figure", choices=FIGURE_NAMES, metavar="FIGURE", help="one of %(choices)s")
    figure.add_argument("--output", type=Path, help="file to write: .svg, .png or .pdf (default: FIGURE.png)")
    figure.set_defaults(action=_figure)

    report = verbs.add_parser("report", help="write one page of all tables and figures")
    report.add_argument("--output", type=Path, default=Path("reproduction.html"), help="(default: reproduction.html)")
    report.set_defaults(action=_report)

    verbs.add_parser("data", help="list, describe, fetch and draw the paper's data")

    for verb in (pack, figure, report):
        verb.add_argument("--results", type=Path, default=Path("results"), help="folder of records (default: results)")
    for verb in (run, table):
        verb.add_argument("experiment", choices=EXPERIMENT_NAMES, metavar="EXPERIMENT", help="one of %(choices)s")
        verb.add_argument("--results", type=Path, help="folder of records (default: results, or results/quick)")
    return parser


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive whole number")
    return int(text)


def _run(args: argparse.Namespace) -> None:
    from fewratio_bench.run import run_experiment

    files = run_experiment(
        args.experiment,
        _folder(args),
        n_splits=args.splits,
        quick=args.quick,
        device=args.device,
        progress=False if args.no_progress else None,
        n_jobs=args.jobs,
        data=args.data,
        methods=args.methods,
    )
    for file in files:
        sys.stdout.write(f"{len(file.read())} records in {file.path.parent}\n")


def _pack(args: argparse.Namespace) -> None:
    from fewratio_bench.records import RecordFile, record_files

    for other in args.join or [args.results]:
        _check_records(other)
    for other in args.join:
        for path, file in record_files(other).items():
            RecordFile(args.results / path).append(file.read())
    for file in record_files(args.results).values():
        file.pack()
        sys.stdout.write(f"{len(file.read())} records in {file.packed}\n")


def _table(args: argparse.Namespace) -> None:
    from fewratio_bench.experiments import EXPERIMENTS
    from fewratio_bench.tables import make_table

    full, folder = EXPERIMENTS[args.experiment], _folder(args)
    table = make_table(full.quick() if args.quick else full, folder)
    if not table.numbers:
        of_quick_run = not args.quick and make_table(full.quick(), folder).numbers
        raise DataNotFoundError(
            f"There are no records of {args.experiment!r} in {folder}"
            f"{', only those of a quick run, for which give --quick' if of_quick_run else ''}. Run 'fewratio-bench "
            f"run {args.experiment}{' --quick' * args.quick}' first, or name the folder of records with --results."
        )
    sys.stdout.write(table_text(table, args.format))


def _figure(args: argparse.Namespace) -> None:
    from fewratio.core.container import write_atomically
    from fewratio_bench.figures import figure_file

    output = args.output or Path(f"{args.figure}.png")
    _check_output(output, (".svg", ".png", ".pdf"))
    _check_records(args.results)
    write_atomically(output, figure_file(args.figure, args.results, output))


def _report(args: argparse.Namespace) -> None:
    from fewratio_bench.report import write_report

    _check_output(args.output, (".html",))
    _check_records(args.results)
    write_report(args.results, args.output)


def _check_output(path: Path, suffixes: Sequence[str]) -> None:
    """Fail before the work, not after it."""
    if path.suffix not in suffixes:
        raise ParameterError(f"{path.name} should end in {' or '.join(suffixes)}. Give such a name.")
    if not path.parent.is_dir():
        raise DataNotFoundError(f"The folder {path.parent} does not exist, so {path.name} cannot be there. Create it.")


def _check_records(folder: Path) -> None:
    from fewratio_bench.records import record_files

    if not record_files(folder):
        raise DataNotFoundError(
            f"There are no records in {folder}. Run 'fewratio-bench run EXPERIMENT' first, or name another folder "
            "with --results."
        )


def _folder(args: argparse.Namespace) -> Path:
    """Return the folder of records: those of quick runs are kept apart."""
    return args.results or (Path("results/quick") if args.quick else Path("results"))
