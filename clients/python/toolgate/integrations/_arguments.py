"""The arguments of a call as JSON: what a framework's validation has made of them, written as a
policy reads it. A value that has no plain JSON form is refused, because something else than it
would be judged.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import inspect
import json
import os
import uuid
from collections.abc import Collection, Mapping
from typing import Any, Callable

from .._errors import invalid
from .._exchange import to_json

_AS_TEXT = (decimal.Decimal, uuid.UUID, datetime.timedelta)


def as_json(value: Any) -> Any:
    try:
        return _plain(value)
    except RecursionError:
        raise _cannot() from None


def _plain(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return _plain(value.value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise _cannot()
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, (set, frozenset)):
        return sorted((_plain(each) for each in value), key=lambda each: to_json(each, "The call"))
    return _of_object(value)


def _of_object(value: Any) -> Any:
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, _AS_TEXT):
        return str(value)
    if isinstance(value, os.PathLike):
        return _plain(os.fspath(value))
    if isinstance(value, type):
        raise _cannot()
    if dataclasses.is_dataclass(value):
        names = [each.name for each in dataclasses.fields(value)]
        if hasattr(type(value), "__pydantic_fields__"):
            # Those of pydantic may let a model add others.
            names += [name for name in getattr(value, "__dict__", {}) if name not in names]
        return {name: _plain(getattr(value, name)) for name in names}
    if hasattr(value, "__pydantic_fields_set__") or hasattr(value, "__fields_set__"):
        # All fields, whatever the model leaves out or rewrites when it is dumped.
        return {name: _plain(each) for name, each in value}
    if callable(getattr(value, "unicode_string", None)):
        # The addresses of pydantic.
        return value.unicode_string()
    raise _cannot()


def _cannot() -> Exception:
    return invalid("The call cannot be written as JSON.")


def by_name(
    function: Callable[..., Any],
    given: tuple[Any, ...],
    named: Mapping[str, Any],
    *,
    leave_out: Collection[str] = (),
    positional: Collection[str] = (),
) -> dict[str, Any]:
    """The arguments that a function is about to get, by name and with its defaults.

    ``leave_out`` names parameters that a framework fills in. ``positional`` names those values that
    the function takes by ``*args``.
    """
    signature = inspect.signature(function)
    bound = signature.bind(*given, **named)
    bound.apply_defaults()
    found: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        kind = signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            more = value
        elif kind is inspect.Parameter.VAR_POSITIONAL:
            more = _named(name, value, positional)
        else:
            more = {} if name in leave_out else {name: value}
        if not found.keys().isdisjoint(more):
            # The function would get both values, and only one would be judged.
            raise _cannot()
        found.update(more)
    return found


def _named(name: str, values: tuple[Any, ...], positional: Collection[str]) -> dict[str, Any]:
    if len(values) <= len(positional):
        return dict(zip(positional, values))
    return {name: list(values)} if values else {}


def object_of(text: str) -> dict[str, Any]:
    """The object that a text of JSON is. One with the same name twice is refused: two readers could
    make two different calls of it.
    """
    try:
        value = json.loads(text or "{}", object_pairs_hook=_pairs, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise _cannot() from None
    if not isinstance(value, dict):
        raise _cannot()
    return value


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


def _no_number(_: str) -> Any:
    raise ValueError
