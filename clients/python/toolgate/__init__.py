"""Asks Toolgate before an agent's tool call runs.

This is the public list; every module whose name starts with an underscore is private.
"""

from ._async import AsyncToolgate
from ._client import Toolgate
from ._errors import (
    BadAnswer,
    CallTimedOut,
    Forbidden,
    InvalidConfiguration,
    InvalidRequest,
    NetworkFailure,
    NotFound,
    Overloaded,
    Problem,
    ProofRejected,
    RequestRefused,
    ServiceFailure,
    ToolCallDenied,
    ToolCallPending,
    ToolgateError,
    ToolResultWithheld,
    Unauthenticated,
    WebhookRejected,
)
from ._event import (
    Approval,
    ApprovalCreated,
    ApprovalResolved,
    Vote,
    Votes,
    WebhookEvent,
    WebhookTest,
)
from ._guarded import guarded
from ._listener import ApprovalListener
from ._proof import Inclusion, verify_inclusion
from ._session import CreatedSession, Session
from ._verdict import Verdict
from ._webhook import verify_webhook

__version__ = "0.1.0"

__all__ = [
    "Approval",
    "ApprovalCreated",
    "ApprovalListener",
    "ApprovalResolved",
    "AsyncToolgate",
    "BadAnswer",
    "CallTimedOut",
    "CreatedSession",
    "Forbidden",
    "Inclusion",
    "InvalidConfiguration",
    "InvalidRequest",
    "NetworkFailure",
    "NotFound",
    "Overloaded",
    "Problem",
    "ProofRejected",
    "RequestRefused",
    "ServiceFailure",
    "Session",
    "ToolCallDenied",
    "ToolCallPending",
    "Toolgate",
    "ToolResultWithheld",
    "ToolgateError",
    "Unauthenticated",
    "Verdict",
    "Vote",
    "Votes",
    "WebhookEvent",
    "WebhookRejected",
    "WebhookTest",
    "guarded",
    "verify_inclusion",
    "verify_webhook",
]
