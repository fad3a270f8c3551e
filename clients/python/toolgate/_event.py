"""The events a webhook receives. Whether a delivery is genuine is _webhook's question."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Union

from ._errors import WebhookRejected
from ._shape import (
    Fields,
    ShapeFault,
    count,
    fields_of,
    ident,
    list_of,
    one_of,
    text,
    text_or_none,
)

OUTCOMES = ("approved", "denied", "timed_out", "withdrawn")


@dataclass(frozen=True)
class Vote:
    """The approval of one of several people; ``by`` is as in ``resolved_by``."""

    by: str
    at: str


@dataclass(frozen=True)
class Votes:
    """How many different people have to approve, and who has."""

    needed: int = 1
    approved: tuple[Vote, ...] = ()


@dataclass(frozen=True)
class Approval:
    """The question to a person; times are ISO 8601."""

    reference_id: str
    tool_call_id: str
    policy_id: str
    key_id: str
    session_id: str | None
    #: Where the call came from: ``check``, ``mcp``, or the name of an agent or gateway.
    surface: str
    server_name: str
    tool_name: str
    #: ``pending``, ``approved``, ``denied``, ``timed_out``, or ``withdrawn``: the agent cancelled the
    #: call before anybody answered.
    status: str
    reason: str
    created_at: str
    expires_at: str
    resolved_at: str | None
    #: ``link``, ``operator:<email>``, ``admin``, or None: still pending, timed out, or withdrawn.
    resolved_by: str | None
    #: When the approval opened a grant: until when.
    grant_expires_at: str | None
    #: What the person wrote with their answer, for the agent to read.
    note: str | None = None
    #: The group whose members have to answer; None when every approver may.
    approver_group: str | None = None
    votes: Votes = Votes()


@dataclass(frozen=True)
class ApprovalCreated:
    timestamp: str
    data: Approval
    type: str = "approval.created"


@dataclass(frozen=True)
class ApprovalResolved:
    timestamp: str
    data: Approval
    type: str = "approval.resolved"


@dataclass(frozen=True)
class WebhookTest:
    """What an operator sends to see whether a receiver works."""

    timestamp: str
    webhook_id: str
    type: str = "webhook.test"


WebhookEvent = Union[ApprovalCreated, ApprovalResolved, WebhookTest]


def parse_event(body: bytes) -> WebhookEvent:
    try:
        return _read_event(json.loads(body.decode("utf-8")))
    except ShapeFault as fault:
        raise WebhookRejected("webhook_body", f"The event cannot be read: {fault}.") from None
    except (ValueError, RecursionError):
        raise WebhookRejected("webhook_body", "The event is not JSON.") from None


def _read_event(value: Any) -> WebhookEvent:
    fields = fields_of(value, "the event")
    kind = text(fields, "type")
    timestamp = text(fields, "timestamp")
    data = fields_of(fields.get("data"), '"data"')
    if kind == "approval.created":
        return ApprovalCreated(timestamp, _read_approval(data, ("pending",)))
    if kind == "approval.resolved":
        return ApprovalResolved(timestamp, _read_approval(data, OUTCOMES))
    if kind == "webhook.test":
        return WebhookTest(timestamp, ident(data, "webhookId"))
    raise WebhookRejected("webhook_unknown_event", "This client does not know the event's type.")


def _read_approval(data: Fields, statuses: tuple[str, ...]) -> Approval:
    return Approval(
        reference_id=ident(data, "referenceId"),
        tool_call_id=ident(data, "toolCallId"),
        policy_id=ident(data, "policyId"),
        key_id=ident(data, "keyId"),
        session_id=text_or_none(data, "sessionId"),
        surface=text(data, "surface"),
        server_name=text(data, "serverName"),
        tool_name=text(data, "toolName"),
        status=one_of(data, "status", statuses),
        reason=text(data, "reason"),
        created_at=text(data, "createdAt"),
        expires_at=text(data, "expiresAt"),
        resolved_at=text_or_none(data, "resolvedAt"),
        resolved_by=text_or_none(data, "resolvedBy"),
        grant_expires_at=text_or_none(data, "grantExpiresAt"),
        # An older service sends neither notes nor votes.
        note=text_or_none(data, "note") if "note" in data else None,
        approver_group=text_or_none(data, "approverGroup") if "approverGroup" in data else None,
        votes=_read_votes(data["votes"]) if "votes" in data else Votes(),
    )


def _read_votes(value: Any) -> Votes:
    fields = fields_of(value, '"votes"')
    votes = [fields_of(each, "a vote") for each in list_of(fields, "approved")]
    approved = tuple(Vote(text(each, "by"), text(each, "at")) for each in votes)
    return Votes(count(fields, "needed"), approved)
