"""``fewratio monitor``."""

import hashlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from fewratio.cli import frame
from fewratio.cli.verb import COMMON, SCALE, SHARED, Field, Page, Verb, declare_table
from fewratio.errors import ParameterError


def monitor(
    request: frame.Request,
    reference: Path,
    batches: list[Path],
    state: Path | None,
    level: float,
    groups: str | None,
    rebase: bool,
    fail_if: str | None,
) -> None:
    """Check new rows batch by batch, and raise an alarm once they are no longer like a reference.

    With --state, the next call resumes where the last one ended. Give it the same options, and all files or only the
    new ones. A file of the same name and content is counted once.

    Example: fewratio monitor reference.csv monday.csv tuesday.csv --state line3.fewratio --fail-if alarm
    """
    from fewratio.data.reference import SUFFIX

    if fail_if not in (None, "alarm"):
        raise ParameterError(f"--fail-if is {fail_if!r}; the only condition is alarm. Write --fail-if alarm.")
    if rebase and state is None:
        raise ParameterError("--rebase is given without --state; there is nothing to begin again. Leave it out.")
    if state is not None:
        frame.check_target(state, "--state", reference, *batches, endings=(SUFFIX,))
    (first, *tables), estimator = request.read(reference, *batches)
    from fewratio.core.wording import write_count
    from fewratio.monitor.evidence import write_evidence
    from fewratio.monitor.monitor import DriftMonitor

    with _alone(state):
        if state is not None and state.exists() and not rebase:
            watch = DriftMonitor.load(state, estimator)
            watch.check_same(first, level, groups, request.options(first))
        else:
            watch = DriftMonitor(first, level, estimator, request.seed, groups=groups, **request.options(first))
        skipped = []
        for label, path, table in zip(frame.make_labels(*batches), batches, tables, strict=True):
            mark = _make_mark(path)
            if mark is not None and mark in watch.marks:
                skipped.append(label)
                continue
            watch.update(table, label, mark)
            if state is not None:
                watch.save(state)
    result = watch.state
    # Evidence beyond the range of numbers leaves a p-value of 0.
    largest = f"{write_evidence(1 / max(result.p_value, sys.float_info.min))} at its largest, " * result.alarm
    lines = [
        result.summary,
        f"evidence    {largest}{write_evidence(result.evidence)} now; alarm at {write_evidence(1 / watch.level)}",
    ]
    if result.alarm:
        lines.append("next        Find the cause. If rows are now as they should be: --rebase, with a new reference.")
    lines.append(f"p-value     {result.p_value_text}, valid whenever you look")
    lines += [f"skipped     {label}: it was counted before" for label in skipped]
    if watch.encoding.is_named:
        lines.append(f"columns     {watch.encoding.summary}")
    if result.columns:
        lines.append("changed     how strongly each column alone indicates a change (1: not at all)")
        cells = [(each.column, each.change, *each.numbers, write_evidence(each.evidence)) for each in result.columns]
        since = "since then" if result.since is None else f"since row {result.since.row}"
        lines += frame.align_columns([("column", "change", "reference", since, "evidence"), *cells[: frame.SHOWN]])
    shown = result.batches[-frame.SHOWN :]
    ends = [batch.first for batch in shown[1:]] + [result.n_rows]
    counted = [
        (each.name, end - each.first, write_evidence(each.evidence)) for each, end in zip(shown, ends, strict=True)
    ]
    lines += ["batches     the last ones", *frame.align_columns([("batch", "rows", "evidence after it"), *counted])]
    if state is not None:
        lines.append(f"State: {state} ({write_count(result.n_rows, 'row')})")
    columns = {
        name: [getattr(each, name) for each in result.batches] for name in ("name", "number", "first", "evidence")
    }
    payload = {**result.to_dict(), "skipped": skipped} if request.wants_json else {}
    request.deliver(frame.Answer(lines, payload, columns), result.plot, lambda command: result._report(command))
    if result.alarm and fail_if is not None:
        frame.fail(result.summary)


def _make_mark(path: Path) -> str | None:
    """Return a mark that identifies a file by its name and content; None if it cannot be read twice."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    digest.update(path.name.encode(errors="surrogateescape"))
    return digest.hexdigest()[:16]


@contextmanager
def _alone(path: Path | None) -> Iterator[None]:
    """Wait until no other process uses state files of the same folder (on Windows, this one)."""
    if path is None:
        yield
        return
    lock = _lock_file(path) if os.name == "nt" else _lock_folder(path)
    try:
        yield
    finally:
        os.close(lock)


def _lock_folder(path: Path) -> int:
    """Lock the folder of a file, if the file system can, until the returned descriptor is closed."""
    import fcntl

    folder = os.open(path.resolve().parent, os.O_RDONLY)
    with suppress(OSError):
        fcntl.flock(folder, fcntl.LOCK_EX)
    return folder


def _lock_file(path: Path) -> int:
    """Lock a file beside another until the returned descriptor is closed. Windows cannot lock folders."""
    msvcrt: Any = import_module("msvcrt")
    lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT)
    while True:
        try:
            # This gives up after ten seconds.
            msvcrt.locking(lock, msvcrt.LK_LOCK, 1)
        except OSError:
            continue
        return lock


_BATCHES = "Tables of new rows, in order; - reads CSV from standard input."
VERB = Verb(
    monitor,
    (
        declare_table("reference", "Rows that are as they should be."),
        Field("batches", _BATCHES, list[Path], reads="table", is_positional=True, is_required=True),
        Field(
            "state", "File that remembers the rows so far. The first call creates it.", Path, python="", reads="state"
        ),
        Field("level", "Chance of ever raising a false alarm.", float, 0.01).on_page(
            "Chance of a false alarm, ever", "0.01", (1e-9, 0.5)
        ),
        Field(
            "groups", "Column that dependent rows share, such as machine or day. Means of whole groups are watched."
        ).on_page("Column of what dependent rows share", "none", (None, 500), is_column=True),
        Field("rebase", "Start again with this reference, for instance after an alarm.", bool, False, python=""),
        Field("fail-if", f"Exit with code {frame.FAILED} if this is true: alarm.", python=""),
        *(field for field in SHARED if field not in (SCALE, COMMON)),
    ),
    "monitor = fewratio.DriftMonitor({reference}{settings}{columns})\n"
    "for batch in {batches}:\n    result = monitor.update(batch)\nprint(result)",
    Page(
        "Watch",
        "Are new rows still like the old ones?",
        "Tables of new rows, one after the other, against a reference: you may look as often as you like.",
        {
            "reference": ("Reference", "Rows that are as they should be", "example-line_reference"),
            "batches": (
                "New rows",
                "One table or several, in the order of time; a table that was counted before is skipped",
                "example-line_monday example-line_tuesday example-line_wednesday",
            ),
            "state": ("State (optional)", "What you saved last time, to go on from there", ""),
        },
        "three days of a production line",
    ),
)
