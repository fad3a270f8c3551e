"""Functions and methods that ask before they run, for the frameworks whose tools hold a function or
are classes with ``_run`` and ``_arun``.
"""

from __future__ import annotations

import contextlib
import contextvars
import copy
import functools
import inspect
from collections.abc import Iterator, Mapping
from typing import Any, Callable

from .._errors import ToolResultWithheld
from .._exchange import to_json
from .._passing import Manner, Shown
from .._plain import as_json
from ._guard import TELLING, Guard, Read


class _Running:
    """A call that runs behind an allow of its guard."""

    def __init__(self, call: tuple[int, int, bytes], function: Callable[..., Any]) -> None:
        self.call = call
        self.function = function
        self.has_ended = False


#: The calls that run in this context: a tool's ``_arun`` often leads to its ``_run`` with the same
#: arguments, which is not a second call. A task that was started meanwhile keeps this context, so
#: each call says itself whether it has ended.
_running: contextvars.ContextVar[tuple[_Running, ...]] = contextvars.ContextVar(
    "toolgate_running", default=()
)

#: The arguments to be judged, from the function and what it is called with.
ArgsOf = Callable[[Callable[..., Any], tuple[Any, ...], Mapping[str, Any]], Mapping[str, Any]]


def asking(
    function: Callable[..., Any],
    guard: Guard,
    *,
    tool_of: Callable[[tuple[Any, ...]], Any],
    args_of: ArgsOf,
    refuse: Callable[[str], Any],
    shown: Callable[[Any, Any], Shown] = lambda tool, result: Shown(result),
    manner: Manner = TELLING,
    is_async: bool | None = None,
) -> Callable[..., Any]:
    """The function, which now asks first. What ``refuse`` returns or raises takes the place of a
    result, also of one that is withheld. ``shown`` is what the model will see of a tool's result.
    Plain functions are asked for in the thread that they run in.
    """

    @functools.wraps(function)
    def plain(*given: Any, **named: Any) -> Any:
        tool, read = tool_of(given), lambda: args_of(function, given, named)
        with _entered(guard, tool, function, read) as again:
            if again:
                return function(*given, **named)
            judged = guard.judge(tool.name, read)
            if isinstance(judged, str):
                return refuse(judged)
            passage = guard.passage(judged, manner)
            result = passage.run(lambda: function(*given, **named))
            try:
                return passage.pass_on(shown(tool, result))
            except ToolResultWithheld as withheld:
                words = str(withheld)
            return refuse(words)

    @functools.wraps(function)
    async def waiting(*given: Any, **named: Any) -> Any:
        tool, read = tool_of(given), lambda: args_of(function, given, named)
        with _entered(guard, tool, function, read) as again:
            if again:
                return await function(*given, **named)
            judged = await guard.judge_async(tool.name, read)
            if isinstance(judged, str):
                return refuse(judged)
            passage = guard.passage_async(judged, manner)
            result = await passage.run(lambda: function(*given, **named))
            try:
                return await passage.pass_on(shown(tool, result))
            except ToolResultWithheld as withheld:
                words = str(withheld)
            return refuse(words)

    if is_async is None:
        is_async = inspect.iscoroutinefunction(function)
    return waiting if is_async else plain


@contextlib.contextmanager
def _entered(guard: Guard, tool: Any, function: Callable[..., Any], read: Read) -> Iterator[bool]:
    """Whether the same call is running already, by another function of the tool, and was allowed."""
    try:
        call = (id(guard), id(tool), to_json(as_json(dict(read())), "The call"))
    except Exception:
        # The guard reads them again, and refuses them.
        yield False
        return
    for each in _running.get():
        if each.call == call and each.function is not function and not each.has_ended:
            yield True
            return
    mine = _Running(call, function)
    token = _running.set((*_running.get(), mine))
    try:
        yield False
    finally:
        mine.has_ended = True
        _running.reset(token)


def with_members(tool: Any, members: Mapping[str, Any]) -> Any:
    """A copy of the tool, of a class of its own that has these members. It is still an instance of
    the tool's class.
    """
    kind, made = type(tool), copy.copy(tool)
    if not members:
        return made
    name = f"Guarded{kind.__name__}"
    made_by: Any = type(kind)
    own = {"__module__": kind.__module__, "__qualname__": name, "__doc__": kind.__doc__}
    object.__setattr__(made, "__class__", made_by(name, (kind,), {**own, **members}))
    return made
