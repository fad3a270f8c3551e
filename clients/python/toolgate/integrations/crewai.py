"""CrewAI: ``from crewai.tools import BaseTool, tool``.

What a tool runs is guarded, with the arguments as they were validated: its function, or ``_run``
and ``_arun`` of its class. A refusal is a ``ToolFailure``, whose message the model reads, and the
crew goes on.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable, Mapping
from typing import Any, Callable

from .._listener import ApprovalListener
from .._passing import Shown
from ._arguments import by_name
from ._asking import asking, with_members
from ._guard import Gate, Guard, defined_in, every, is_a, unguardable


def guard_tools(
    tools: Iterable[Any],
    *,
    server: str,
    gate: Gate | None = None,
    listener: ApprovalListener | None = None,
    timeout: float | None = None,
) -> list[Any]:
    """The same tools, each of which asks before it runs. A tool is judged as ``<server>__<name>``.

    ``gate`` is made from the environment when left out. With a ``listener`` a held call waits for
    its person, ``timeout`` seconds at most; without one the model is told the reference.
    """
    guard = Guard(server, gate, listener, timeout)
    return every(tools, lambda tool: _guarded(tool, guard))


def _guarded(tool: Any, guard: Guard) -> Any:
    if not is_a(tool, "crewai", "BaseTool"):
        raise unguardable(tool, "it is not a BaseTool of CrewAI.")
    if is_a(tool, "crewai", "BaseAgentTool"):
        raise unguardable(tool, "it runs another agent. Guard the tools of that agent instead.")
    kind = type(tool)
    for entry in ("run", "arun", "to_structured_tool"):
        if not _is_frameworks(defined_in(kind, entry)):
            raise unguardable(tool, f"its class has a {entry}() of its own.")
    members = {
        name: asking(
            getattr(kind, name),
            guard,
            tool_of=lambda given: given[0],
            args_of=_of_method,
            refuse=_failure,
            shown=_shown,
        )
        for name in ("_run", "_arun")
        if not _is_frameworks(defined_in(kind, name))
    }
    made = with_members(tool, members)
    if callable(getattr(tool, "func", None)):
        made.func = asking(
            tool.func,
            guard,
            tool_of=lambda given: made,
            args_of=by_name,
            refuse=_failure,
            shown=_shown,
        )
    elif "_run" not in members:
        raise unguardable(tool, "it has neither a function nor a _run() of its own.")
    keep = tool.cache_function
    # A refusal is not for keeps: the same call may be approved later.
    made.cache_function = lambda args, result: not _is_failure(result) and keep(args, result)
    return made


def _is_frameworks(kind: type) -> bool:
    return kind.__module__ == "crewai.tools.base_tool"


def _of_method(
    method: Callable[..., Any], given: tuple[Any, ...], named: Mapping[str, Any]
) -> dict[str, Any]:
    first = next(iter(inspect.signature(method).parameters))
    names = list(given[0].args_schema.model_fields)
    return by_name(method, given, named, leave_out=(first,), positional=names)


def _shown(_: Any, result: Any) -> Shown:
    """Of a failure, its message."""
    if not is_a(result, "crewai", "ToolFailure"):
        return Shown(result)

    def back(passed: Any, is_all: bool) -> Any:
        return result if is_all else type(result)(message=passed)

    return Shown(result.message, is_error=True, back=back)


class Refusal(str):
    """For versions without ToolFailure."""


def _failure(words: str) -> Any:
    try:
        failure = importlib.import_module("crewai.tools.tool_failure").ToolFailure
    except ModuleNotFoundError:
        return Refusal(words)
    return failure(message=words, details={"toolgate": True})


def _is_failure(result: Any) -> bool:
    details = getattr(result, "details", None)
    return isinstance(result, Refusal) or (isinstance(details, dict) and "toolgate" in details)
