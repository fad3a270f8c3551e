"""What an HTTP answer means.

The expected status with readable JSON is an answer, everything else one of the errors. Text of an
answer that is not the service's own goes into no message.
"""

from __future__ import annotations

import json
import re
from typing import Any, Callable, TypeVar

from ._errors import (
    BadAnswer,
    Forbidden,
    InvalidRequest,
    NotFound,
    Overloaded,
    Problem,
    ServiceFailure,
    ToolgateError,
    Unauthenticated,
)
from ._shape import Fields, ShapeFault, count, fields_of, ident, list_of, text
from ._transport import Reply

T = TypeVar("T")

_REFUSALS = {
    400: (InvalidRequest, "invalid_request", "The request was refused."),
    401: (Unauthenticated, "unauthenticated", "The key was refused."),
    403: (Forbidden, "forbidden", "The key may not do this."),
    404: (NotFound, "not_found", "There is nothing at this address."),
    413: (InvalidRequest, "invalid_request", "The request is too large."),
    415: (InvalidRequest, "invalid_request", "The request was refused."),
    500: (ServiceFailure, "service_failure", "The service failed."),
    502: (ServiceFailure, "service_failure", "The service failed."),
    504: (ServiceFailure, "service_failure", "The service failed."),
}


def read_answer(reply: Reply, expected: int, read: Callable[[Any], T]) -> T:
    """The result in an answer with the expected status; raises for any other answer."""
    if reply.status != expected:
        raise _refusal(reply)
    if not _is_type(reply, "application/json"):
        raise BadAnswer(
            reply.status, "The answer is not JSON; is this the address of a Toolgate service?"
        )
    try:
        return read(_parsed(reply.body))
    except ShapeFault as fault:
        raise BadAnswer(
            reply.status, f"The answer has another shape than promised: {fault}."
        ) from None
    except (ValueError, RecursionError):
        raise BadAnswer(reply.status, "The answer is not JSON.") from None


def read_nothing(reply: Reply, expected: int) -> None:
    """For an answer that has no body."""
    if reply.status != expected:
        raise _refusal(reply)


def _refusal(reply: Reply) -> ToolgateError:
    problem = _read_problem(reply)
    if reply.status in (429, 503):
        message = problem.detail if problem else "The service is too busy."
        return Overloaded(message, reply.status, problem, _retry_after(reply))
    # The idempotency key was used for another call.
    if problem is not None and problem.code == "idempotency_conflict":
        return InvalidRequest(problem.detail, reply.status, problem, "invalid_request")
    if reply.status not in _REFUSALS:
        return BadAnswer(reply.status, f"The answer has the unexpected status {reply.status}.")
    kind, code, fallback = _REFUSALS[reply.status]
    return kind(problem.detail if problem else fallback, reply.status, problem, code)


def _read_problem(reply: Reply) -> Problem | None:
    """None for whatever is not a problem body of ours: a proxy's page, a broken answer."""
    if not _is_type(reply, "application/problem+json"):
        return None
    try:
        fields = fields_of(_parsed(reply.body), "the problem")
        return Problem(
            title=text(fields, "title"),
            status=count(fields, "status"),
            detail=text(fields, "detail"),
            code=ident(fields, "code"),
            errors=_faults(fields),
            request_id=text(fields, "requestId") if "requestId" in fields else None,
        )
    except (ShapeFault, ValueError, RecursionError):
        return None


def _faults(fields: Fields) -> tuple[tuple[str, str], ...]:
    if "errors" not in fields:
        return ()
    faults = [fields_of(each, "an error") for each in list_of(fields, "errors")]
    return tuple((text(each, "path"), text(each, "message")) for each in faults)


def _parsed(body: bytes) -> Any:
    return json.loads(body.decode("utf-8"), parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _is_type(reply: Reply, wanted: str) -> bool:
    return reply.headers.get("Content-Type", "").split(";")[0].strip().lower() == wanted


def _retry_after(reply: Reply) -> int | None:
    value = reply.headers.get("Retry-After", "")
    return int(value) if re.fullmatch(r"[0-9]{1,6}", value) else None
