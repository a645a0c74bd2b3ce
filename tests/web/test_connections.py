"""Connections that send nothing do not keep others out."""

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import uvicorn
from uvicorn.server import ServerState

from fewratio_web.connections import BoundedProtocol
from fewratio_web.limits import Limits


async def answer(scope, receive, send):
    await send(
        {
            "type": "http.response.start",
            "status": 200,
            "headers": [(b"connection", b"close"), (b"content-length", b"4")],
        }
    )
    await send({"type": "http.response.body", "body": b"here"})


def serve(limits, use):
    """Run a server, and what uses it: told the port and the connections that are open."""

    class Protocol(BoundedProtocol):
        pass

    Protocol.limits = limits

    async def run():
        config = uvicorn.Config(answer, http=Protocol, lifespan="off", log_level="error", limit_concurrency=200)
        config.load()
        state = ServerState()
        make = lambda: Protocol(config=config, server_state=state, app_state={})  # noqa: E731
        async with await asyncio.get_running_loop().create_server(make, "127.0.0.1", 0) as server:
            return await use(server.sockets[0].getsockname()[1], state.connections)

    return asyncio.run(run())


@asynccontextmanager
async def connected(port, text=b""):
    """Open a connection, and send something."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(text)
    try:
        yield reader, writer
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


def test_many_unfinished_requests_do_not_stop_another_one():
    async def use(port, connections):
        async with AsyncExitStack() as stack:
            for _ in range(260):
                await stack.enter_async_context(connected(port, b"GET / HTTP/1.1\r\nhost: x\r\n"))
            async with connected(port, b"GET / HTTP/1.1\r\nhost: x\r\n\r\n") as (reader, _):
                return await reader.read(), len(connections)

    said, n_open = serve(Limits(headers=600), use)
    assert said.startswith(b"HTTP/1.1 200")
    assert n_open <= Limits().unfinished + 1


def test_headers_that_do_not_come_are_not_waited_for():
    async def use(port, connections):
        async with connected(port) as (silent, _), connected(port, b"GET / HT") as (unfinished, _):
            return await silent.read(), await unfinished.read()

    assert serve(Limits(headers=0.2), use) == (b"", b"")


def test_a_request_in_pieces_is_answered():
    async def use(port, connections):
        async with connected(port, b"GET / HTTP/1.1\r\nho") as (reader, writer):
            await writer.drain()
            writer.write(b"st: x\r\n\r\n")
            return await reader.read()

    assert serve(Limits(), use).endswith(b"here")
