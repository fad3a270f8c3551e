"""Servers that misbehave, byte by byte. Each waits for a whole request first, so that a test knows
how often one was sent.
"""

import json
import random
import re
import socket
import threading

ALLOW = {
    "decision": "allow",
    "reason": 'Rule 0 of policy "p" allows s__t.',
    "policyId": "0190a0a0-0000-7000-8000-000000000001",
    "toolCallId": "0190a0a0-0000-7000-8000-000000000002",
    "latencyMs": 1,
}
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


class Rude:
    """Serves every connection with ``manner(socket, request, earlier)``."""

    def __init__(self, manner, port=0):
        self.requests = []
        self._manner = manner
        self._stopped = threading.Event()
        self._server = socket.create_server(("127.0.0.1", port))
        self.url = f"http://127.0.0.1:{self._server.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stopped.set()
        # A thread inside accept() keeps the port open after a mere close.
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()

    def _accept(self):
        while not self._stopped.is_set():
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection:
            try:
                request = whole_request(connection)
                self.requests.append(request)
                self._manner(connection, request, len(self.requests) - 1)
                # Stays open until the client lets go: only a manner itself cuts it.
                while connection.fileno() >= 0 and connection.recv(65536):
                    pass
            except OSError:
                pass


def whole_request(connection):
    text = b""
    while True:
        part = connection.recv(65536)
        if not part:
            raise OSError("the client left")
        text += part
        head, found, body = text.partition(b"\r\n\r\n")
        length = re.search(rb"(?im)^content-length: *(\d+)", head)
        if found and len(body) >= int(length.group(1) if length else 0):
            return text


def answer(status, body, headers=(("Content-Type", "application/json"),)):
    raw = body if isinstance(body, bytes) else body.encode()
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    head = f"HTTP/1.1 {status} Said\r\n{lines}Content-Length: {len(raw)}\r\n\r\n".encode()
    return lambda connection, *_: connection.sendall(head + raw)


def problem(status, code, *headers):
    body = {"type": "about:blank", "title": "Said", "status": status, "code": code}
    body["detail"] = f"It is {code}."
    return answer(
        status, json.dumps(body), (("Content-Type", "application/problem+json"), *headers)
    )


allow = answer(200, json.dumps(ALLOW))


def trusting(connection, request, earlier):
    """Allows every call, trusts what its tool returns, and takes whatever it is told."""
    known = answer(200, json.dumps({**ALLOW, "known": "results"}))
    manner = answer(202, "", ()) if request.startswith(b"POST /v1/told ") else known
    manner(connection, request, earlier)


def but_telling(manner):
    """As trusting, except that telling fails in this manner."""
    return lambda connection, request, earlier: (
        manner if request.startswith(b"POST /v1/told ") else trusting
    )(connection, request, earlier)


def looking(connection, request, earlier):
    """Allows every call, trusts what its tool returns, and has it looked at: each ``canary`` is hidden,
    and a result with ``poison`` is withheld.
    """
    if request.startswith(b"POST /v1/told "):
        manner = trusting
    elif request.startswith(b"POST /v1/results "):
        manner = answer(200, _guarded(json.dumps(_body(request)["result"])))
    else:
        manner = answer(200, json.dumps({**ALLOW, "known": "results", "results": True}))
    manner(connection, request, earlier)


WITHHELD = {"content": [{"type": "text", "text": "It is withheld."}], "isError": True}


def _guarded(text):
    return json.dumps(WITHHELD) if "poison" in text else text.replace("canary", "[hidden: birds]")


def but_looking(manner):
    """As looking, except that it fails in this manner."""
    return lambda connection, request, earlier: (
        manner if request.startswith(b"POST /v1/results ") else looking
    )(connection, request, earlier)


def told(server):
    """What the requests to ``/v1/told`` said."""
    return _bodies(b"POST /v1/told ", server)


def looked_at(server):
    """What was to be looked at."""
    return _bodies(b"POST /v1/results ", server)


def _bodies(start, server):
    return [_body(each) for each in server.requests if each.startswith(start)]


def _body(request):
    return json.loads(request.partition(b"\r\n\r\n")[2])


def first(once, then):
    """One manner for the first request, another for all that follow."""
    return lambda connection, request, earlier: (then if earlier else once)(
        connection, request, earlier
    )


def silence(*_):
    pass


def close(connection, *_):
    connection.shutdown(socket.SHUT_RDWR)
    connection.close()


def say_and_close(text):
    def manner(connection, *_):
        connection.sendall(text)
        close(connection)

    return manner


def trickle(connection, *_):
    """A true allow, one byte at a time, with its end never coming."""
    text = HEAD + b"Content-Length: 100000\r\n\r\n" + json.dumps(ALLOW).encode()
    stop = threading.Event()
    for byte in text + b" " * 90_000:
        connection.sendall(bytes([byte]))
        stop.wait(0.005)


def trickle_headers(connection, *_):
    """Headers without end: each one would start a socket's own time-out anew."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
    stop = threading.Event()
    while True:
        connection.sendall(b"a")
        stop.wait(0.005)


def endless(connection, *_):
    connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    while True:
        connection.sendall(b"10000\r\n" + b" " * 65536 + b"\r\n")


def closed_port():
    """A port that nobody listens on, below those that the system gives to anybody who connects."""
    while True:
        port = random.randrange(10_000, 15_000)
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            pass


def verdict_with(**change):
    return json.dumps({name: value for name, value in {**ALLOW, **change}.items() if value != ...})


#: What is not a verdict, though it came with 200.
NOT_VERDICTS = {
    "an empty body": "",
    "null": "null",
    "a list": json.dumps([ALLOW]),
    "a string": '"allow"',
    "an empty object": "{}",
    "only a decision": '{"decision":"allow"}',
    "an unknown decision": verdict_with(decision="allowed"),
    "a decision in capitals": verdict_with(decision="ALLOW"),
    "a decision as a list": verdict_with(decision=["allow"]),
    "a decision as true": verdict_with(decision=True),
    "no decision": verdict_with(decision=...),
    "no reason": verdict_with(reason=...),
    "a reason that is no string": verdict_with(reason=7),
    "no toolCallId": verdict_with(toolCallId=...),
    "an empty toolCallId": verdict_with(toolCallId=""),
    "no policyId": verdict_with(policyId=...),
    "latencyMs as a string": verdict_with(latencyMs="1"),
    "latencyMs as a fraction": verdict_with(latencyMs=1.5),
    "latencyMs as true": verdict_with(latencyMs=True),
    "latencyMs as NaN": verdict_with(latencyMs=float("nan")),
    "a pending verdict without its referenceId": verdict_with(decision="pending", message="m"),
    "a verdict inside an envelope": json.dumps({"verdict": ALLOW}),
    "a verdict and more": json.dumps(ALLOW) * 2,
    "a cut verdict": json.dumps(ALLOW)[:-1],
    "bytes that are not UTF-8": b'"\xff"',
    "depth without end": "[" * 100_000,
}
