"""The verdict, and reading one strictly.

An answer that is not exactly a verdict is invalid; a guard that guesses would guess "allow" one day.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ._shape import Fields, count, fields_of, ident, is_set, one_of, text

DECISIONS = ("allow", "deny", "pending")


@dataclass(frozen=True)
class Verdict:
    """What the service decided. Anything but ``allow`` means: do not proceed."""

    decision: str
    reason: str
    latency_ms: int
    policy_id: str | None = None
    #: The id of the audit entry of this call.
    tool_call_id: str | None = None
    #: Only when pending: correlates the later events, and frees the call once it is approved.
    reference_id: str | None = None
    #: Only when pending: says that this is not the final outcome.
    message: str | None = None
    #: Only from guard_and_wait: what the person wrote who approved the call, if anything.
    note: str | None = None
    #: Only when allowed: "results" if the rule trusts what the tool returns. ``report`` tells it to
    #: the service.
    known: str | None = None
    #: Only when allowed: whether the policy has a say about what the tool returns. ``guard_result``
    #: gives what may be passed on.
    results: bool = False

    @property
    def allowed(self) -> bool:
        return self.decision == "allow"

    def __bool__(self) -> bool:
        """True for an allow only, so that ``if gate.check(...)`` cannot let a denied call pass."""
        return self.allowed


def _known(fields: Fields) -> str | None:
    """What a later service may say here is not for this client; the call is allowed all the same."""
    return "results" if fields.get("known") == "results" else None


def read_verdict(value: Any) -> Verdict:
    fields = fields_of(value, "the verdict")
    decision = one_of(fields, "decision", DECISIONS)
    held = decision == "pending"
    # Only a deny may come without its identifiers.
    named = decision != "deny"
    return Verdict(
        decision=decision,
        reason=text(fields, "reason"),
        latency_ms=count(fields, "latencyMs"),
        policy_id=ident(fields, "policyId") if named or "policyId" in fields else None,
        tool_call_id=ident(fields, "toolCallId") if named or "toolCallId" in fields else None,
        reference_id=ident(fields, "referenceId") if held else None,
        message=text(fields, "message") if held else None,
        known=_known(fields) if decision == "allow" else None,
        results=decision == "allow" and is_set(fields, "results"),
    )
