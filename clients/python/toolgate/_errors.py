"""Everything that can go wrong, as one family.

Whatever is raised here is a ToolgateError, and every one of them means "do not proceed", or, after a
call, "pass on nothing of its result". Which answer becomes which error is decided in _answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._event import Approval
    from ._verdict import Verdict


@dataclass(frozen=True)
class Problem:
    """The body of a refusal (RFC 9457), as the service writes it."""

    title: str
    status: int
    detail: str
    #: A stable word, such as ``audit_failed``.
    code: str
    #: What is wrong with the input: pairs of a JSON Pointer and a message.
    errors: tuple[tuple[str, str], ...] = ()
    #: Under which the service's log has it.
    request_id: str | None = None


class ToolgateError(Exception):
    """Anything that is not an allow."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        #: A stable word to tell failures apart.
        self.code = code


class ToolCallDenied(ToolgateError):
    """The policy, or the person asked, said no."""

    def __init__(self, verdict: Verdict, approval: Approval | None = None) -> None:
        super().__init__("denied", verdict.reason if approval is None else _refusal_by(approval))
        #: The verdict as it came: a deny, or the pending one that a person then answered.
        self.verdict = verdict
        #: How the question to a person ended; None when the policy itself denied.
        self.approval = approval
        #: What the person wrote with their answer; the message has it too.
        self.note = None if approval is None else approval.note


class ToolCallPending(ToolgateError):
    """A person has to decide first; nothing may run yet."""

    def __init__(self, verdict: Verdict, note: str | None = None) -> None:
        super().__init__("pending", _with_note(verdict.reason, note))
        self.verdict = verdict
        #: After guard_and_wait, what the person wrote who approved the call that is now held
        #: again, because its arguments changed meanwhile or the approval was withdrawn. None when
        #: nobody has answered, or without a note.
        self.note = note


class ToolResultWithheld(ToolgateError):
    """A tool was run, and what it returned or raised is withheld, or a part of what it raised. The
    message may be passed on: it is the policy's reason, what is left of the tool's error, or says
    that nobody could look at the result.
    """

    def __init__(self, message: str, code: str = "withheld") -> None:
        super().__init__(code, message)


class RequestRefused(ToolgateError):
    """The service answered, and its answer is an error."""

    def __init__(
        self, message: str, status: int | None, problem: Problem | None, code: str
    ) -> None:
        super().__init__(problem.code if problem else code, message)
        #: HTTP status; None when the request was refused here, before it was sent.
        self.status = status
        #: What the service says; None when it said nothing readable.
        self.problem = problem


class Unauthenticated(RequestRefused):
    """No key, or one that is unknown, revoked or expired."""


class Forbidden(RequestRefused):
    """The credential is good, but not for this: a session token cannot manage sessions."""


class InvalidRequest(RequestRefused):
    """The request itself is wrong; ``problem.errors`` says where."""


class NotFound(RequestRefused):
    """There is nothing by that name, or it is another key's."""


class Overloaded(RequestRefused):
    """The service is too busy or not ready."""

    def __init__(
        self,
        message: str,
        status: int,
        problem: Problem | None,
        retry_after: int | None,
    ) -> None:
        super().__init__(message, status, problem, "overloaded")
        #: Seconds the service asks to wait; None when it names none.
        self.retry_after = retry_after


class ServiceFailure(RequestRefused):
    """The service failed: the decision could not be recorded, so there is none."""


class BadAnswer(ToolgateError):
    """Something answered, but not what a Toolgate service answers."""

    def __init__(self, status: int | None, message: str) -> None:
        super().__init__("bad_answer", message)
        self.status = status


class NetworkFailure(ToolgateError):
    """There was no answer."""

    def __init__(self, message: str, sent: bool) -> None:
        super().__init__("network_failure", message)
        #: False only when it is certain that the service never saw the request.
        self.sent = sent


class CallTimedOut(ToolgateError):
    """There was no answer in the time given."""

    def __init__(self, message: str) -> None:
        super().__init__("timed_out", message)


class InvalidConfiguration(ToolgateError):
    """The client was given something it cannot work with."""

    def __init__(self, message: str) -> None:
        super().__init__("invalid_configuration", message)


class WebhookRejected(ToolgateError):
    """A delivery that is not to be believed, or not understood."""


class ProofRejected(ToolgateError):
    """A proof that does not show what it should."""


def refusal_of(verdict: Verdict, note: str | None = None) -> ToolgateError:
    """The error that a verdict other than an allow is."""
    if verdict.decision == "pending":
        return ToolCallPending(verdict, note)
    return ToolCallDenied(verdict)


def invalid(message: str) -> InvalidRequest:
    """A request that is wrong before it is sent."""
    return InvalidRequest(message, None, None, "invalid_request")


def unseen(error: Exception) -> ToolResultWithheld:
    """For a result that nobody could look at, in words for a model."""
    code = error.code if isinstance(error, ToolgateError) else "no_answer"
    why = "it is larger than 6 MiB" if code == "too_large" else "nobody could look at it"
    return ToolResultWithheld(
        f"The tool was run, but its result is withheld: {why} ({code}). Tell the user.", code
    )


def _refusal_by(approval: Approval) -> str:
    if approval.status == "timed_out":
        return "Nobody approved the call in time."
    if approval.status == "withdrawn":
        return "The call was withdrawn before anybody answered."
    denied = f"The call was denied by {approval.resolved_by or 'an approver'}."
    return _with_note(denied, approval.note)


def _with_note(message: str, note: str | None) -> str:
    return message if note is None else f'{message} The approver\'s note says: "{note}"'
