"""The client: asks for verdicts, raises for anything but an allow where asked to, has results looked at,
tells what was said and returned, and manages the sessions of a key. Sending and retrying are _exchange's, waiting for a
person is _listener's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Callable, TypeVar

from ._asks import Args, check_ask, create_session_ask, list_sessions_ask, revoke_session_ask
from ._config import settings_from, want_retries, want_run, want_timeout
from ._errors import CallTimedOut, ToolCallDenied, ToolCallPending, refusal_of
from ._exchange import Ask, exchange
from ._results import guard_ask
from ._session import CreatedSession, Session
from ._told import report_ask, told_ask, warn
from ._transport import Deadline
from ._verdict import Verdict

if TYPE_CHECKING:
    from ._listener import ApprovalListener

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


class Toolgate:
    """Asks a Toolgate service before a tool call runs. May be shared between threads.

    ``key`` and ``base_url`` are taken from TOOLGATE_API_KEY and TOOLGATE_BASE_URL when left out.
    ``timeout`` bounds every call as a whole, in seconds, retries included. ``retries`` is how often
    a call is sent again where that cannot record a second verdict. ``run`` names the run to which
    the calls belong, in 1 to 128 visible ASCII characters; when left out, it is the session or the
    key. A session's token is its own run, whatever ``run`` says.
    """

    def __init__(
        self,
        key: str | None = None,
        base_url: str | None = None,
        timeout: float | None = None,
        retries: int | None = None,
        run: str | None = None,
    ) -> None:
        self._settings = settings_from(key, base_url, timeout, retries, run)

    def __repr__(self) -> str:
        return f"Toolgate(base_url={self._settings.base.geturl()!r})"

    def check(
        self,
        server: str,
        tool: str,
        args: Args | None = None,
        *,
        reference_id: str | None = None,
        timeout: float | None = None,
        retries: int | None = None,
        retry_unknown: bool = False,
        run: str | None = None,
        idempotency_key: str | None = None,
    ) -> Verdict:
        """The verdict on a call. Anything but ``allow`` means: do not proceed.

        ``reference_id`` names an approved, unspent approval of this very call: it is then allowed,
        once. ``retry_unknown`` also sends again when nobody knows whether the verdict was recorded
        (a cut connection, a 500); that may leave two entries in the audit log. ``run`` names another
        run than the client's own. ``idempotency_key`` names this call, in 1 to 128 visible ASCII
        characters: made again with the same key within 24 hours, it gets the same verdict, with no
        further entry and no further question. So it is also sent again when nobody knows whether
        the verdict was recorded. Every call wants a key of its own.
        """
        named = self._named(run)
        ask = check_ask(server, tool, args, reference_id, retry_unknown, named, idempotency_key)
        return self._run(ask, retries, self._deadline(timeout))

    def guard(
        self,
        server: str,
        tool: str,
        args: Args | None = None,
        *,
        reference_id: str | None = None,
        timeout: float | None = None,
        retries: int | None = None,
        retry_unknown: bool = False,
        run: str | None = None,
        idempotency_key: str | None = None,
    ) -> Verdict:
        """Returns when the call may proceed; raises in every other case. Options as in check."""
        verdict = self.check(
            server,
            tool,
            args,
            reference_id=reference_id,
            timeout=timeout,
            retries=retries,
            retry_unknown=retry_unknown,
            run=run,
            idempotency_key=idempotency_key,
        )
        return allowed(verdict)

    def guard_and_wait(
        self,
        server: str,
        tool: str,
        args: Args | None = None,
        *,
        listener: ApprovalListener,
        timeout: float | None = None,
        retries: int | None = None,
        retry_unknown: bool = False,
        run: str | None = None,
        idempotency_key: str | None = None,
    ) -> Verdict:
        """As guard, but a held call waits for its person and is then freed by the approval.

        ``timeout`` is how long to wait for the person; each check has the client's own.
        """
        verdict = self.check(
            server,
            tool,
            args,
            retries=retries,
            retry_unknown=retry_unknown,
            run=run,
            idempotency_key=idempotency_key,
        )
        if verdict.decision != "pending":
            return allowed(verdict)
        try:
            outcome = listener.outcome(held_as(verdict), timeout)
        except CallTimedOut as error:
            # The call is as pending as before, and can be taken up later.
            raise ToolCallPending(verdict) from error
        if outcome.status != "approved":
            raise ToolCallDenied(verdict, outcome)
        # The approval frees nothing by itself: only this check records that the call went ahead.
        freed = self.check(
            server,
            tool,
            args,
            reference_id=held_as(verdict),
            retries=retries,
            retry_unknown=retry_unknown,
            run=run,
            idempotency_key=idempotency_key,
        )
        return allowed(freed, outcome.note)

    def guarded(
        self,
        server: str,
        tool: str,
        *,
        args: Callable[..., Args] | None = None,
        listener: ApprovalListener | None = None,
        timeout: float | None = None,
    ) -> Callable[[F], F]:
        """A decorator that puts the guard in front of a function. Options as in guarded."""
        from ._guarded import guarded

        return guarded(server, tool, args=args, client=self, listener=listener, timeout=timeout)

    def told(
        self,
        text: str,
        *,
        run: str | None = None,
        timeout: float | None = None,
        retries: int | None = None,
    ) -> None:
        """Tells the service what the person said, at most 64 KiB: the values in it are known in this
        run from now on. Only the person's own words: what a model, a tool or a document says must
        not become known.
        """
        self._run(told_ask(text, self._named(run)), retries, self._deadline(timeout))

    def report(
        self,
        verdict: Verdict,
        result: Any,
        *,
        timeout: float | None = None,
        retries: int | None = None,
    ) -> bool:
        """Tells the service what an allowed call returned, if the verdict says that the tool's
        results are trusted. Do it before the model sees the result. The run is that of the call.
        Raises nothing: True if the service has taken it, and a failure is a warning of the logger
        ``toolgate``.
        """
        try:
            ask = report_ask(verdict, result)
            if ask is None:
                return False
            self._run(ask, retries, self._deadline(timeout))
            return True
        except Exception as error:
            warn(verdict, error)
            return False

    def guard_result(
        self,
        verdict: Verdict,
        result: Mapping[str, Any],
        *,
        timeout: float | None = None,
        retries: int | None = None,
    ) -> dict[str, Any]:
        """What may be passed on of an MCP result that an allowed call brought back: where
        ``verdict.results`` is true, the service looks at it, and hides or withholds what the policy
        says. Else it is the result itself, and nothing is sent. Raises if nobody could look at it:
        pass on nothing then. Do it before the model, or anybody else, has the result.
        """
        ask = guard_ask(verdict, result)
        if ask is None:
            return dict(result)
        return self._run(ask, retries, self._deadline(timeout))

    def create_session(
        self,
        *,
        label: str | None = None,
        ttl_minutes: int | None = None,
        scope_tools: Sequence[str] | None = None,
        known: Sequence[str] | None = None,
        attributes: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> CreatedSession:
        """Mints a session: at most 1440 minutes, 60 when left out; its token is shown this once.

        ``known`` are values that the person named, or that are given, at most 256 of 512 characters
        each: ``known()`` holds for them. ``attributes`` are facts for conditions, at most 4 KiB as
        JSON and 4 levels deep. They are stored and shown as given: no secrets.
        """
        ask = create_session_ask(label, ttl_minutes, scope_tools, known, attributes)
        return self._run(ask, None, self._deadline(timeout))

    def list_sessions(self, *, timeout: float | None = None) -> list[Session]:
        """The active sessions of the key, newest first."""
        return self._run(list_sessions_ask(), None, self._deadline(timeout))

    def revoke_session(self, session_id: str, *, timeout: float | None = None) -> None:
        """Revokes a session at once; doing it again is no error."""
        self._run(revoke_session_ask(session_id), None, self._deadline(timeout))

    def _named(self, run: str | None) -> str | None:
        return self._settings.run if run is None else want_run(run)

    def _deadline(self, timeout: float | None) -> Deadline:
        return Deadline(self._settings.timeout if timeout is None else want_timeout(timeout))

    def _run(self, ask: Ask[T], retries: int | None, deadline: Deadline) -> T:
        most = self._settings.retries if retries is None else want_retries(retries)
        return exchange(self._settings, ask, most, deadline)


def allowed(verdict: Verdict, note: str | None = None) -> Verdict:
    """The verdict, if it is an allow; with the note of whoever approved the call."""
    if verdict.decision == "allow":
        return verdict if note is None else replace(verdict, note=note)
    raise refusal_of(verdict, note)


def held_as(verdict: Verdict) -> str:
    """The reference of a pending verdict; reading one made sure that it is there."""
    return verdict.reference_id or ""
