"""LangChain and LangGraph: tools of ``langchain_core``.

``_run`` and ``_arun`` of a tool are guarded, with the arguments as they were validated, and without
those that LangChain injects. A refusal is the tool's message of status ``error``, and the run goes
on. So is the reason why a result is withheld.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import re
from collections.abc import Iterable, Mapping
from typing import Any, Callable

from .._listener import ApprovalListener
from ._arguments import by_name
from ._asking import asking, with_members
from ._guard import Gate, Guard, defined_in, every, is_a, unguardable
from ._langchain_result import MANNER, shown

#: By these the framework runs a tool. All of them lead to ``_run`` or ``_arun``.
ENTRIES = ("invoke", "ainvoke", "run", "arun")
CONFIG = re.compile(r"(typing\.)?(Optional\[)?([\w.]*\.)?RunnableConfig\]?( \| None)?")


class Refused(Exception):
    """Carries the words for the model to where the id of the call is known."""


def guard_tools(
    tools: Iterable[Any],
    *,
    server: str,
    gate: Gate | None = None,
    listener: ApprovalListener | None = None,
    timeout: float | None = None,
) -> list[Any]:
    """The same tools, each of which asks before it runs. A tool is judged as ``<server>__<name>``.

    A function becomes the tool that LangChain's ``tool`` would make of it. ``gate`` is made from
    the environment when left out. With a ``listener`` a held call waits for its person, ``timeout``
    seconds at most; without one the model is told the reference.
    """
    guard = Guard(server, gate, listener, timeout)
    return every(tools, lambda tool: _guarded(tool, guard))


def _guarded(tool: Any, guard: Guard) -> Any:
    if inspect.isroutine(tool):
        tool = importlib.import_module("langchain_core.tools").tool(tool)
    if is_a(tool, "langchain_core", "BaseToolkit"):
        raise unguardable(tool, "it is a toolkit. Give what its get_tools() returns.")
    if not is_a(tool, "langchain_core", "BaseTool"):
        raise unguardable(tool, "it is not a tool of LangChain, and may run where the model runs.")
    kind = type(tool)
    for entry in ENTRIES:
        if not _is_frameworks(defined_in(kind, entry)):
            raise unguardable(tool, f"its class has a {entry}() of its own.")
    members = {"_run": _asking(kind._run, guard), "run": _run(kind), "arun": _arun(kind)}
    if defined_in(kind, "_arun").__name__ != "BaseTool" or not _is_frameworks(
        defined_in(kind, "_arun")
    ):
        # That of the base class only leads to _run, and LangChain must recognise it.
        members["_arun"] = _asking(kind._arun, guard)
    return with_members(tool, members)


def _is_frameworks(kind: type) -> bool:
    return kind.__module__.split(".")[0] == "langchain_core"


def _asking(method: Callable[..., Any], guard: Guard) -> Callable[..., Any]:
    return asking(
        method,
        guard,
        tool_of=lambda given: given[0],
        args_of=_args,
        refuse=_refuse,
        shown=shown,
        manner=MANNER,
    )


def _refuse(words: str) -> Any:
    raise Refused(words)


def _args(
    method: Callable[..., Any], given: tuple[Any, ...], named: Mapping[str, Any]
) -> dict[str, Any]:
    tool = given[0]
    own = ["run_manager", *_first_and_config(method)]
    found = by_name(method, given, named, leave_out=own, positional=_names(tool))
    without_injected = getattr(tool, "_filter_injected_args", None)
    if without_injected is None:
        return found
    # It also leaves out this name, which a model can use where the schema is plain JSON.
    always = {name: found[name] for name in ("callbacks", "run_manager") if name in found}
    return {**without_injected(found), **always}


def _names(tool: Any) -> list[str]:
    try:
        return list(tool.args)
    except KeyError:
        # A schema in plain JSON need not name any.
        return []


def _first_and_config(method: Callable[..., Any]) -> list[str]:
    first, *others = inspect.signature(method).parameters.values()
    return [first.name, *(each.name for each in others if CONFIG.fullmatch(_text(each.annotation)))]


def _text(annotation: Any) -> str:
    if isinstance(annotation, str):
        return annotation
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)


def _run(kind: Any) -> Callable[..., Any]:
    @functools.wraps(kind.run)
    def run(self: Any, *given: Any, **named: Any) -> Any:
        try:
            return kind.run(self, *given, **named)
        except Refused as refused:
            return _message(self, str(refused), named.get("tool_call_id"))

    return run


def _arun(kind: Any) -> Callable[..., Any]:
    @functools.wraps(kind.arun)
    async def arun(self: Any, *given: Any, **named: Any) -> Any:
        try:
            return await kind.arun(self, *given, **named)
        except Refused as refused:
            return _message(self, str(refused), named.get("tool_call_id"))

    return arun


def _message(tool: Any, words: str, tool_call_id: str | None) -> Any:
    if tool_call_id is None:
        # The tool was not called by a model: the caller gets what a tool gives it, a bare text.
        return words
    message = importlib.import_module("langchain_core.messages").ToolMessage
    return message(words, tool_call_id=tool_call_id, name=tool.name, status="error")
