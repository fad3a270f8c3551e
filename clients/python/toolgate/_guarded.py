"""The decorator: a function that runs only behind an allow.

What was judged is what runs: arguments that change while the verdict is on its way stop the call.
What came of it is looked at where the policy wants it, and reported where the tool is trusted, before
the caller has it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping
from typing import Any, Callable, TypeVar, Union, cast

from ._async import AsyncToolgate
from ._client import Toolgate
from ._errors import InvalidConfiguration, invalid
from ._exchange import to_json
from ._listener import ApprovalListener
from ._passing import AsyncPassage, Passage, Shown

F = TypeVar("F", bound=Callable[..., Any])
ArgsOf = Callable[..., Mapping[str, Any]]
Client = Union[Toolgate, AsyncToolgate]


def guarded(
    server: str,
    tool: str,
    *,
    args: ArgsOf | None = None,
    client: Client | None = None,
    listener: ApprovalListener | None = None,
    timeout: float | None = None,
) -> Callable[[F], F]:
    """Puts the guard in front of a function or a coroutine function.

    The arguments that are judged are the function's own, by name, defaults included and ``self``
    left out; ``args`` maps them differently. ``client`` is made from the environment, at the first
    call, when left out. With a ``listener`` a held call waits for its person, ``timeout`` seconds
    at most; without one it raises ToolCallPending, and ``timeout`` bounds the check.
    """

    def decorate(function: F) -> F:
        if inspect.isasyncgenfunction(function):
            raise InvalidConfiguration("An asynchronous generator cannot be guarded.")
        call = _Call(server, tool, args or _by_name(function), client, listener, timeout)
        wrapped = _coroutine(function, call) if _is_async(function) else _plain(function, call)
        return cast(F, wrapped)

    return decorate


class _Call:
    """Which call is judged, by whom, and how."""

    def __init__(
        self,
        server: str,
        tool: str,
        args_of: ArgsOf,
        client: Client | None,
        listener: ApprovalListener | None,
        timeout: float | None,
    ) -> None:
        self.names = (server, tool)
        self.args_of = args_of
        self.options: dict[str, Any] = {"timeout": timeout}
        if listener is not None:
            self.options["listener"] = listener
        self.verb = "guard" if listener is None else "guard_and_wait"
        self._client = client

    def client(self) -> Client:
        if self._client is None:
            self._client = Toolgate()
        return self._client


def _plain(function: Callable[..., Any], call: _Call) -> Callable[..., Any]:
    if isinstance(call._client, AsyncToolgate):
        raise InvalidConfiguration("An AsyncToolgate guards coroutine functions only.")

    @functools.wraps(function)
    def run(*given: Any, **named: Any) -> Any:
        judged = dict(call.args_of(*given, **named))
        text = to_json(judged, "The call")
        client = cast(Toolgate, call.client())
        verdict = getattr(client, call.verb)(*call.names, judged, **call.options)
        _same(text, call.args_of(*given, **named))
        passage = Passage(client, verdict)
        return passage.pass_on(Shown(passage.run(lambda: function(*given, **named))))

    return run


def _coroutine(function: Callable[..., Any], call: _Call) -> Callable[..., Any]:
    @functools.wraps(function)
    async def run(*given: Any, **named: Any) -> Any:
        client = call.client()
        waiting = AsyncToolgate.of(client) if isinstance(client, Toolgate) else client
        judged = dict(call.args_of(*given, **named))
        text = to_json(judged, "The call")
        verdict = await getattr(waiting, call.verb)(*call.names, judged, **call.options)
        _same(text, call.args_of(*given, **named))
        passage = AsyncPassage(waiting, verdict)
        return await passage.pass_on(Shown(await passage.run(lambda: function(*given, **named))))

    return run


def _same(judged: bytes, now: Mapping[str, Any]) -> None:
    if to_json(dict(now), "The call") != judged:
        raise invalid("The arguments changed while the verdict was on its way.")


def _by_name(function: Callable[..., Any]) -> ArgsOf:
    """The function's arguments as one mapping, as a reader of its signature would name them."""
    signature = inspect.signature(function)
    kinds = {name: parameter.kind for name, parameter in signature.parameters.items()}
    rest = next((n for n, kind in kinds.items() if kind is inspect.Parameter.VAR_KEYWORD), None)
    owner = next((name for name in list(kinds)[:1] if name in ("self", "cls")), None)

    def args_of(*given: Any, **named: Any) -> Mapping[str, Any]:
        bound = signature.bind(*given, **named)
        bound.apply_defaults()
        found = dict(bound.arguments)
        extra = found.pop(rest) if rest is not None else {}
        if owner is not None:
            found.pop(owner)
        return {**found, **extra}

    return args_of


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function)
