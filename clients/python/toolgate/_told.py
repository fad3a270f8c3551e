"""What the service is told besides calls: the person's words, and what trusted tools returned. A result
is bounded here; what a person said is sent as it is.
"""

from __future__ import annotations

import json
import logging
import re
from typing import Any

from ._answer import read_nothing
from ._errors import ToolgateError, invalid
from ._exchange import Ask, to_json
from ._plain import as_json
from ._verdict import Verdict

#: What the service takes, in bytes of UTF-8.
LIMIT = 64 * 1024
#: Between these is a word, whoever reads the text.
BLANKS = " \n\t\r"
#: How a text begins that the service reads as JSON.
BEGINS_JSON = re.compile(r'[ \t\r\n]*(?:\{[ \t\r\n]*["}]|\[[ \t\r\n]*["\[\]{0-9tfn-])')
TOO_LARGE = "It is larger than 64 KiB as JSON."
ANSWER_LIMIT = 1024 * 1024

log = logging.getLogger("toolgate")


def told_ask(text: str, run: str | None) -> Ask[None]:
    if not isinstance(text, str):
        raise invalid("What the person said must be a string.")
    return _ask({"text": text}, run)


def report_ask(verdict: Verdict, result: Any) -> Ask[None] | None:
    """None where the tool's results are not trusted, or where nothing in it could become known."""
    if verdict.known != "results":
        return None
    telling = _telling_of(_plain(result))
    if telling is None:
        return None
    return _ask({"toolCallId": verdict.tool_call_id, **telling})


def warn(verdict: Verdict, error: Exception) -> None:
    """What is not known is asked about, or refused: that is safe, and no reason to lose a result."""
    # Whatever else was raised may quote the result.
    why = error if isinstance(error, ToolgateError) else type(error).__name__
    log.warning("What call %s returned was not reported: %s", verdict.tool_call_id, why)


def _ask(told: dict[str, Any], run: str | None = None) -> Ask[None]:
    # Sent again wherever that helps: telling something twice changes nothing.
    return Ask(
        "POST",
        "/v1/told",
        to_json(told, "The text"),
        lambda reply: read_nothing(reply, 202),
        ANSWER_LIMIT,
        repeatable=True,
        run=run,
    )


def _plain(result: Any) -> Any:
    try:
        return as_json(result)
    except ToolgateError:
        raise invalid("It cannot be written as JSON.") from None


def _telling_of(plain: Any) -> dict[str, Any] | None:
    if isinstance(plain, (int, float)) and not isinstance(plain, bool):
        return {"text": to_json(plain, "The result").decode("ascii")}
    if isinstance(plain, str):
        text = _cut(plain)
        return {"text": text} if text.strip() else None
    if not isinstance(plain, (dict, list)) or not plain or _is_failure(plain):
        return None
    if len(_utf8(json.dumps(plain, ensure_ascii=False, separators=(",", ":")))) > LIMIT:
        raise invalid(TOO_LARGE)
    return {"structured": plain}


def _is_failure(plain: dict[str, Any] | list[Any]) -> bool:
    """An error often repeats the arguments of the call, which a stranger may have named: that of
    MCP, that of Google's kit.
    """
    return isinstance(plain, dict) and bool(plain.get("error") or plain.get("isError"))


def _cut(text: str) -> str:
    """The beginning that fits, up to a blank: half a word would be a value that nobody has named. Of JSON
    nothing: half of it would be read as words, its keys included.
    """
    raw = _utf8(text)
    if len(raw) <= LIMIT:
        return text
    if BEGINS_JSON.match(text):
        raise invalid(TOO_LARGE)
    fits = len(raw[:LIMIT].decode("utf-8", "ignore"))
    return text[: max(0, *(text.rfind(blank, 0, fits + 1) for blank in BLANKS))]


def _utf8(text: str) -> bytes:
    """Half a character, which JSON can hold and UTF-8 cannot, counts as one."""
    return text.encode("utf-8", "replace")
