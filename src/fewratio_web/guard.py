"""Decide which requests to accept, and set the headers of every answer."""

import asyncio
import ipaddress
import secrets
import socket
import time
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

from starlette.responses import JSONResponse, RedirectResponse

from fewratio_web.limits import Limits

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
WILDCARDS = ("0.0.0.0", "::", "")
_SAFE = ("GET", "HEAD", "OPTIONS")
_MOST_SESSIONS = 10_000
_SELF = "; ".join(f"{what}-src 'self'" for what in ("script", "style", "img", "connect", "frame"))
_POLICY = f"default-src 'none'; {_SELF}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
# A report contains its scripts and styles; in a sandbox it has no origin and can request nothing.
REPORT_POLICY = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}


def problem(status: int, title: str, detail: str) -> dict[str, Any]:
    """Return a problem as RFC 9457 describes it; `detail` has three parts, like all messages."""
    return {"type": "about:blank", "title": title, "status": status, "detail": detail}


class TooLarge(Exception):
    """A request is larger than allowed."""

    @property
    def problem(self) -> dict[str, Any]:
        """The answer."""
        detail = f"The request has more than {self.args[0] >> 20} MB, the most allowed. Send a smaller file."
        return problem(413, "Too large", detail)


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine, and only this machine can reach it."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Guard:
    """Check where requests come from and how large they are; give each browser a session.

    Parameters
    ----------
    app : ASGI application
    host : str
        The address to listen at.
    token : str or None
        The secret that users must send.
    limits : Limits
    """

    def __init__(self, app: Any, host: str, token: str | None, limits: Limits) -> None:
        self.app, self.host, self.token, self.limits = app, host, token, limits
        # Cookies ignore ports: two servers on a machine must not share one.
        self.cookie = f"fewratio_{secrets.token_hex(4)}"
        self._sessions: OrderedDict[str, float] = OrderedDict()
        self._active: Counter[str] = Counter()

    def cancel_jobs(self) -> None:
        """Cancel all jobs, if the application has begun."""
        runner = getattr(self.app.state, "runner", None)
        if runner is not None:
            runner.cancel_all()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Accept a request, or refuse it."""
        if scope["type"] != "http":
            # There are no websockets.
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        refused = self._refusal(scope, headers)
        session = self._session(headers)
        is_new = session is None
        if refused is None and self.token is not None and session is None:
            refused = self._check_token(scope, headers)
        if refused is not None:
            await _refuse(scope, receive, send, refused)
            return
        session = session or self._new_session()
        scope.setdefault("state", {})["owner"] = session

        async def answer(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = self._add_headers(message["headers"], session if is_new else None)
            await send(message)

        if self.token is not None and "token" in parse_qs(scope["query_string"].decode("latin-1")):
            # Remove the token from the address.
            await RedirectResponse("/", 303)(scope, receive, answer)
            return
        is_upload = scope["path"].startswith(("/api/v1/files", "/api/v1/folders"))
        most = self.limits.upload if is_upload else self.limits.message
        said = headers.get("content-length", "0")
        if not said.isdecimal() or int(said) > most:
            await _refuse(scope, receive, send, TooLarge(most).problem)
            return
        # A client without a session is identified by its address.
        client = (scope.get("client") or [""])[0] if is_new else session
        if self._active[client] >= self.limits.requests:
            detail = f"You have {self.limits.requests} requests at once, the most allowed. Wait for some to end."
            await _refuse(scope, receive, send, problem(429, "Too many requests", detail))
            return
        seen, is_whole = 0, False

        async def receive_bounded() -> MutableMapping[str, Any]:
            # The size that a request states is not trusted.
            nonlocal seen, is_whole
            try:
                message = await (receive() if is_whole else asyncio.wait_for(receive(), self.limits.body))
            except TimeoutError:
                return {"type": "http.disconnect"}
            is_whole = not message.get("more_body", False)
            seen += len(message.get("body", b""))
            if seen > most:
                raise TooLarge(most)
            return message

        self._active[client] += 1
        try:
            await self.app(scope, receive_bounded, answer)
        finally:
            self._active[client] -= 1
            # Drop zero counts.
            self._active = +self._active

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> dict[str, Any] | None:
        """Refuse requests that name another host, or come from pages of other sites."""
        host = headers.get("host", "")
        if not self._is_own(host):
            detail = "The request names another host; expected the address that the server printed. Open that."
            return problem(421, "Wrong host", detail)
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        is_foreign = site not in ("same-origin", "none") or (origin is not None and _read_host(origin) != host)
        if is_foreign and (scope["method"] not in _SAFE or scope["path"].startswith("/api/")):
            detail = "The request comes from a page of another site; only this page may send it. Open this page."
            return problem(403, "Another site", detail)
        return None

    def _is_own(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if name in (*_LOOPBACK, self.host.lower()):
            return True
        if self.host not in WILDCARDS:
            return False
        # Nobody else can point a name here: an address has none, and the machine's name is its own.
        try:
            return bool(ipaddress.ip_address(name))
        except ValueError:
            return name in (socket.gethostname().lower(), socket.getfqdn().lower())

    def _session(self, headers: dict[str, str]) -> str | None:
        """Return the session of a browser, if it has one."""
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            found = None
        if found is None or found.value not in self._sessions:
            return None
        if time.monotonic() - self._sessions[found.value] > 24 * self.limits.kept:
            del self._sessions[found.value]
            return None
        return found.value

    def _new_session(self) -> str:
        session = secrets.token_urlsafe(32)
        self._sessions[session] = time.monotonic()
        if len(self._sessions) > _MOST_SESSIONS:
            self._sessions.popitem(last=False)
        return session

    def _check_token(self, scope: Scope, headers: dict[str, str]) -> dict[str, Any] | None:
        """Refuse requests without the token."""
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        given = given or headers.get("authorization", "").removeprefix("Bearer ")
        if secrets.compare_digest(given.encode(), str(self.token).encode()):
            return None
        detail = "The token is missing or wrong; expected the one given with --token. Add ?token=... to the address."
        return problem(401, "Token needed", detail)

    def _add_headers(self, headers: list[tuple[bytes, bytes]], new_session: str | None) -> list[tuple[bytes, bytes]]:
        has = {name.lower() for name, _ in headers}
        added = [(name.encode(), value.encode()) for name, value in _HEADERS.items() if name.encode() not in has]
        if new_session is not None:
            cookie = f"{self.cookie}={new_session}; Path=/; HttpOnly; SameSite=Strict"
            added.append((b"set-cookie", cookie.encode()))
        return [*headers, *added]


def _read_host(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None


async def _refuse(scope: Scope, receive: Receive, send: Send, refused: dict[str, Any]) -> None:
    headers = {**_HEADERS, "connection": "close"}
    await JSONResponse(refused, refused["status"], headers, "application/problem+json")(scope, receive, send)
