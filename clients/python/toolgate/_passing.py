"""The way of what a tool returned or raised to whoever asked for it: looked at by the service where the
policy wants it, and then reported where the tool is trusted.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Awaitable, Iterator
from dataclasses import dataclass
from typing import Any, Callable, TypeVar

from ._async import AsyncToolgate
from ._client import Toolgate
from ._errors import ToolgateError, ToolResultWithheld, invalid, unseen
from ._results import is_looked_at
from ._sent import SentError, SentValue
from ._verdict import Verdict

T = TypeVar("T")

log = logging.getLogger("toolgate")


@dataclass(frozen=True)
class Shown:
    """What a caller, or a model, gets to see of what a tool returned."""

    content: Any
    #: That it says what went wrong. Errors are not reported: they repeat arguments.
    is_error: bool = False
    #: The part that is reported of what may be passed on; None: nothing is.
    told: Callable[[Any], Any] | None = lambda passed: passed
    #: What the tool returned, made of what may be passed on, and of whether that is all there was.
    back: Callable[[Any, bool], Any] = lambda passed, is_all: passed
    #: Why nobody can look at it, if so.
    fault: str | None = None

    def sent(self) -> SentValue:
        if self.fault is not None:
            raise invalid(self.fault)
        return SentValue(self.content, self.is_error)


@dataclass(frozen=True)
class Manner:
    """What the caller makes of what goes wrong."""

    #: Whether a result that nobody could look at is a ToolResultWithheld, with words for the model,
    #: and not the error of the client.
    tells_model: bool = False
    #: The error to raise for one whose text may not be passed on as it was.
    remake: Callable[[Exception, str], Exception] = lambda error, words: ToolResultWithheld(words)
    #: Errors that are none: a framework is told something by them, and no model sees them.
    is_signal: Callable[[Exception], bool] = lambda error: False

    @contextlib.contextmanager
    def looking(self) -> Iterator[None]:
        try:
            yield
        except ToolResultWithheld:
            raise
        except Exception as error:
            if self.tells_model:
                # Whatever else was raised may quote the result.
                known = isinstance(error, ToolgateError)
                log.warning("A result was withheld: %s", error if known else type(error).__name__)
                raise unseen(error) from None
            raise


class Passage:
    """Passes on what comes of one call that was allowed."""

    def __init__(self, gate: Toolgate, verdict: Verdict, manner: Manner = Manner()) -> None:
        self._gate = gate
        self._verdict = verdict
        self._manner = manner
        self._is_looked_at = is_looked_at(verdict)

    def run(self, tool: Callable[[], T]) -> T:
        """Runs the tool; what it raises is passed on."""
        try:
            return tool()
        except Exception as error:
            failed = error
        # Outside, so that nothing leads from the new error to the old one.
        raise self._error_for(failed)

    def pass_on(self, shown: Shown) -> Any:
        """The result as its caller may have it: the same, where the policy has no say about it.
        Raises ToolResultWithheld if nothing may be passed on.
        """
        passed, is_all = self._seen(shown) if self._is_looked_at else (shown.content, True)
        if shown.told is not None and not shown.is_error:
            self._gate.report(self._verdict, shown.told(passed))
        return shown.back(passed, is_all)

    def _seen(self, shown: Shown) -> tuple[Any, bool]:
        with self._manner.looking():
            sent = shown.sent()
            passed = sent.received(self._gate.guard_result(self._verdict, sent.result))
            return passed, passed == sent.plain

    def _error_for(self, error: Exception) -> Exception:
        if not self._is_looked_at or self._manner.is_signal(error):
            return error
        try:
            with self._manner.looking():
                sent = SentError(error)
                words = sent.received(self._gate.guard_result(self._verdict, sent.result))
        except ToolResultWithheld as withheld:
            words = str(withheld)
        return error if words is None else self._manner.remake(error, words)


class AsyncPassage:
    """As Passage, with coroutines."""

    def __init__(self, gate: AsyncToolgate, verdict: Verdict, manner: Manner = Manner()) -> None:
        self._gate = gate
        self._verdict = verdict
        self._manner = manner
        self._is_looked_at = is_looked_at(verdict)

    async def run(self, tool: Callable[[], Awaitable[T]]) -> T:
        try:
            return await tool()
        except Exception as error:
            failed = error
        raise await self._error_for(failed)

    async def pass_on(self, shown: Shown) -> Any:
        passed, is_all = await self._seen(shown) if self._is_looked_at else (shown.content, True)
        if shown.told is not None and not shown.is_error:
            await self._gate.report(self._verdict, shown.told(passed))
        return shown.back(passed, is_all)

    async def _seen(self, shown: Shown) -> tuple[Any, bool]:
        with self._manner.looking():
            sent = shown.sent()
            passed = sent.received(await self._gate.guard_result(self._verdict, sent.result))
            return passed, passed == sent.plain

    async def _error_for(self, error: Exception) -> Exception:
        if not self._is_looked_at or self._manner.is_signal(error):
            return error
        try:
            with self._manner.looking():
                sent = SentError(error)
                words = sent.received(await self._gate.guard_result(self._verdict, sent.result))
        except ToolResultWithheld as withheld:
            words = str(withheld)
        return error if words is None else self._manner.remake(error, words)
