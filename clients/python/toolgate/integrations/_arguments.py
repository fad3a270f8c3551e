"""The arguments of a call by name, from what a framework is about to run its tool with. How their
values become JSON is _plain's.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Collection, Mapping
from typing import Any, Callable

from .._plain import cannot


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
            raise cannot()
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
        raise cannot() from None
    if not isinstance(value, dict):
        raise cannot()
    return value


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


def _no_number(_: str) -> Any:
    raise ValueError
