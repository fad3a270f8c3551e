"""What all adapters share: a call is judged before its tool runs, and a refusal becomes a sentence
that is written for the model. How a framework hands that sentence to its model is each adapter's
matter. What comes of the call is looked at and reported before the model has it.
"""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Iterable, Mapping
from typing import Any, Callable, Union

from .._async import AsyncToolgate
from .._client import Toolgate
from .._errors import (
    InvalidConfiguration,
    ToolCallDenied,
    ToolCallPending,
    ToolgateError,
    invalid,
)
from .._exchange import to_json
from .._listener import ApprovalListener
from .._passing import AsyncPassage, Manner, Passage
from .._plain import as_json
from .._verdict import Verdict

Gate = Union[Toolgate, AsyncToolgate]
#: The arguments of a call, as they are at this moment.
Read = Callable[[], Mapping[str, Any]]

#: For an adapter whose framework gives the model the text of any error.
TELLING = Manner(tells_model=True)

#: How many held calls are remembered; the oldest goes first.
REMEMBERED = 1000

log = logging.getLogger("toolgate")


class Guard:
    """Judges the calls of one agent's tools. May be shared between threads and event loops."""

    def __init__(
        self,
        server: str,
        gate: Gate | None,
        listener: ApprovalListener | None,
        timeout: float | None,
    ) -> None:
        if not isinstance(server, str) or not server:
            raise InvalidConfiguration(
                "guard_tools needs server=, the name under which policies know the tools."
            )
        if gate is not None and not isinstance(gate, (Toolgate, AsyncToolgate)):
            raise InvalidConfiguration("gate must be a Toolgate or an AsyncToolgate.")
        given = Toolgate() if gate is None else gate
        self._gate = given if isinstance(given, Toolgate) else given._blocking
        self._server = server
        self._listener = listener
        self._timeout = timeout
        # The references of held calls: the same call, made again once it is approved, is freed by
        # its approval. The key is a digest, because nothing of the arguments is kept.
        self._held: dict[bytes, str] = {}
        self._lock = threading.Lock()

    def judge(self, tool: str, read: Read) -> Verdict | str:
        """The allow, when the tool may run now; else why not, in words for the model."""
        call = _Call(self._server, tool, read)
        try:
            verb, options = self._begin(call)
            verdict: Verdict = getattr(self._gate, verb)(*call.names, call.args, **options)
            call.must_be_unchanged()
        except Exception as error:
            return self._told(call, error)
        return verdict

    async def judge_async(self, tool: str, read: Read) -> Verdict | str:
        """As judge; the event loop goes on meanwhile."""
        call = _Call(self._server, tool, read)
        try:
            verb, options = self._begin(call)
            waiting = AsyncToolgate.of(self._gate)
            verdict: Verdict = await getattr(waiting, verb)(*call.names, call.args, **options)
            call.must_be_unchanged()
        except Exception as error:
            return self._told(call, error)
        return verdict

    def passage(self, verdict: Verdict, manner: Manner) -> Passage:
        """The way of what the tool returns or raises to the model."""
        return Passage(self._gate, verdict, manner)

    def passage_async(self, verdict: Verdict, manner: Manner) -> AsyncPassage:
        """As passage; the event loop goes on meanwhile."""
        return AsyncPassage(AsyncToolgate.of(self._gate), verdict, manner)

    def _begin(self, call: _Call) -> tuple[str, dict[str, Any]]:
        call.take_snapshot()
        with self._lock:
            call.reference_id = self._held.pop(call.digest(), None)
        if self._listener is None:
            return "guard", {"reference_id": call.reference_id, "timeout": self._timeout}
        if call.reference_id is not None:
            return "guard", {"reference_id": call.reference_id}
        return "guard_and_wait", {"listener": self._listener, "timeout": self._timeout}

    def _told(self, call: _Call, error: Exception) -> str:
        if isinstance(error, ToolCallDenied):
            return f"Denied: {error} Do not make this call again."
        if isinstance(error, ToolCallPending):
            reference_id = error.verdict.reference_id or ""
            self._remember(call, reference_id)
            return (
                f"Not done yet: a person has to approve this call (reference {reference_id}). "
                f"{error} Tell the user, and make the same call again once it is approved."
            )
        if call.reference_id is not None:
            # The approval may be there still.
            self._remember(call, call.reference_id)
        # Whatever else was raised may quote the arguments.
        known = isinstance(error, ToolgateError)
        log.warning("%s__%s was not run: %s", *call.names, error if known else type(error).__name__)
        code = error.code if isinstance(error, ToolgateError) else "no_verdict"
        return f"Not done: there is no verdict on this call ({code}). Tell the user."

    def _remember(self, call: _Call, reference_id: str) -> None:
        with self._lock:
            self._held[call.digest()] = reference_id
            while len(self._held) > REMEMBERED:
                del self._held[next(iter(self._held))]


class _Call:
    """One call on its way: what was judged is what runs."""

    def __init__(self, server: str, tool: str, read: Read) -> None:
        self.names = (server, tool)
        self.args: dict[str, Any] = {}
        self.reference_id: str | None = None
        self._read = read
        self._text = b""

    def take_snapshot(self) -> None:
        self.args = as_json(dict(self._read()))
        self._text = to_json(self.args, "The call")

    def must_be_unchanged(self) -> None:
        if to_json(as_json(dict(self._read())), "The call") != self._text:
            raise invalid("The arguments changed while the verdict was on its way.")

    def digest(self) -> bytes:
        return hashlib.sha256(to_json(self.names, "The call") + self._text).digest()


def every(tools: Iterable[Any], guard: Callable[[Any], Any]) -> list[Any]:
    """The tools, each guarded, in a list."""
    if isinstance(tools, (str, bytes, Mapping)) or not isinstance(tools, Iterable):
        raise InvalidConfiguration("guard_tools takes the tools themselves, in a list.")
    return [guard(tool) for tool in tools]


def unguardable(tool: object, why: str) -> InvalidConfiguration:
    """A tool that would run where no guard can stand is refused at set-up: left as it is, it would
    look guarded.
    """
    name = getattr(tool, "name", None)
    named = name if isinstance(name, str) and name else type(tool).__name__
    return InvalidConfiguration(
        f"The tool {named} cannot be guarded: {why} "
        "Leave it out of guard_tools if it may run without a verdict."
    )


def defined_in(kind: type, member: str) -> type:
    """The class from which a class has a member."""
    return next(each for each in kind.__mro__ if member in vars(each))


def is_a(tool: object, package: str, name: str) -> bool:
    """Whether a tool is of that class of a framework, without importing it."""
    return any(
        each.__name__ == name
        and each.__module__.split(".")[: package.count(".") + 1] == package.split(".")
        for each in type(tool).__mro__
    )
