"""Pydantic AI: ``from pydantic_ai import Agent``.

The function of a tool is guarded where it is called, with the arguments as they were validated. A
refusal is raised as ``ToolFailed``: the model sees it as the tool's failure, without being told to
try again, and the run goes on. ``ModelRetry`` would do the opposite, and use up the retries of the
tool. Why a result is withheld is told in the same way.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import importlib
import inspect
from collections.abc import Iterable
from typing import Any

from .._listener import ApprovalListener
from ._arguments import by_name
from ._asking import asking
from ._guard import Gate, Guard, every, is_a, unguardable
from ._pydantic_ai_result import MANNER, shown


def guard_tools(
    tools: Iterable[Any],
    *,
    server: str,
    gate: Gate | None = None,
    listener: ApprovalListener | None = None,
    timeout: float | None = None,
) -> list[Any]:
    """The same tools, each of which asks before it runs. A tool is judged as ``<server>__<name>``.

    A function becomes the ``Tool`` that an agent would make of it. ``gate`` is made from the
    environment when left out. With a ``listener`` a held call waits for its person, ``timeout``
    seconds at most; without one the model is told the reference.
    """
    guard = Guard(server, gate, listener, timeout)
    return every(tools, lambda tool: _guarded(tool, guard))


def _guarded(tool: Any, guard: Guard) -> Any:
    if inspect.isroutine(tool):
        tool = importlib.import_module("pydantic_ai").Tool(tool)
    if is_a(tool, "pydantic_ai", "AbstractToolset"):
        raise unguardable(
            tool, "it is a toolset. Give its tools one by one, or point it at Toolgate's own /mcp."
        )
    schema: Any = getattr(tool, "function_schema", None)
    if not is_a(tool, "pydantic_ai", "Tool") or not callable(getattr(schema, "function", None)):
        raise unguardable(tool, "it is not a Tool with a function, and runs elsewhere.")
    context = next(iter(inspect.signature(schema.function).parameters), "")
    made = copy.copy(tool)
    made.function = asking(
        schema.function,
        guard,
        tool_of=lambda given: made,
        args_of=functools.partial(by_name, leave_out=(context,) if schema.takes_ctx else ()),
        refuse=_fail,
        shown=shown,
        manner=MANNER,
        is_async=schema.is_async,
    )
    made.function_schema = dataclasses.replace(schema, function=made.function)
    return made


def _fail(refused: str) -> str:
    failed = getattr(importlib.import_module("pydantic_ai.exceptions"), "ToolFailed", None)
    if failed is None:
        # Older versions: the model reads it as the tool's result.
        return refused
    raise failed(refused)
