"""A tool's own values as the service looks at them, and back: an MCP result, in which a text is a block
of text, and whatever else JSON can hold is structured content.
"""

from __future__ import annotations

from typing import Any

from ._errors import BadAnswer, ToolResultWithheld, ToolgateError, invalid
from ._plain import as_json
from ._results import Result


class SentValue:
    """What a tool returned."""

    def __init__(self, value: Any, is_error: bool = False) -> None:
        self.plain = _plain(value)
        self.result = _result_of(self.plain)
        self._is_error = is_error
        if is_error:
            self.result["isError"] = True

    def received(self, guarded: Result) -> Any:
        """The value that the guarded result stands for, of the same kind as the one that was sent."""
        if self._is_withheld(guarded):
            raise ToolResultWithheld(_text_in(guarded))
        if self.plain is None:
            return None
        if isinstance(self.plain, str):
            return _text_in(guarded)
        structured = guarded.get("structuredContent")
        if not isinstance(structured, dict):
            raise _unlike_promised('"structuredContent" is not an object')
        if isinstance(self.plain, dict):
            return structured
        if "result" not in structured:
            raise _unlike_promised('"result" is missing')
        return structured["result"]

    def _is_withheld(self, guarded: Result) -> bool:
        """Of an error that is a text, its reason takes the place of the text."""
        is_replaced = "structuredContent" in self.result and "structuredContent" not in guarded
        return guarded.get("isError") is True and (not self._is_error or is_replaced)


class SentError:
    """What a tool raised: its text, and how Python writes it, if that says something else."""

    def __init__(self, error: Exception) -> None:
        said = str(error)
        self._texts = [said]
        if repr(error) != f"{type(error).__name__}({said!r})":
            self._texts.append(repr(error))
        self.result: Result = {"content": [_block(each) for each in self._texts], "isError": True}

    def received(self, guarded: Result) -> str | None:
        """The text that may be passed on; None if the error may be as it is."""
        texts = _texts_in(guarded)
        return None if texts == self._texts else texts[0]


def _plain(value: Any) -> Any:
    try:
        return as_json(value)
    except ToolgateError:
        raise invalid("The result cannot be written as JSON.") from None


def _result_of(plain: Any) -> Result:
    if plain is None:
        return {"content": []}
    if isinstance(plain, str):
        return {"content": [_block(plain)]}
    # Structured content is an object: whatever else stands in one.
    structured = plain if isinstance(plain, dict) else {"result": plain}
    return {"content": [], "structuredContent": structured}


def _block(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def _text_in(guarded: Result) -> str:
    return "\n".join(_texts_in(guarded))


def _texts_in(guarded: Result) -> list[str]:
    blocks = guarded.get("content")
    texts = [
        each["text"]
        for each in (blocks if isinstance(blocks, list) else [])
        if isinstance(each, dict)
        and each.get("type") == "text"
        and isinstance(each.get("text"), str)
    ]
    if not texts or len(texts) != len(blocks or []):
        raise _unlike_promised('"content" is not text')
    return texts


def _unlike_promised(what: str) -> BadAnswer:
    return BadAnswer(200, f"The answer has another shape than promised: {what}.")
