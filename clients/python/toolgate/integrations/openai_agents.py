"""OpenAI Agents SDK: ``from agents import Agent, function_tool``.

A function tool is run by ``on_invoke_tool``, with the arguments as the text that the model wrote. A
refusal is the tool's result, which is how the SDK tells a model of an error, and the run goes on.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterable
from typing import Any, Callable, TypeVar

from .._listener import ApprovalListener
from ._arguments import object_of
from ._guard import Gate, Guard, every, unguardable

T = TypeVar("T")


def guard_tools(
    tools: Iterable[T],
    *,
    server: str,
    gate: Gate | None = None,
    listener: ApprovalListener | None = None,
    timeout: float | None = None,
) -> list[T]:
    """The same tools, each of which asks before it runs. A tool is judged as ``<server>__<name>``.

    ``gate`` is made from the environment when left out. With a ``listener`` a held call waits for
    its person, ``timeout`` seconds at most; without one the model is told the reference.
    """
    guard = Guard(server, gate, listener, timeout)
    return every(tools, lambda tool: _guarded(tool, guard))


def _guarded(tool: Any, guard: Guard) -> Any:
    if getattr(tool, "_is_agent_tool", False) or getattr(tool, "_is_codex_tool", False):
        raise unguardable(tool, "it runs another agent. Guard the tools of that agent instead.")
    invoke = getattr(tool, "on_invoke_tool", None)
    if not callable(invoke) or not isinstance(getattr(tool, "params_json_schema", None), dict):
        raise unguardable(
            tool,
            "it is not a function tool. Hosted tools run where the model runs, and tools for a "
            "shell, a computer or patches have no arguments as JSON.",
        )
    made = copy.copy(tool)
    made.on_invoke_tool = _asking(made.on_invoke_tool, tool.name, guard)
    return made


def _asking(invoke: Callable[..., Any], name: str, guard: Guard) -> Callable[..., Any]:
    async def on_invoke_tool(context: Any, text: str) -> Any:
        refused = await guard.refusal_async(name, lambda: object_of(text))
        return await invoke(context, text) if refused is None else refused

    # The SDK reads from the annotation which context the tool wants. Nothing else is taken over:
    # what the SDK may find on the tool's own function would lead it past the guard.
    return functools.wraps(invoke, assigned=("__annotations__",), updated=())(on_invoke_tool)
