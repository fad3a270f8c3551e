"""What the client asks of the service, as _exchange sends it; what it tells besides is _told's."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ._answer import read_answer, read_nothing
from ._config import want_header
from ._errors import invalid
from ._exchange import Ask, to_json
from ._session import CreatedSession, Session, read_created_session, read_sessions
from ._verdict import Verdict, read_verdict

Args = Mapping[str, Any]

VERDICT_LIMIT = 1024 * 1024
SESSIONS_LIMIT = 64 * 1024 * 1024


def check_ask(
    server: str,
    tool: str,
    args: Args | None,
    reference_id: str | None,
    retry_unknown: bool,
    run: str | None,
    idempotency_key: str | None,
) -> Ask[Verdict]:
    if idempotency_key is not None:
        want_header("idempotency_key", idempotency_key)
    if args is not None and not isinstance(args, Mapping):
        raise invalid("The arguments must be a mapping.")
    call: dict[str, Any] = {"serverName": server, "toolName": tool}
    if args is not None:
        call["args"] = dict(args)
    if reference_id is not None:
        call["referenceId"] = reference_id
    return Ask(
        "POST",
        "/v1/check",
        to_json(call, "The call"),
        lambda reply: read_answer(reply, 200, read_verdict),
        VERDICT_LIMIT,
        retry_unknown or idempotency_key is not None,
        run,
        idempotency_key,
    )


def create_session_ask(
    label: str | None,
    ttl_minutes: int | None,
    scope_tools: Sequence[str] | None,
    known: Sequence[str] | None,
    attributes: Mapping[str, Any] | None,
) -> Ask[CreatedSession]:
    if isinstance(scope_tools, str):
        raise invalid("scope_tools must be a list of full tool names.")
    if isinstance(known, str):
        raise invalid("known must be a list of values.")
    if attributes is not None and not isinstance(attributes, Mapping):
        raise invalid("attributes must be a mapping.")
    given: dict[str, Any] = {
        "label": label,
        "ttlMinutes": ttl_minutes,
        "scopeTools": None if scope_tools is None else list(scope_tools),
        "known": None if known is None else list(known),
        "attributes": None if attributes is None else dict(attributes),
    }
    body = {name: value for name, value in given.items() if value is not None}
    return Ask(
        "POST",
        "/v1/sessions",
        to_json(body, "The session"),
        lambda reply: read_answer(reply, 201, read_created_session),
        VERDICT_LIMIT,
        repeatable=False,
    )


def list_sessions_ask() -> Ask[list[Session]]:
    return Ask(
        "GET",
        "/v1/sessions",
        None,
        lambda reply: read_answer(reply, 200, read_sessions),
        SESSIONS_LIMIT,
        repeatable=True,
    )


def revoke_session_ask(session_id: str) -> Ask[None]:
    if not isinstance(session_id, str) or not re.fullmatch(r"[A-Za-z0-9_-]{1,128}", session_id):
        raise invalid("That is not the id of a session.")
    path = f"/v1/sessions/{session_id}"
    return Ask("DELETE", path, None, lambda reply: read_nothing(reply, 204), VERDICT_LIMIT, True)
