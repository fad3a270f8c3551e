"""OpenAI Agents SDK: ``from agents import Agent, function_tool``.

A function tool is run by ``on_invoke_tool``, with the arguments as the text that the model wrote.
They are judged as the function will get them. A refusal is the tool's result, which is how the SDK
tells a model of an error, and the run goes on. So is the reason why a result is withheld.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import importlib
from collections.abc import Iterable
from typing import Any, Callable, Optional, TypeVar

from .._errors import ToolResultWithheld
from .._listener import ApprovalListener
from .._passing import Shown
from ._arguments import by_name, object_of
from ._guard import TELLING, Gate, Guard, every, unguardable

T = TypeVar("T")
#: The arguments of a function, from what the model wrote; None where they do not fit it.
Validate = Callable[[dict[str, Any]], Optional[dict[str, Any]]]


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
    made.on_invoke_tool = _asking(made.on_invoke_tool, tool.name, _validation(tool), guard)
    return made


def _validation(tool: Any) -> Validate:
    """What the SDK does with the arguments behind ``on_invoke_tool``, if it made the tool of a
    function and says of which (0.24 does). Any other tool gets the text itself.
    """
    function = getattr(tool, "__wrapped__", None)
    if function is None:
        return lambda args: args
    made = importlib.import_module("agents.function_schema").function_schema(
        function, use_docstring_info=False, strict_json_schema=False
    )

    def validate(args: dict[str, Any]) -> dict[str, Any] | None:
        try:
            given, named = made.to_call_args(made.params_pydantic_model(**args))
        except Exception:
            # The SDK will find the same, and not call the function.
            return None
        context = (None,) if made.takes_context else ()
        first = next(iter(made.signature.parameters), "") if made.takes_context else ""
        return by_name(function, (*context, *given), named, leave_out=(first,))

    return validate


def _shown(result: Any, fits: bool) -> Shown:
    """What is made of arguments that do not fit is not reported."""
    shown = Shown(result, is_error=_is_error(result))
    return shown if fits else dataclasses.replace(shown, told=None)


def _is_error(result: Any) -> bool:
    """What the SDK makes of an error: older versions quote it, and with it arguments, perhaps."""
    return isinstance(result, str) and result.startswith("An error occurred while ")


def _asking(
    invoke: Callable[..., Any], name: str, validate: Validate, guard: Guard
) -> Callable[..., Any]:
    async def on_invoke_tool(context: Any, text: str) -> Any:
        fits = True

        def read() -> dict[str, Any]:
            nonlocal fits
            written = object_of(text)
            found = validate(written)
            fits = found is not None
            return written if found is None else found

        judged = await guard.judge_async(name, read)
        if isinstance(judged, str):
            return judged
        passage = guard.passage_async(judged, TELLING)
        result = await passage.run(lambda: invoke(context, text))
        try:
            return await passage.pass_on(_shown(result, fits))
        except ToolResultWithheld as withheld:
            return str(withheld)

    # The SDK reads from the annotation which context the tool wants. Nothing else is taken over:
    # what the SDK may find on the tool's own function would lead it past the guard.
    return functools.wraps(invoke, assigned=("__annotations__",), updated=())(on_invoke_tool)
