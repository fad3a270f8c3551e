"""Whether a proof shows that an audit entry is in the log that a key signed.

The checkpoint's signature (C2SP signed note, Ed25519) and the path from the entry to its root
(RFC 6962) are verified. No request is made; the key must come from somewhere that the service's
operator cannot change.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Union

from . import _ed25519
from ._errors import InvalidConfiguration, ProofRejected
from ._shape import Fields, ShapeFault, count, fields_of, list_of, text

_ED25519 = b"\x01"


@dataclass(frozen=True)
class Inclusion:
    """An entry that is in the log, and the checkpoint that says so."""

    entry: Mapping[str, Any]
    #: Its place in the log.
    seq: int
    #: How many entries the checkpoint covers.
    size: int
    #: The log's name.
    origin: str
    #: When the checkpoint was signed, as the signer says; ISO 8601.
    signed_at: str


@dataclass(frozen=True)
class _Signer:
    name: str
    id: bytes
    key: bytes


def verify_inclusion(proof: Union[str, bytes, Mapping[str, Any]], public_key: str) -> Inclusion:
    """The entry of a proof; raises ProofRejected unless it is in the log that this key signed.

    ``proof`` is what ``toolgate audit prove`` prints, as text or parsed; ``public_key`` is
    ``name+id+base64``, as the service shows it.
    """
    signer = _signer_of(public_key)
    try:
        fields = fields_of(_parsed(proof), "the proof")
        seq, size = count(fields, "seq"), count(fields, "size")
        path = [_hash_in(each) for each in list_of(fields, "path")]
        entry = fields_of(fields.get("entry"), '"entry"')
        note = text(fields, "checkpoint")
    except ShapeFault as fault:
        raise ProofRejected("proof_shape", f"The proof cannot be read: {fault}.") from None
    except (ValueError, RecursionError):
        raise ProofRejected("proof_shape", "The proof is not JSON.") from None
    root, signed_at = _open_checkpoint(note, signer, size)
    if _root_from(_leaf_of(entry), seq, size, path) != root:
        raise ProofRejected("proof_entry", "The entry is not in the log that was signed.")
    return Inclusion(entry, seq, size, signer.name, signed_at)


def _parsed(proof: Union[str, bytes, Mapping[str, Any]]) -> Any:
    if isinstance(proof, (str, bytes)):
        return json.loads(proof)
    return dict(proof)


def _signer_of(public_key: str) -> _Signer:
    found = re.fullmatch(r"([^\s+]+)\+([0-9a-f]{8})\+(\S+)", public_key.strip())
    if found:
        typed = _decoded(found.group(3)) or b""
        digest = hashlib.sha256(f"{found.group(1)}\n".encode() + typed).digest()
        if len(typed) == 33 and typed[:1] == _ED25519 and digest[:4].hex() == found.group(2):
            return _Signer(found.group(1), digest[:4], typed[1:])
    raise InvalidConfiguration(
        'The public key of an audit log is "name+id+base64", as the service shows it.'
    )


def _hash_in(value: Any) -> bytes:
    raw = _decoded(value) if isinstance(value, str) else None
    if raw is None or len(raw) != 32:
        raise ShapeFault('"path" holds something that is no hash')
    return raw


def _open_checkpoint(note: str, signer: _Signer, size: int) -> tuple[bytes, str]:
    """The root that the checkpoint speaks of, and when it was signed."""
    signed, blank, signatures = note.rpartition("\n\n")
    lines = signed.split("\n")
    root = _decoded(lines[2]) if len(lines) > 2 else None
    if not blank or lines[:2] != [signer.name, str(size)] or root is None or len(root) != 32:
        raise ProofRejected(
            "proof_checkpoint", "The checkpoint is not of this log, or not of this size."
        )
    message = (signed + "\n").encode("utf-8", "surrogatepass")
    for line in signatures.split("\n"):
        raw = _signature_in(line, signer)
        if raw is not None and _ed25519.verify(signer.key, message, raw):
            times = [each[len("time ") :] for each in lines[3:] if each.startswith("time ")]
            return root, times[0] if times else ""
    raise ProofRejected("proof_checkpoint", "The checkpoint is not signed by this key.")


def _signature_in(line: str, signer: _Signer) -> bytes | None:
    parts = line.split(" ")
    if len(parts) != 3 or parts[0] != "\u2014" or parts[1] != signer.name:
        return None
    raw = _decoded(parts[2])
    return raw[4:] if raw is not None and raw[:4] == signer.id else None


def _root_from(leaf: bytes, seq: int, size: int, path: list[bytes]) -> bytes | None:
    """The root to which the leaf and its path lead; none when the path has not the right length."""
    if seq >= size:
        return None
    result, taken = leaf, 0
    # How far the leaf, and the tree's last leaf, are from the left in the row of `result`.
    at, last = seq, size - 1
    while last > 0:
        if at % 2 == 1 or at != last:
            if taken == len(path):
                return None
            pair = path[taken] + result if at % 2 == 1 else result + path[taken]
            result, taken = hashlib.sha256(b"\x01" + pair).digest(), taken + 1
        at, last = at // 2, last // 2
    return result if taken == len(path) else None


def _leaf_of(entry: Fields) -> bytes:
    # The trace id of a call is shown with its entry, but not sealed.
    sealed = {key: value for key, value in entry.items() if key != "traceId"}
    try:
        return hashlib.sha256(b"\x00" + _canonical(sealed).encode("utf-8")).digest()
    except RecursionError:
        raise ProofRejected("proof_entry", "The entry is too deep for an audit entry.") from None


def _canonical(value: Any) -> str:
    """One text for a value, whatever the order of its keys (RFC 8785).

    Entries hold texts, whole numbers and nulls only; what else there is was never sealed.
    """
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(f"{_text(key)}:{_canonical(value[key])}" for key in keys) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_canonical, value)) + "]"
    if isinstance(value, str):
        return _text(value)
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int) and abs(value) < 2**53:
        return str(value)
    raise ProofRejected("proof_entry", "The entry holds a number that no audit entry has.")


def _text(value: str) -> str:
    quoted = json.dumps(value, ensure_ascii=False)
    return re.sub("[\ud800-\udfff]", lambda lone: f"\\u{ord(lone.group()):04x}", quoted)


def _decoded(encoded: str) -> bytes | None:
    try:
        return base64.b64decode(encoded.encode("ascii"), validate=True)
    except (binascii.Error, ValueError):
        return None
