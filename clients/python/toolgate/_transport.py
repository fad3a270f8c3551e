"""One HTTP exchange that ends before a deadline, whatever the other side does.

A socket's own time-out starts anew with every byte, so a server that trickles would hold a caller
for ever; here every single wait gets only what is left of the whole. A connection serves one call:
a reused one that breaks would leave open whether the verdict was recorded. Redirects are not
followed and no proxy is taken from the environment: the key goes to one address only.
"""

from __future__ import annotations

import contextlib
import functools
import http.client
import io
import ipaddress
import queue
import socket
import ssl
import threading
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult

from ._errors import BadAnswer, CallTimedOut, NetworkFailure


class Deadline:
    """The moment by which a call must have ended, and the means to end it sooner."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None

    def remaining(self) -> float:
        """Seconds left; raises when there are none."""
        left = self._end - time.monotonic()
        if left <= 0 or self._ended.is_set():
            raise CallTimedOut(f"No answer within {self.seconds:g} seconds.")
        return left

    def holds(self, seconds: float) -> bool:
        """Whether a wait of so many seconds still fits."""
        return time.monotonic() + seconds < self._end

    def pause(self, seconds: float) -> None:
        self._ended.wait(min(seconds, self.remaining()))
        self.remaining()

    def watch(self, sock: socket.socket) -> None:
        """From now on, ending the call also ends this socket's."""
        with self._lock:
            self._socket = sock

    def end(self) -> None:
        """Ends the call from another thread: whoever waits on the socket wakes up."""
        self._ended.set()
        with self._lock:
            if self._socket is not None:
                with contextlib.suppress(OSError):
                    self._socket.shutdown(socket.SHUT_RDWR)


@dataclass(frozen=True)
class Reply:
    status: int
    headers: http.client.HTTPMessage
    body: bytes


def send(
    base: SplitResult,
    method: str,
    path: str,
    headers: dict[str, str],
    body: bytes | None,
    deadline: Deadline,
    limit: int,
) -> Reply:
    """Sends one request and reads its whole answer, up to ``limit`` bytes."""
    stream = _connect(base, deadline)
    connection = _Connection(base.netloc, stream)
    try:
        connection.request(method, base.path + path, body=body, headers=headers)
        response = connection.getresponse()
        return Reply(response.status, response.headers, _read(response, limit))
    except socket.timeout:
        deadline.remaining()
        raise CallTimedOut(f"No answer within {deadline.seconds:g} seconds.") from None
    except (http.client.HTTPException, OSError, ValueError) as error:
        deadline.remaining()
        if isinstance(error, _NOT_HTTP) and not isinstance(error, ConnectionError):
            raise BadAnswer(None, "The answer is not HTTP.") from error
        raise NetworkFailure(f"The connection to {_origin(base)} failed before an answer.", sent=True) from error
    finally:
        stream.release()


_NOT_HTTP = (http.client.BadStatusLine, http.client.LineTooLong, http.client.UnknownProtocol)


def _read(response: http.client.HTTPResponse, limit: int) -> bytes:
    body = response.read(limit + 1)
    if len(body) > limit:
        raise BadAnswer(response.status, f"The answer is larger than {limit} bytes.")
    # A read of so many bytes does not tell a short answer from a cut one.
    if response.length:
        raise http.client.IncompleteRead(body, response.length)
    return body


class _Connection(http.client.HTTPConnection):
    """The library's HTTP over a stream that is connected already."""

    def __init__(self, netloc: str, stream: _Stream) -> None:
        super().__init__("unused")
        self._netloc = netloc
        self._stream = stream

    def connect(self) -> None:
        self.sock = self._stream

    def request(
        self, method: str, url: str, body: Any = None, headers: Any = None, **more: Any
    ) -> None:
        """With the Host that was asked for, and without compression: sizes stay what they seem."""
        named = {"Host": self._netloc, "Accept-Encoding": "identity", "Connection": "close"}
        super().request(method, url, body=body, headers={**named, **(headers or {})}, **more)


class _Stream:
    """As much of a socket as http.client uses, with the deadline on every wait."""

    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._sock = sock
        self._deadline = deadline

    def sendall(self, data: bytes | bytearray | memoryview) -> None:
        left = memoryview(data)
        while left:
            self._sock.settimeout(self._deadline.remaining())
            left = left[self._sock.send(left) :]

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Reader(self._sock, self._deadline))

    def close(self) -> None:
        """Does nothing: http.client lets go of its socket before the answer is read."""

    def release(self) -> None:
        self._sock.close()


class _Reader(io.RawIOBase):
    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._sock = sock
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._sock.settimeout(self._deadline.remaining())
        return self._sock.recv_into(buffer)


def _connect(base: SplitResult, deadline: Deadline) -> _Stream:
    """A connected stream. Until it stands, nothing has been sent."""
    host = base.hostname or ""
    port = base.port or (443 if base.scheme == "https" else 80)
    try:
        sock = _first_that_connects(_addresses(host, port, deadline), deadline)
        if base.scheme == "https":
            sock = _secured(sock, host, deadline)
        deadline.watch(sock)
        return _Stream(sock, deadline)
    except socket.timeout:
        raise CallTimedOut(f"No connection within {deadline.seconds:g} seconds.") from None
    except (OSError, UnicodeError) as error:
        deadline.remaining()
        raise NetworkFailure(
            f"The service at {_origin(base)} cannot be reached. Is it running, and is the base address "
            "(TOOLGATE_BASE_URL) right?",
            sent=False,
        ) from error


def _origin(base: SplitResult) -> str:
    return f"{base.scheme}://{base.netloc.rpartition('@')[2]}"


_Address = tuple[Any, Any, int, str, Any]


def _first_that_connects(addresses: list[_Address], deadline: Deadline) -> socket.socket:
    failure: OSError = OSError("the name has no address")
    for family, kind, protocol, _, address in addresses:
        sock = socket.socket(family, kind, protocol)
        try:
            sock.settimeout(deadline.remaining())
            deadline.watch(sock)
            sock.connect(address)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return sock
        except OSError as error:
            sock.close()
            failure = error
        except BaseException:
            sock.close()
            raise
    raise failure


def _secured(sock: socket.socket, host: str, deadline: Deadline) -> socket.socket:
    try:
        sock.settimeout(deadline.remaining())
        return _trusted().wrap_socket(sock, server_hostname=host)
    except BaseException:
        sock.close()
        raise


@functools.lru_cache(maxsize=1)
def _trusted() -> ssl.SSLContext:
    """Made once: reading the system's certificates takes longer than a check."""
    return ssl.create_default_context()


def _addresses(host: str, port: int, deadline: Deadline) -> list[_Address]:
    """Looks a name up. The system's resolver has no time-out, so a name is given a thread."""
    if _is_address(host):
        return _look_up(host, port)
    found: queue.Queue[list[_Address] | OSError] = queue.Queue(1)

    def look_up() -> None:
        try:
            found.put(_look_up(host, port))
        except (OSError, UnicodeError) as error:
            found.put(error if isinstance(error, OSError) else OSError(str(error)))

    threading.Thread(target=look_up, name="toolgate-resolver", daemon=True).start()
    try:
        result = found.get(timeout=deadline.remaining())
    except queue.Empty:
        raise CallTimedOut(f"No address within {deadline.seconds:g} seconds.") from None
    if isinstance(result, OSError):
        raise result
    return result


def _look_up(host: str, port: int) -> list[_Address]:
    return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
        return True
    except ValueError:
        return False
