"""Limit connections that send no request: their time, and their number per client."""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from fewratio_web.limits import Limits


class BoundedProtocol(H11Protocol):
    """HTTP/1.1 with a time limit for the headers of a request."""

    limits = Limits()
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Wait for a request; if a client has too many connections without one, close the oldest."""
        super().connection_made(transport)
        self._wait()
        others = [each for each in self.connections if isinstance(each, BoundedProtocol) and each._timer is not None]
        mine = [each for each in others if (each.client or [""])[0] == (self.client or [""])[0]]
        if len(mine) > self.limits.unfinished:
            min(mine, key=lambda each: each._timer.when() if each._timer else 0).transport.close()

    def data_received(self, data: bytes) -> None:
        """Stop waiting once the headers have arrived."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop()
        elif self.conn.trailing_data[0]:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop()
        super().connection_lost(exc)

    def _wait(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self.limits.headers, self.transport.close)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
