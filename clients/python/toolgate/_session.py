"""Sessions: short-lived credentials minted from a key for one run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ._shape import Fields, fields_of, ident, list_of, text, texts_or_none


@dataclass(frozen=True)
class Session:
    """An active session as it is listed; times are ISO 8601."""

    id: str
    label: str
    #: The leading part of the token, to recognise it by.
    prefix: str
    #: Full names ``<server>__<tool>`` the session may call; None: not scoped; []: none.
    scope_tools: list[str] | None
    created_at: str
    expires_at: str
    #: What the session was made with; conditions see it as ``session.attributes``.
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class CreatedSession:
    """A session just made, with the credential itself, which is shown this once."""

    id: str
    label: str
    prefix: str
    scope_tools: list[str] | None
    expires_at: str
    #: Kept out of the printed form: whoever logs the session must not log the credential.
    token: str = field(repr=False)
    attributes: dict[str, Any] = field(default_factory=dict)


def read_created_session(value: Any) -> CreatedSession:
    fields = fields_of(value, "the session")
    return CreatedSession(
        id=ident(fields, "id"),
        label=text(fields, "label"),
        prefix=text(fields, "prefix"),
        scope_tools=texts_or_none(fields, "scopeTools"),
        expires_at=text(fields, "expiresAt"),
        token=ident(fields, "token"),
        attributes=_attributes(fields),
    )


def read_sessions(value: Any) -> list[Session]:
    return [_read_session(each) for each in list_of(fields_of(value, "the answer"), "sessions")]


def _read_session(value: Any) -> Session:
    fields = fields_of(value, "a session")
    return Session(
        id=ident(fields, "id"),
        label=text(fields, "label"),
        prefix=text(fields, "prefix"),
        scope_tools=texts_or_none(fields, "scopeTools"),
        created_at=text(fields, "createdAt"),
        expires_at=text(fields, "expiresAt"),
        attributes=_attributes(fields),
    )


def _attributes(fields: Fields) -> dict[str, Any]:
    """A service of an earlier version has none."""
    return fields_of(fields.get("attributes", {}), '"attributes"')
