"""Command line of the reproduction: ``fewratio-bench run EXPERIMENT``, ``fewratio-bench table EXPERIMENT``.

argparse, not typer: the runner must work where only torch, numpy, scipy and scikit-learn are installed.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from fewratio.errors import FewRatioError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and give its exit code: 0 done, 1 failed, 2 called wrongly."""
    args = _parser().parse_args(arguments)
    try:
        return int(args.action(args))
    except FewRatioError as error:
        sys.stderr.write(f"fewratio-bench: {error}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("fewratio-bench: interrupted; what was measured is kept, run again to go on\n")
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="fewratio-bench", description="Rebuild the paper's tables from own records.")
    verbs = parser.add_subparsers(required=True, metavar="VERB")

    run = verbs.add_parser("run", help="measure what is not in the records yet")
    run.add_argument("--seeds", type=_positive, default=10, help="draws of all datasets (default: 10)")
    run.add_argument("--device", default="auto", help="auto, cpu or cuda (default: auto)")
    run.add_argument("--no-progress", action="store_true", help="show no progress bar")
    run.set_defaults(action=_run)

    table = verbs.add_parser("table", help="print a table made from the records")
    table.set_defaults(action=_table)

    for verb in (run, table):
        verb.add_argument("experiment", choices=["synthetic"])
        verb.add_argument("--results", type=Path, default=Path("results"), help="folder of records (default: results)")
    return parser


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive whole number")
    return int(text)


def _run(args: argparse.Namespace) -> int:
    from fewratio_bench.run import run

    file = run(args.experiment, args.seeds, args.results, args.device, False if args.no_progress else None)
    sys.stdout.write(f"{len(file.read())} records in {file.path}\n")
    return 0


def _table(args: argparse.Namespace) -> int:
    from fewratio_bench.run import EXPERIMENTS, record_file
    from fewratio_bench.tables import make_rows, markdown

    file = record_file(args.results, args.experiment)
    records = file.read()
    if not records:
        sys.stderr.write(
            f"fewratio-bench: there are no records in {file.path}; a table is made from records. "
            f"Run 'fewratio-bench run {args.experiment}' first, or name the folder of records with --results.\n"
        )
        return 1
    sys.stdout.write(markdown(make_rows(records, EXPERIMENTS[args.experiment][1]), records))
    return 0


if __name__ == "__main__":
    sys.exit(main())
