"""The JSON API under ``/api/v1``, which the page itself uses, and the page."""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path, PurePath
from typing import Annotated, Any

from fastapi import FastAPI, HTTPException, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.requests import ClientDisconnect

from fewratio import __version__
from fewratio.errors import DataFileError, FewRatioError
from fewratio_web.guard import REPORT_POLICY, Guard, TooLarge, problem
from fewratio_web.job_runner import JobRunner
from fewratio_web.limits import Limits
from fewratio_web.names import check_beginning, check_ending, check_free, is_table, safe_name, safe_path
from fewratio_web.store import Job
from fewratio_web.verbs import REPORT, TEXT, JobRequest, describe_pages
from fewratio_web.workers import Work

_STATIC = Path(__file__).parent / "static"
_LONGEST_WAIT = 30


class FileInfo(BaseModel):
    """A file or folder."""

    id: str
    name: str
    bytes: int
    files: int | None


class Progress(BaseModel):
    """Progress of a job."""

    description: str
    step: int
    total: int


class JobInfo(BaseModel):
    """A job: its state, equivalent commands, and its results."""

    id: str
    verb: str
    state: str
    shell: str
    python: str
    progress: Progress | None
    seconds: float | None
    message: str | None
    notes: list[str]
    files: list[FileInfo]


class Problem(BaseModel):
    """What went wrong (RFC 9457); `detail` says what was found, what is needed, and what to do."""

    type: str
    title: str
    status: int
    detail: str


def make_app(
    work: Work,
    host: str = "127.0.0.1",
    token: str | None = None,
    limits: Limits | None = None,
    preload: Sequence[str] = (),
) -> Guard:
    """Make the application.

    Parameters
    ----------
    work : callable
        The work of a worker process.
    host : str
        The address to listen at.
    token : str, optional
        The secret that users must send.
    limits : Limits, optional
    preload : sequence of str
        Modules that worker processes need.
    """
    limits = limits or Limits()

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        runner = JobRunner(work, limits, preload)
        app.state.runner = runner
        tasks = [asyncio.create_task(each) for each in (runner.write_examples(), runner.forget_old())]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await runner.close()

    app = FastAPI(
        title="fewratio",
        version=__version__,
        description="See how datasets differ. A job is a command line of `fewratio`; its results are files.",
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=life,
        responses={"4XX": {"model": Problem, "description": "A problem"}},
    )
    _add_routes(app)
    _add_problems(app)
    app.mount("/", StaticFiles(directory=_STATIC, html=True))
    return Guard(app, host, token, limits)


def _add_routes(app: FastAPI) -> None:
    def runner(request: Request) -> Any:
        return request.app.state.runner

    def owner(request: Request) -> str:
        return str(request.state.owner)

    name_of_file = Annotated[str, Query(min_length=1, max_length=500, description="Name of the file")]

    @app.post("/api/v1/files", status_code=201, response_model=FileInfo, tags=["files"])
    async def send_file(request: Request, name: name_of_file) -> Any:
        """Send a table or a model, as the body of the request."""
        safe = safe_name(name)
        check_ending(safe)
        store = runner(request).store
        with store.new_folder() as folder:
            await runner(request).receive(request, folder / safe)
            check_beginning(folder / safe)
        return store.add(owner(request), folder / safe).describe()

    @app.post("/api/v1/folders", status_code=201, response_model=FileInfo, tags=["files"])
    async def make_folder(request: Request, name: name_of_file) -> Any:
        """Make an empty folder of tables; or send a zip file of them, as the body of the request."""
        safe = safe_name(name)
        store = runner(request).store
        runner(request).check_room()
        with store.new_folder() as place, tempfile.TemporaryDirectory(dir=store.root) as work:
            if not safe.lower().endswith(".zip"):
                (place / safe).mkdir()
                return store.add(owner(request), place / safe, 0).describe()
            archive, folder = Path(work, safe), place / PurePath(safe).stem
            await runner(request).receive(request, archive)
            task = {"folder": work, "stdout": TEXT, "unpack": str(archive), "into": str(folder)}
            with store.reserve(runner(request).limits.unpacked) as most:
                message = await runner(request).workers.run({**task, "unpacked": most}, lambda progress: None)
            if message is not None:
                raise DataFileError(message)
        return store.add(owner(request), folder, sum(path.is_file() for path in folder.rglob("*"))).describe()

    @app.post("/api/v1/folders/{id}/files", status_code=201, response_model=FileInfo, tags=["files"])
    async def send_into_folder(request: Request, id: str, name: name_of_file) -> Any:
        """Send a table into a folder, as the body of the request; its name may have sub-folders."""
        folder = runner(request).file(id, owner(request))
        place = safe_path(name)
        if folder.owner is None or not folder.path.is_dir() or place is None or not is_table(place.name):
            raise DataFileError(
                f"file {name[:100]!r} cannot be put there; expected a table, for a folder of yours. Leave it out."
            )
        most = runner(request).limits.members
        if folder.n_files >= most:
            raise DataFileError(f"folder {folder.name!r} holds {most:,} files, the most allowed. Send fewer.")
        check_free(folder.path, place, f"folder {folder.name!r}")
        target = folder.path / place
        target.parent.mkdir(parents=True, exist_ok=True)
        await runner(request).receive(request, target)
        folder.n_files += 1
        return folder.describe()

    @app.get("/api/v1/files/{id}", tags=["files"])
    async def get_file(request: Request, id: str) -> FileResponse:
        """Get a file; a report is shown, others are saved."""
        file = runner(request).file(id, owner(request))
        if not file.path.is_file():
            raise HTTPException(404, "That is a folder; only files can be sent. Ask for a file.")
        if file.name == REPORT:
            return FileResponse(file.path, media_type="text/html", headers={"content-security-policy": REPORT_POLICY})
        kind = {".json": "application/json", ".csv": "text/csv", ".txt": "text/plain"}.get(file.path.suffix)
        return FileResponse(file.path, media_type=kind or "application/octet-stream", filename=file.name)

    @app.get("/api/v1/pages", tags=["page"])
    async def list_pages() -> dict[str, Any]:
        """List the questions of the page: the form of each."""
        return describe_pages()

    @app.get("/api/v1/examples", response_model=list[FileInfo], tags=["files"])
    async def list_examples(request: Request) -> Any:
        """List the example files."""
        await asyncio.wait_for(runner(request).has_examples.wait(), _LONGEST_WAIT)
        return [file.describe() for file in runner(request).store.files.values() if file.owner is None]

    @app.post("/api/v1/jobs", status_code=201, response_model=JobInfo, tags=["jobs"])
    async def start_job(request: Request, asked: JobRequest) -> Any:
        """Start a job."""
        return _describe(runner(request).start(asked, owner(request)))

    @app.get("/api/v1/jobs/{id}", response_model=JobInfo, tags=["jobs"])
    async def get_job(
        request: Request,
        id: str,
        wait: Annotated[float, Query(ge=0, le=_LONGEST_WAIT, description="Seconds to wait for news")] = 0,
    ) -> Any:
        """Get the progress of a job, or its result."""
        job = runner(request).job(id, owner(request))
        if not job.is_over:
            with suppress(TimeoutError):
                await asyncio.wait_for(job.changed.wait(), wait)
        return _describe(job)

    @app.delete("/api/v1/jobs/{id}", response_model=JobInfo, tags=["jobs"])
    async def cancel_job(request: Request, id: str) -> Any:
        """Cancel a job."""
        job = runner(request).job(id, owner(request))
        if not job.is_over:
            job.task.cancel()
            await asyncio.wait([job.task])
        return _describe(job)


def _describe(job: Job) -> dict[str, Any]:
    told = {name: getattr(job, name) for name in JobInfo.model_fields if name != "files"}
    if job.state == "running" and job.started is not None:
        told["seconds"] = time.monotonic() - job.started
    return told | {"files": [file.describe() for file in job.files]}


def _add_problems(app: FastAPI) -> None:
    def answer(status: int, title: str, detail: str) -> JSONResponse:
        content = problem(status, title, detail)
        return JSONResponse(content, status, media_type="application/problem+json")

    @app.exception_handler(StarletteHTTPException)
    async def refuse(request: Request, error: StarletteHTTPException) -> JSONResponse:
        detail = error.detail
        if error.status_code in (404, 405) and detail in ("Not Found", "Method Not Allowed"):
            detail = f"There is nothing here for {request.method}; /docs.html lists what there is. Check the address."
        titles = {404: "Not found", 429: "Too many jobs", 503: "Too much work", 507: "No room"}
        return answer(error.status_code, titles.get(error.status_code, "Refused"), detail)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"][1:]) or "the request"
        detail = f"{place[:200]} cannot be used ({first['msg'][:300]}); /docs.html says what is needed. Correct it."
        return answer(422, "Wrong request", detail)

    @app.exception_handler(FewRatioError)
    async def wrong(request: Request, error: FewRatioError) -> JSONResponse:
        return answer(422, "Wrong input", str(error))

    @app.exception_handler(ClientDisconnect)
    async def gone(request: Request, error: ClientDisconnect) -> JSONResponse:
        # Nobody reads it.
        return answer(400, "Not complete", "The request was cut off; expected all of it. Send it again.")

    @app.exception_handler(TooLarge)
    async def too_large(request: Request, error: TooLarge) -> JSONResponse:
        return JSONResponse(error.problem, 413, media_type="application/problem+json")
