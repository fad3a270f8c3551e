"""Agent Development Kit: ``from google.adk.agents import LlmAgent``.

Every tool that runs here is run by ``run_async``, with the arguments as the model gave them; those
of a function are judged as the function will get them. A refusal is the answer ``{"error": …}``, as
the kit's own function tools answer, and the run goes on. So is the reason why a result is withheld.
"""

from __future__ import annotations

import copy
import importlib
import inspect
import json
from collections.abc import Iterable
from typing import Any

from .._errors import ToolResultWithheld
from .._exchange import to_json
from .._listener import ApprovalListener
from .._passing import Shown
from ._guard import TELLING, Gate, Guard, defined_in, every, is_a, unguardable


def guard_tools(
    tools: Iterable[Any],
    *,
    server: str,
    gate: Gate | None = None,
    listener: ApprovalListener | None = None,
    timeout: float | None = None,
) -> list[Any]:
    """The same tools, each of which asks before it runs. A tool is judged as ``<server>__<name>``.

    A function becomes the ``FunctionTool`` that an agent would make of it. ``gate`` is made from
    the environment when left out. With a ``listener`` a held call waits for its person, ``timeout``
    seconds at most; without one the model is told the reference.
    """
    guard = Guard(server, gate, listener, timeout)
    return every(tools, lambda tool: _guarded(tool, guard))


def _guarded(tool: Any, guard: Guard) -> Any:
    if callable(tool) and not isinstance(tool, type):
        tool = importlib.import_module("google.adk.tools").FunctionTool(tool)
    _must_be_guardable(tool)
    made = copy.copy(tool)
    run = made.run_async

    async def run_async(*, args: dict[str, Any], tool_context: Any) -> Any:
        # The tool runs with a copy that nobody else has: callbacks of the agent hold the original.
        written: dict[str, Any] = {}

        def read() -> dict[str, Any]:
            if not written:
                written.update(json.loads(to_json(args, "The call")))
            return _as_its_function_gets(made, written)

        judged = await guard.judge_async(tool.name, read)
        if isinstance(judged, str):
            return {"error": judged}
        passage = guard.passage_async(judged, TELLING)
        result = await passage.run(lambda: run(args=written, tool_context=tool_context))
        try:
            return await passage.pass_on(Shown(result))
        except ToolResultWithheld as withheld:
            return {"error": str(withheld)}

    made.run_async = run_async
    return made


def _as_its_function_gets(tool: Any, args: dict[str, Any]) -> dict[str, Any]:
    """The kit's FunctionTool converts what the model wrote, leaves out what the function does not
    take, and the function adds its defaults. Any other tool gets what was written.
    """
    if defined_in(type(tool), "run_async").__module__ != "google.adk.tools.function_tool":
        return args
    validate = getattr(tool, "_preprocess_args_with_validation", None)
    # Older versions (1.18) convert models only.
    converted, errors = validate(args) if validate else (tool._preprocess_args(args), None)
    if errors:
        # The tool answers with them, and does not call the function.
        return args
    found: dict[str, Any] = {}
    for name, parameter in inspect.signature(tool.func).parameters.items():
        if name in converted:
            found[name] = converted[name]
        elif parameter.default is not parameter.empty:
            found[name] = parameter.default
    # The kit sets what it ignores, except for this one where nothing is streamed to the tool.
    own = set(tool._ignore_params) - {"input_stream"}
    return {name: value for name, value in found.items() if name not in own}


def _must_be_guardable(tool: Any) -> None:
    if is_a(tool, "google.adk", "BaseToolset"):
        raise unguardable(
            tool, "it is a toolset. Give its tools one by one, or point it at Toolgate's own /mcp."
        )
    if not is_a(tool, "google.adk", "BaseTool"):
        raise unguardable(tool, "it is not a tool of the kit.")
    if is_a(tool, "google.adk", "AgentTool") or is_a(tool, "google.adk", "NodeTool"):
        raise unguardable(tool, "it runs another agent. Guard the tools of that agent instead.")
    if inspect.isasyncgenfunction(getattr(tool, "func", None)):
        raise unguardable(tool, "it streams its results.")
    owner = defined_in(type(tool), "run_async")
    if owner.__name__ == "BaseTool" and owner.__module__.startswith("google.adk."):
        raise unguardable(tool, "it does not run here, but where the model runs.")
