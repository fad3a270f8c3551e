"""Values as JSON: the arguments of a call, and what a tool returned, written as a policy reads them. A
value that has no plain JSON form is refused, because something else than it would be judged.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import os
import uuid
from collections.abc import Mapping
from typing import Any

from ._errors import invalid
from ._exchange import to_json

_AS_TEXT = (decimal.Decimal, uuid.UUID, datetime.timedelta)


def as_json(value: Any) -> Any:
    try:
        return _plain(value)
    except RecursionError:
        raise cannot() from None


def _plain(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return _plain(value.value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise cannot()
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
        raise cannot()
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
    raise cannot()


def cannot() -> Exception:
    return invalid("The call cannot be written as JSON.")
