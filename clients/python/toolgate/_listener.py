"""The receiving end of approvals: believes only genuine deliveries, and wakes whoever waits.

An outcome that arrives before anybody waits is kept, up to a bound; one that comes twice is the
same outcome. ``handle`` fits any web framework; ``start`` serves the webhook's address by itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import socketserver
import threading
from collections import OrderedDict
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable

from ._config import want_timeout
from ._errors import CallTimedOut, InvalidConfiguration, WebhookRejected
from ._event import Approval, ApprovalResolved
from ._webhook import Secret, secrets_of, verify_webhook

REMEMBER = 10_000
BODY_LIMIT = 1024 * 1024
#: A little more than the 60 minutes after which the service says ``timed_out`` by default.
WAIT = 65 * 60.0
#: How long a sender may be silent before its connection is closed.
SENDER_SILENT = 10.0

Waiter = Callable[[Approval], None]


class ApprovalListener:
    """Receives a webhook's events; ``outcome`` tells how an approval ended.

    ``secret`` is the webhook's, or several while it is being changed, or None until
    ``set_secret``: an address can be served before the service is told of it. ``remember`` is how
    many outcomes are kept; the oldest goes first.
    """

    def __init__(self, secret: Secret | None = None, *, remember: int = REMEMBER) -> None:
        if remember < 1:
            raise InvalidConfiguration("remember must be at least 1.")
        self._secret: Secret | None = None
        if secret is not None:
            self.set_secret(secret)
        self._remember = remember
        self._outcomes: OrderedDict[str, Approval] = OrderedDict()
        self._waiters: dict[str, list[Waiter]] = {}
        self._lock = threading.Lock()
        self._server: ThreadingHTTPServer | None = None

    def set_secret(self, secret: Secret) -> None:
        secrets_of(secret)
        self._secret = secret

    def handle(self, headers: Mapping[str, str], body: bytes | str) -> int:
        """Takes a delivery and returns the HTTP status to answer with."""
        if self._secret is None:
            return 503
        try:
            event = verify_webhook(headers, body, self._secret)
        except WebhookRejected as error:
            return _status_of(error)
        if isinstance(event, ApprovalResolved):
            self._settle(event.data)
        return 204

    def outcome(self, reference_id: str, timeout: float | None = None) -> Approval:
        """How the approval ended, once it has; waits 65 minutes when no time is given."""
        seconds = WAIT if timeout is None else want_timeout(timeout)
        arrived = threading.Event()
        found: list[Approval] = []

        def wake(outcome: Approval) -> None:
            found.append(outcome)
            arrived.set()

        self._wait_for(reference_id, wake)
        try:
            if arrived.wait(seconds):
                return found[0]
            raise CallTimedOut(f"Nobody decided within {seconds:g} seconds.")
        finally:
            self._forget(reference_id, wake)

    async def outcome_async(self, reference_id: str, timeout: float | None = None) -> Approval:
        """As outcome, without holding a thread."""
        seconds = WAIT if timeout is None else want_timeout(timeout)
        loop = asyncio.get_running_loop()
        arrived: asyncio.Future[Approval] = loop.create_future()

        def wake(outcome: Approval) -> None:
            loop.call_soon_threadsafe(_resolve, arrived, outcome)

        self._wait_for(reference_id, wake)
        try:
            return await asyncio.wait_for(arrived, seconds)
        except asyncio.TimeoutError:
            raise CallTimedOut(f"Nobody decided within {seconds:g} seconds.") from None
        finally:
            self._forget(reference_id, wake)

    def start(self, host: str = "127.0.0.1", port: int = 0) -> str:
        """Serves the webhook's address in threads of its own; returns the address."""
        if self._server is not None:
            raise InvalidConfiguration("The listener is started already.")
        self._server = _Server((host, port), _handler_for(self))
        serve = self._server.serve_forever
        threading.Thread(target=serve, args=(0.1,), name="toolgate-listener", daemon=True).start()
        return f"http://{host}:{self._server.server_address[1]}/"

    def close(self) -> None:
        """Stops serving; outcomes that arrived stay known."""
        server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()

    def __enter__(self) -> ApprovalListener:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _wait_for(self, reference_id: str, waiter: Waiter) -> None:
        with self._lock:
            known = self._outcomes.get(reference_id)
            if known is None:
                self._waiters.setdefault(reference_id, []).append(waiter)
        if known is not None:
            waiter(known)

    def _forget(self, reference_id: str, waiter: Waiter) -> None:
        with self._lock:
            left = [each for each in self._waiters.pop(reference_id, []) if each is not waiter]
            if left:
                self._waiters[reference_id] = left

    def _settle(self, outcome: Approval) -> None:
        with self._lock:
            if outcome.reference_id in self._outcomes:
                return
            self._outcomes[outcome.reference_id] = outcome
            while len(self._outcomes) > self._remember:
                self._outcomes.popitem(last=False)
            waiters = self._waiters.pop(outcome.reference_id, [])
        for waiter in waiters:
            _wake(waiter, outcome)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def server_bind(self) -> None:
        """Without http.server's look-up of our own name, which can take long and helps nobody."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "toolgate", self.server_address[1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Silent: a sender that breaks off is no news, and will send again."""


def _wake(waiter: Waiter, outcome: Approval) -> None:
    # A closed event loop: nobody waits there any more, and others still do.
    with contextlib.suppress(RuntimeError):
        waiter(outcome)


def _resolve(arrived: asyncio.Future[Approval], outcome: Approval) -> None:
    if not arrived.done():
        arrived.set_result(outcome)


def _status_of(error: WebhookRejected) -> int:
    """Never 410, which would switch the webhook off."""
    if error.code == "webhook_unknown_event":
        # A later service may tell of more than this client knows; it is to be left in peace.
        return 204
    return 400 if error.code == "webhook_body" else 401


def _handler_for(listener: ApprovalListener) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = SENDER_SILENT

        def do_POST(self) -> None:
            length = self.headers.get("Content-Length", "")
            if not length.isascii() or not length.isdigit():
                self._answer(411)
            elif len(length) > 9 or int(length) > BODY_LIMIT:
                self._answer(413)
            else:
                self._answer(self._take(int(length)))

        def _take(self, length: int) -> int:
            body = self.rfile.read(length)
            if len(body) < length:
                return 400
            # A name that comes twice has no single meaning; items() shows both.
            names = [name.lower() for name in self.headers]
            if len(names) != len(set(names)):
                return 400
            return listener.handle(dict(self.headers.items()), body)

        def _answer(self, status: int) -> None:
            self.close_connection = True
            self.send_response_only(status)
            self.send_header("Content-Length", "0")
            self.send_header("Connection", "close")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Silent: what a library prints is its caller's decision."""

    return Handler
