"""Standard functions for hashes, encodings and UUIDs: the plain form of each. Strings are hashed as UTF-8."""

from __future__ import annotations

import base64
import hashlib
import re
import string
import struct
import uuid
import zlib
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import quote, unquote_to_bytes

from tidelog.engine.local.expressions.expectations import expect_length
from tidelog.engine.local.expressions.operations import Plain, Undefined
from tidelog.errors import shown

__all__ = ["ENCODINGS", "xxhash64"]


def _to_bytes(x: str | bytes) -> bytes:
    return x.encode() if isinstance(x, str) else x


def _digest(name: str) -> Plain:
    return lambda x: hashlib.new(name, _to_bytes(x), usedforsecurity=False).digest()


# -- XXH64

_P1: Final = 0x9E3779B185EBCA87
_P2: Final = 0xC2B2AE3D27D4EB4F
_P3: Final = 0x165667B19E3779F9
_P4: Final = 0x85EBCA77C2B2AE63
_P5: Final = 0x27D4EB2F165667C5
_MASK: Final = 2**64 - 1
_STRIPE: Final = 32  # bytes that the four accumulators take at a time
_BETWEEN: Final = 1023  # mask: one beat every 1024 stripes


def xxhash64(beat: Callable[[], None], x: str | bytes) -> int:
    """XXH64 with seed 0."""
    data = _to_bytes(x)
    whole = len(data) - len(data) % _STRIPE
    found = _accumulated(beat, data[:whole]) if whole else _P5
    found = _finished(found + len(data) & _MASK, data[whole:])
    found = (found ^ found >> 33) * _P2 & _MASK
    found = (found ^ found >> 29) * _P3 & _MASK
    return found ^ found >> 32


def _rotated(x: int, bits: int) -> int:
    return (x << bits | x >> 64 - bits) & _MASK


def _round(accumulator: int, lane: int) -> int:
    return _rotated(accumulator + lane * _P2 & _MASK, 31) * _P1 & _MASK


def _accumulated(beat: Callable[[], None], data: bytes) -> int:
    a, b, c, d = _P1 + _P2 & _MASK, _P2, 0, -_P1 & _MASK
    for number, (p, q, r, s) in enumerate(struct.iter_unpack("<4Q", data)):
        if not number & _BETWEEN:
            beat()
        a, b, c, d = _round(a, p), _round(b, q), _round(c, r), _round(d, s)
    found = _rotated(a, 1) + _rotated(b, 7) + _rotated(c, 12) + _rotated(d, 18) & _MASK
    for accumulator in (a, b, c, d):
        found = (found ^ _round(0, accumulator)) * _P1 + _P4 & _MASK
    return found


def _finished(found: int, rest: bytes) -> int:
    """Take in the last bytes: by eight, then four, then one by one."""
    eights = len(rest) - len(rest) % 8
    for (lane,) in struct.iter_unpack("<Q", rest[:eights]):
        found = _rotated(found ^ _round(0, lane), 27) * _P1 + _P4 & _MASK
    rest = rest[eights:]
    if len(rest) >= 4:
        (lane,) = struct.unpack("<I", rest[:4])
        found = _rotated(found ^ lane * _P1 & _MASK, 23) * _P2 + _P3 & _MASK
        rest = rest[4:]
    for byte in rest:
        found = _rotated(found ^ byte * _P5 & _MASK, 11) * _P1 & _MASK
    return found


# -- Base64


def _base64_encode(x: str | bytes) -> str:
    data = _to_bytes(x)
    expect_length(-(-len(data) // 3) * 4)
    return base64.b64encode(data).decode()


def _base64url_encode(x: str | bytes) -> str:
    return _base64_encode(x).translate(_TO_URL).rstrip("=")


_TO_URL: Final = str.maketrans("+/", "-_")
_FROM_URL: Final = str.maketrans("-_+/", "+/..")  # a character of the other alphabet is invalid


def _base64_decode(s: str) -> bytes:
    try:
        found = base64.b64decode(s, validate=True)
    except ValueError:
        found = None
    # the decoder also accepts bits after the last byte that are not zero
    if found is None or base64.b64encode(found).decode() != s:
        raise Undefined(f"{shown(s)} is not Base64")
    return found


def _base64url_decode(s: str) -> bytes:
    padding = "=" * (-len(s) % 4) if "=" not in s else ""
    try:
        return _base64_decode(s.translate(_FROM_URL) + padding)
    except Undefined:
        raise Undefined(f"{shown(s)} is not Base64 for URLs") from None


# -- URLs and UUIDs

_UNRESERVED: Final = (string.ascii_letters + string.digits + "-._~").encode()
_BROKEN_ESCAPE: Final = re.compile("%(?![0-9a-fA-F]{2})")
_UUID: Final = re.compile("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def _url_encode(s: str) -> str:
    data = s.encode()
    encoded = len(data.translate(None, _UNRESERVED))
    expect_length(len(data) + 2 * encoded, s)
    return quote(data, safe="")


def _url_decode(s: str) -> str:
    if _BROKEN_ESCAPE.search(s):
        raise Undefined(f"{shown(s)} has a % that two hexadecimal digits do not follow")
    try:
        return unquote_to_bytes(s).decode()
    except UnicodeDecodeError:
        raise Undefined(f"the percent-encoded bytes of {shown(s)} are not valid UTF-8") from None


def _is_uuid(s: str) -> bool:
    return _UUID.fullmatch(s) is not None


def _uuid5(namespace: str, name: str) -> str:
    if not _is_uuid(namespace):
        raise Undefined(f"{shown(namespace)} is not a UUID")
    return str(uuid.uuid5(uuid.UUID(namespace), name))


ENCODINGS: Final[Mapping[tuple[str, int], Plain]] = {
    ("sha256", 1): _digest("sha256"),
    ("sha1", 1): _digest("sha1"),
    ("md5", 1): _digest("md5"),
    ("crc32", 1): lambda x: zlib.crc32(_to_bytes(x)),
    ("base64_encode", 1): _base64_encode,
    ("base64_decode", 1): _base64_decode,
    ("base64url_encode", 1): _base64url_encode,
    ("base64url_decode", 1): _base64url_decode,
    ("url_encode", 1): _url_encode,
    ("url_decode", 1): _url_decode,
    ("is_uuid", 1): _is_uuid,
    ("uuid5", 2): _uuid5,
}
