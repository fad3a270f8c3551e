"""What a tool of Pydantic AI returned, and what of it the model gets to see: the return value, and the
content beside it, not the metadata. Pictures, sound and film pass whole; metadata stays only beside
content in which nothing was hidden.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from .._errors import ToolResultWithheld
from .._passing import Manner, Shown
from ._guard import is_a

MEDIA = ("image/", "audio/", "video/")


def shown(_: Any, result: Any) -> Shown:
    if not is_a(result, "pydantic_ai", "ToolReturn"):
        return _of_value(result)
    content = getattr(result, "content", None)
    return _of_value(result.return_value, result) if content is None else _of_both(result, content)


def _of_value(value: Any, whole: Any = None) -> Shown:
    """A value of its own, or that of a ToolReturn."""
    seen = _seen(value)

    def back(passed: Any, is_all: bool) -> Any:
        if passed is seen:
            return value if whole is None else whole
        made = _filled(passed, value)
        return made if whole is None else _made(whole, is_all, return_value=made)

    return Shown(seen, back=back)


def _of_both(whole: Any, content: Any) -> Shown:
    items = [content] if isinstance(content, str) else list(content)
    both = {"return_value": _seen(whole.return_value), "content": _seen(items)}

    def back(passed: Any, is_all: bool) -> Any:
        if passed is both:
            return whole
        value = _filled(passed["return_value"], whole.return_value)
        if is_all:
            return _made(whole, is_all, return_value=value)
        # Of the other kinds, such as links, something may be hidden that they cannot do without.
        kept = [each for each in _filled(passed["content"], items) if not isinstance(each, dict)]
        return _made(whole, is_all, return_value=value, content=kept)

    return Shown(both, told=lambda passed: passed["return_value"], back=back)


def _made(whole: Any, is_all: bool, **fields: Any) -> Any:
    return dataclasses.replace(whole, metadata=whole.metadata if is_all else None, **fields)


def _seen(value: Any) -> Any:
    """Without pictures and the like, of which no part can be hidden."""
    if isinstance(value, list):
        return [_seen(each) for each in value]
    return None if _is_media(value) else value


def _filled(passed: Any, value: Any) -> Any:
    """With the pictures again."""
    if isinstance(value, list) and isinstance(passed, list) and len(value) == len(passed):
        return [_filled(*each) for each in zip(passed, value)]
    return value if _is_media(value) else passed


def _is_media(value: Any) -> bool:
    is_binary = is_a(value, "pydantic_ai", "BinaryContent")
    return is_binary and str(getattr(value, "media_type", "")).startswith(MEDIA)


def _remade(error: Exception, words: str) -> Exception:
    """What is written for the model stays that."""
    is_for_model = any(is_a(error, "pydantic_ai", each) for each in ("ModelRetry", "ToolFailed"))
    return type(error)(words) if is_for_model else ToolResultWithheld(words)


MANNER = Manner(
    tells_model=True,
    remake=_remade,
    is_signal=lambda error: any(
        is_a(error, "pydantic_ai", each) for each in ("CallDeferred", "ApprovalRequired")
    ),
)
