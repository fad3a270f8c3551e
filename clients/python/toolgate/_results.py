"""What a call brought back, as the service looks at it: an MCP result, of which it gives back what may
be passed on. Nothing here lets a result pass without an answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ._answer import read_answer
from ._errors import InvalidRequest, invalid
from ._exchange import Ask, to_json
from ._shape import fields_of, list_of
from ._verdict import Verdict

Result = dict[str, Any]

#: What the service takes, in bytes of UTF-8.
LIMIT = 6 * 1024 * 1024
#: Hiding can make a result longer.
GUARDED_LIMIT = 64 * 1024 * 1024


def guard_ask(verdict: Verdict, result: Mapping[str, Any]) -> Ask[Result] | None:
    """None where the policy has no say about the result."""
    if not is_looked_at(verdict):
        return None
    if not isinstance(result, Mapping):
        raise invalid("The result must be a mapping, as MCP has it.")
    return Ask(
        "POST",
        "/v1/results",
        _body(verdict, dict(result)),
        lambda reply: read_answer(reply, 200, lambda value: _guarded(value, result)),
        GUARDED_LIMIT,
        # Looking at a result twice changes nothing.
        repeatable=True,
    )


def is_looked_at(verdict: Verdict) -> bool:
    """Whether the policy has a say about what this call brings back."""
    if not verdict.allowed:
        raise invalid("Only a call that was allowed has a result.")
    return verdict.results


def _body(verdict: Verdict, result: Result) -> bytes:
    asked = {"toolCallId": verdict.tool_call_id, "result": result}
    body = to_json(asked, "The result")
    if len(body) > LIMIT:
        # Most of it may be escapes of characters beyond ASCII, of which UTF-8 makes less.
        body = json.dumps(asked, ensure_ascii=False, separators=(",", ":")).encode(
            "utf-8", "replace"
        )
    if len(body) <= LIMIT:
        return body
    message = "The result is larger than 6 MiB, so nobody can look at it."
    raise InvalidRequest(message, None, None, "too_large")


def _guarded(value: Any, result: Mapping[str, Any]) -> Result:
    """An answer in which the result's contents are missing is none."""
    fields = fields_of(value, "the result")
    if "content" in fields or "content" in result:
        list_of(fields, "content")
    return fields
