"""The same client for asyncio.

The standard library has no asynchronous HTTP, so each call runs in a thread, under the same
deadline; cancelling the task ends the call's socket, and with it the thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Callable, TypeVar

from ._asks import Args, check_ask, create_session_ask, list_sessions_ask, revoke_session_ask
from ._client import Toolgate, allowed, held_as
from ._errors import CallTimedOut, ToolCallDenied, ToolCallPending
from ._exchange import Ask
from ._results import guard_ask
from ._session import CreatedSession, Session
from ._told import report_ask, told_ask, warn
from ._verdict import Verdict

if TYPE_CHECKING:
    from ._listener import ApprovalListener

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


class AsyncToolgate:
    """As Toolgate, with coroutines. Takes the same options."""

    def __init__(
        self,
        key: str | None = None,
        base_url: str | None = None,
        timeout: float | None = None,
        retries: int | None = None,
        run: str | None = None,
    ) -> None:
        self._blocking = Toolgate(key, base_url, timeout, retries, run)

    @classmethod
    def of(cls, client: Toolgate) -> AsyncToolgate:
        """The same client, with coroutines."""
        made = cls.__new__(cls)
        made._blocking = client
        return made

    def __repr__(self) -> str:
        return f"Async{self._blocking!r}"

    async def check(
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
        """As Toolgate.check."""
        named = self._blocking._named(run)
        ask = check_ask(server, tool, args, reference_id, retry_unknown, named, idempotency_key)
        return await self._run(ask, timeout, retries)

    async def guard(
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
        """As Toolgate.guard."""
        verdict = await self.check(
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

    async def guard_and_wait(
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
        """As Toolgate.guard_and_wait; no thread waits meanwhile."""
        verdict = await self.check(
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
            outcome = await listener.outcome_async(held_as(verdict), timeout)
        except CallTimedOut as error:
            raise ToolCallPending(verdict) from error
        if outcome.status != "approved":
            raise ToolCallDenied(verdict, outcome)
        freed = await self.check(
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
        """A decorator that puts the guard in front of a coroutine function."""
        from ._guarded import guarded

        return guarded(server, tool, args=args, client=self, listener=listener, timeout=timeout)

    async def told(
        self,
        text: str,
        *,
        run: str | None = None,
        timeout: float | None = None,
        retries: int | None = None,
    ) -> None:
        """As Toolgate.told."""
        await self._run(told_ask(text, self._blocking._named(run)), timeout, retries)

    async def report(
        self,
        verdict: Verdict,
        result: Any,
        *,
        timeout: float | None = None,
        retries: int | None = None,
    ) -> bool:
        """As Toolgate.report."""
        try:
            ask = report_ask(verdict, result)
            if ask is None:
                return False
            await self._run(ask, timeout, retries)
            return True
        except Exception as error:
            warn(verdict, error)
            return False

    async def guard_result(
        self,
        verdict: Verdict,
        result: Mapping[str, Any],
        *,
        timeout: float | None = None,
        retries: int | None = None,
    ) -> dict[str, Any]:
        """As Toolgate.guard_result."""
        ask = guard_ask(verdict, result)
        if ask is None:
            return dict(result)
        return await self._run(ask, timeout, retries)

    async def create_session(
        self,
        *,
        label: str | None = None,
        ttl_minutes: int | None = None,
        scope_tools: Sequence[str] | None = None,
        known: Sequence[str] | None = None,
        attributes: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> CreatedSession:
        """As Toolgate.create_session."""
        ask = create_session_ask(label, ttl_minutes, scope_tools, known, attributes)
        return await self._run(ask, timeout)

    async def list_sessions(self, *, timeout: float | None = None) -> list[Session]:
        """As Toolgate.list_sessions."""
        return await self._run(list_sessions_ask(), timeout)

    async def revoke_session(self, session_id: str, *, timeout: float | None = None) -> None:
        """As Toolgate.revoke_session."""
        await self._run(revoke_session_ask(session_id), timeout)

    async def _run(self, ask: Ask[T], timeout: float | None, retries: int | None = None) -> T:
        deadline = self._blocking._deadline(timeout)
        call = asyncio.to_thread(self._blocking._run, ask, retries, deadline)
        try:
            # The thread keeps the time itself; this also counts the wait for a free thread.
            return await asyncio.wait_for(call, deadline.remaining())
        except asyncio.TimeoutError:
            raise CallTimedOut(f"No answer within {deadline.seconds:g} seconds.") from None
        finally:
            deadline.end()
