"""One call of the service: send, read, and try again where that cannot record a second verdict."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Callable, Generic, TypeVar

from ._config import Settings
from ._errors import NetworkFailure, Overloaded, ServiceFailure, ToolgateError, invalid
from ._transport import Deadline, Reply, send

T = TypeVar("T")

FIRST_PAUSE = 0.1


@dataclass(frozen=True)
class Ask(Generic[T]):
    method: str
    path: str
    body: bytes | None
    read: Callable[[Reply], T]
    #: The largest answer, in bytes.
    limit: int
    #: Whether to send again when nobody knows if the service carried it out.
    repeatable: bool
    #: The run's name, if the request belongs to one.
    run: str | None = None
    #: By which the service knows a request that is sent again.
    idempotency_key: str | None = None


def exchange(settings: Settings, ask: Ask[T], retries: int, deadline: Deadline) -> T:
    made = 0
    while True:
        try:
            return _once(settings, ask, deadline)
        except ToolgateError as error:
            wait = _pause_before(error, made)
            # An error now says more than a time-out later.
            if (
                made >= retries
                or not _may_repeat(error, ask.repeatable)
                or not deadline.holds(wait)
            ):
                raise
        deadline.pause(wait)
        made += 1


def _once(settings: Settings, ask: Ask[T], deadline: Deadline) -> T:
    headers = {"Authorization": f"Bearer {settings.key}", "Accept": "application/json"}
    if ask.body is not None:
        headers["Content-Type"] = "application/json"
    if ask.run is not None:
        headers["Toolgate-Run"] = ask.run
    if ask.idempotency_key is not None:
        headers["Idempotency-Key"] = ask.idempotency_key
    reply = send(settings.base, ask.method, ask.path, headers, ask.body, deadline, ask.limit)
    return ask.read(reply)


def _may_repeat(error: ToolgateError, repeatable: bool) -> bool:
    if isinstance(error, NetworkFailure):
        return repeatable or not error.sent
    if isinstance(error, Overloaded):
        return repeatable or _promises_nothing_done(error)
    return repeatable and isinstance(error, ServiceFailure)


def _promises_nothing_done(error: Overloaded) -> bool:
    """Only the service's own refusal promises that no entry was written; a proxy's does not."""
    ours = error.problem is not None and error.problem.code in ("overloaded", "not_ready")
    return error.status == 503 and ours and error.retry_after is not None


def _pause_before(error: ToolgateError, made: int) -> float:
    asked = error.retry_after if isinstance(error, Overloaded) else None
    return FIRST_PAUSE * 2.0**made if asked is None else float(asked)


def to_json(value: Any, what: str) -> bytes:
    """A value JSON cannot hold is the caller's mistake; its text is not repeated."""
    try:
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")
    except (TypeError, ValueError, RecursionError):
        raise invalid(f"{what} cannot be written as JSON.") from None
