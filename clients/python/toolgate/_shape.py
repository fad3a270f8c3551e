"""Reading fields of untrusted JSON.

A field of another type than promised is a fault, never a default; the caller says what error a
fault becomes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Fields = dict[str, Any]


class ShapeFault(Exception):
    """The JSON has another shape than promised."""


def fields_of(value: Any, what: str) -> Fields:
    if isinstance(value, dict):
        return value
    raise ShapeFault(f"{what} is not an object")


def text(fields: Fields, name: str) -> str:
    value = fields.get(name)
    if isinstance(value, str):
        return value
    raise ShapeFault(f'"{name}" is not a string')


def ident(fields: Fields, name: str) -> str:
    """A string with something in it: identifiers and tokens."""
    value = text(fields, name)
    if value:
        return value
    raise ShapeFault(f'"{name}" is empty')


def text_or_none(fields: Fields, name: str) -> str | None:
    """A string or null; absent is neither."""
    if name in fields and fields[name] is None:
        return None
    return text(fields, name)


def count(fields: Fields, name: str) -> int:
    value = fields.get(name)
    # A bool is an int to Python, and is none here.
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise ShapeFault(f'"{name}" is not a whole number')


def is_set(fields: Fields, name: str) -> bool:
    """A field that is true, or that is not there."""
    value = fields.get(name, False)
    if isinstance(value, bool):
        return value
    raise ShapeFault(f'"{name}" is neither true nor false')


def one_of(fields: Fields, name: str, values: Sequence[str]) -> str:
    value = fields.get(name)
    if isinstance(value, str) and value in values:
        return value
    raise ShapeFault(f'"{name}" is none of {", ".join(values)}')


def texts_or_none(fields: Fields, name: str) -> list[str] | None:
    if name in fields and fields[name] is None:
        return None
    values = list_of(fields, name)
    if all(isinstance(each, str) for each in values):
        return values
    raise ShapeFault(f'"{name}" is not a list of strings')


def list_of(fields: Fields, name: str) -> list[Any]:
    value = fields.get(name)
    if isinstance(value, list):
        return value
    raise ShapeFault(f'"{name}" is not a list')
