"""Ed25519 signatures (RFC 8032), verifying only: the standard library has none.

Nothing here is secret, so nothing needs to take the same time for every input. Points are in
extended coordinates (X, Y, Z, T) with x = X/Z, y = Y/Z and x*y = T/Z.
"""

from __future__ import annotations

import hashlib
from typing import Optional, Tuple

_P = 2**255 - 19
_L = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, _P - 2, _P) % _P
_SQRT_MINUS_ONE = pow(2, (_P - 1) // 4, _P)

_Point = Tuple[int, int, int, int]
_NEUTRAL: _Point = (0, 1, 1, 0)


def verify(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether the signature is by this key over exactly this message."""
    if len(public_key) != 32 or len(signature) != 64:
        return False
    key = _point(public_key)
    commitment = _point(signature[:32])
    scalar = int.from_bytes(signature[32:], "little")
    # A scalar beyond the group's order would let anyone make a second signature of the first.
    if key is None or commitment is None or scalar >= _L:
        return False
    # For a key of small order (the neutral element, say), anybody can make signatures.
    if _is_small(key) or _is_small(commitment):
        return False
    digest = hashlib.sha512(signature[:32] + public_key + message).digest()
    challenge = int.from_bytes(digest, "little") % _L
    return _equal(_times(scalar, _BASE), _add(commitment, _times(challenge, key)))


def _add(p: _Point, q: _Point) -> _Point:
    a = (p[1] - p[0]) * (q[1] - q[0]) % _P
    b = (p[1] + p[0]) * (q[1] + q[0]) % _P
    c = 2 * p[3] * q[3] * _D % _P
    d = 2 * p[2] * q[2] % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % _P, g * h % _P, f * g % _P, e * h % _P)


def _times(scalar: int, point: _Point) -> _Point:
    total = _NEUTRAL
    while scalar > 0:
        if scalar & 1:
            total = _add(total, point)
        point = _add(point, point)
        scalar >>= 1
    return total


def _is_small(point: _Point) -> bool:
    """Whether the point's order divides 8."""
    return _equal(_times(8, point), _NEUTRAL)


def _equal(p: _Point, q: _Point) -> bool:
    return (p[0] * q[2] - q[0] * p[2]) % _P == 0 and (p[1] * q[2] - q[1] * p[2]) % _P == 0


def _point(encoded: bytes) -> Optional[_Point]:
    """The point that 32 bytes stand for: y, and in the top bit the sign of x."""
    number = int.from_bytes(encoded, "little")
    y = number & ((1 << 255) - 1)
    x = _x_of(y, number >> 255)
    return None if x is None else (x, y, 1, x * y % _P)


def _x_of(y: int, sign: int) -> Optional[int]:
    if y >= _P:
        return None
    square = (y * y - 1) * pow(_D * y * y + 1, _P - 2, _P) % _P
    x = pow(square, (_P + 3) // 8, _P)
    if (x * x - square) % _P != 0:
        x = x * _SQRT_MINUS_ONE % _P
    if (x * x - square) % _P != 0 or (x == 0 and sign == 1):
        return None
    return x if x & 1 == sign else _P - x


_BASE_Y = 4 * pow(5, _P - 2, _P) % _P
_BASE_X = _x_of(_BASE_Y, 0) or 0
_BASE: _Point = (_BASE_X, _BASE_Y, 1, _BASE_X * _BASE_Y % _P)
