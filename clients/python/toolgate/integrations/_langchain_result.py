"""What a tool of LangChain returned, and what of it the model gets to see: not the artifact, and of a
message that the tool made itself, its content. Only that is looked at and reported; an artifact stays
only beside content in which nothing was hidden, because the two often say the same.
"""

from __future__ import annotations

from typing import Any

from .._errors import ToolResultWithheld
from .._passing import Manner, Shown
from ._guard import is_a


def shown(tool: Any, result: Any) -> Shown:
    two = isinstance(result, tuple) and len(result) == 2
    if two and getattr(tool, "response_format", "") == "content_and_artifact":
        return _of_pair(result)
    if is_a(result, "langchain_core", "ToolMessage"):
        return _of_message(result)
    return Shown(result, fault=_fault(result))


def _of_pair(result: tuple[Any, Any]) -> Shown:
    content, artifact = result
    inner = _of_message(content) if is_a(content, "langchain_core", "ToolMessage") else None

    def back(passed: Any, is_all: bool) -> Any:
        made = passed if inner is None else inner.back(passed, is_all)
        return (made, artifact if is_all else None)

    if inner is None:
        return Shown(content, back=back, fault=_fault(content))
    return Shown(inner.content, inner.is_error, back=back)


def _of_message(message: Any) -> Shown:
    def back(passed: Any, is_all: bool) -> Any:
        if is_all:
            return message
        kept = {name: getattr(message, name) for name in ("tool_call_id", "name", "id", "status")}
        return type(message)(passed, **kept)

    return Shown(message.content, message.status == "error", back=back)


def _fault(result: Any) -> str | None:
    """A command of LangGraph, alone or in a list, may change any part of the graph's state."""
    for each in result if isinstance(result, list) else [result]:
        if is_a(each, "langchain_core", "ToolOutputMixin"):
            return "The result is a command to the graph, not content."
    return None


def _remade(error: Exception, words: str) -> Exception:
    """A tool's own error for the model stays one: the tool may say what is made of it."""
    is_for_model = is_a(error, "langchain_core", "ToolException")
    return type(error)(words) if is_for_model else ToolResultWithheld(words)


MANNER = Manner(
    tells_model=True,
    remake=_remade,
    # An interrupt and the like.
    is_signal=lambda error: is_a(error, "langgraph", "GraphBubbleUp"),
)
