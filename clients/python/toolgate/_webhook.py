"""Whether a delivery is genuine, after Standard Webhooks 1.0 (symmetric, v1): its time is recent,
and one of its signatures is right under one of the secrets.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import time
from collections.abc import Mapping, Sequence
from typing import Union

from ._errors import InvalidConfiguration, WebhookRejected
from ._event import WebhookEvent, parse_event

SECRET_PREFIX = "whsec_"
TOLERANCE = 300
#: A delivery carries one signature per live secret; work is not to grow with what a stranger sends.
MOST_SIGNATURES = 16

Secret = Union[str, Sequence[str]]


def verify_webhook(
    headers: Mapping[str, str],
    body: bytes | str,
    secret: Secret,
    *,
    tolerance: float = TOLERANCE,
    now: float | None = None,
) -> WebhookEvent:
    """The event of a genuine delivery; raises WebhookRejected for any other.

    ``body`` is what came, unparsed. ``tolerance`` is how far the delivery's time may be from
    ``now``, in seconds, either way.
    """
    keys = secrets_of(secret)
    raw = body.encode("utf-8") if isinstance(body, str) else bytes(body)
    ident = _header(headers, "webhook-id")
    timestamp = _header(headers, "webhook-timestamp")
    signatures = _signatures_in(_header(headers, "webhook-signature"))
    _check_time(timestamp, tolerance, time.time() if now is None else now)
    signed = f"{ident}.{timestamp}.".encode("utf-8", "surrogateescape") + raw
    if not _any_matches(keys, signatures, signed):
        raise WebhookRejected("webhook_signature", "No signature of the delivery is right.")
    return parse_event(raw)


def secrets_of(secret: Secret) -> list[bytes]:
    """The bytes of each secret; a malformed one is the receiver's mistake, not the delivery's."""
    given = [secret] if isinstance(secret, str) else list(secret)
    keys = [
        _decoded(each[len(SECRET_PREFIX) :] if each.startswith(SECRET_PREFIX) else each)
        for each in given
    ]
    if not keys or not all(keys):
        raise InvalidConfiguration('A webhook secret is "whsec_" and base64.')
    return [key for key in keys if key]


def _header(headers: Mapping[str, str], name: str) -> str:
    found = [value for key, value in headers.items() if key.lower() == name]
    if len(found) == 1 and isinstance(found[0], str) and found[0]:
        return found[0]
    raise WebhookRejected("webhook_headers", f"The delivery has no {name}.")


def _check_time(timestamp: str, tolerance: float, now: float) -> None:
    # fullmatch and [0-9]: int() alone would take signs, spaces, underscores and foreign digits.
    if re.fullmatch(r"[0-9]{1,12}", timestamp) and abs(now - int(timestamp)) <= tolerance:
        return
    raise WebhookRejected(
        "webhook_timestamp", "The delivery is too old, too new, or has no valid time."
    )


def _signatures_in(value: str) -> list[bytes]:
    found = [each[len("v1,") :] for each in value.split(" ") if each.startswith("v1,")]
    return [raw for raw in map(_decoded, found[:MOST_SIGNATURES]) if raw]


def _any_matches(keys: list[bytes], signatures: list[bytes], signed: bytes) -> bool:
    for key in keys:
        right = hmac.new(key, signed, hashlib.sha256).digest()
        for signature in signatures:
            if hmac.compare_digest(right, signature):
                return True
    return False


def _decoded(encoded: str) -> bytes | None:
    try:
        return base64.b64decode(encoded.encode("ascii"), validate=True)
    except (binascii.Error, ValueError):
        return None
