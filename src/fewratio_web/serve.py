"""``fewratio serve``."""

import os
import socket
import webbrowser
from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

import typer

from fewratio.cli.frame import Request
from fewratio.cli.verb import Field, Verb
from fewratio.errors import ParameterError
from fewratio.lazy import import_home
from fewratio_web.worker import work


def serve(request: Request, host: str, port: int, open: bool, token: str | None) -> None:
    """Serve a web page on this machine that compares tables, finds outliers and changes, and learns models.

    Nothing is sent to other servers. Files and results are removed an hour after their last use, and when the server
    stops.

    Example: fewratio serve --open
    """
    for package in ("fastapi", "uvicorn"):
        import_home(package, "fewratio serve")
    import uvicorn

    from fewratio_web.app import make_app
    from fewratio_web.connections import BoundedProtocol
    from fewratio_web.guard import WILDCARDS, is_loopback

    if not is_loopback(host) and not token:
        raise ParameterError(
            f"--host is {host!r}, which other machines can reach; that needs a token. Give --token, or leave "
            "--host out."
        )
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listener = socket.create_server(address[:2], family=family, backlog=128)
    except OSError as error:
        raise ParameterError(
            f"{host} port {port} cannot be listened at ({error.strerror}); expected a free one. Leave --port out, or "
            "give another."
        ) from error
    port = listener.getsockname()[1]
    # 0.0.0.0 and :: cannot be opened in a browser.
    hosts = ["127.0.0.1", socket.gethostname()] if host in WILDCARDS else [f"[{host}]" if ":" in host else host]
    query = f"?{urlencode({'token': token})}" if token else ""
    addresses = [f"http://{each}:{port}/{query}" for each in hosts]
    typer.echo("\n".join([*addresses, "Ctrl-C ends it."]))
    # For worker processes: more threads than cores make all of them slow.
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONUTF8": "1"}
    app = make_app(work, host, token, preload=["fewratio_web.worker_imports"])
    config = uvicorn.Config(
        app,
        http=BoundedProtocol,
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=1,
        limit_concurrency=1000,
    )
    if open:
        # The browser waits until the server answers.
        webbrowser.open(addresses[0])

    class Server(uvicorn.Server):
        def handle_exit(self, *signal: Any) -> None:
            # Requests that wait for jobs would delay the end.
            app.cancel_jobs()
            super().handle_exit(*signal)

    with suppress(KeyboardInterrupt):
        Server(config).run(sockets=[listener])


VERB = Verb(
    serve,
    (
        Field(
            "host", "Address to listen on. An address that other machines can reach needs --token.", default="127.0.0.1"
        ),
        Field("port", "Port; 0 picks a free one.", int, default=0, least=0, most=65535),
        Field("open", "Open the page in the browser.", bool, default=False),
        Field("token", "Secret in the address that users open: http://.../?token=...", envvar="FEWRATIO_TOKEN"),
    ),
)
