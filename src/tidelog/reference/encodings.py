"""Standard functions for hashes, encodings and UUIDs, in plain Python.

Cryptographic hashes are those of Python. Everything else is written out from its definition.
"""

from __future__ import annotations

import hashlib
import string
from collections.abc import Callable, Mapping
from typing import Final

from tidelog.data.values import Value
from tidelog.errors import shown
from tidelog.program.library.catalog import MAX_TEXT
from tidelog.reference.convert import Undefined

__all__ = ["ENCODINGS", "form_decoded"]

_HEX: Final = frozenset(string.hexdigits)
_DIGITS: Final = string.ascii_uppercase + string.ascii_lowercase + string.digits


def _bytes_of(x: str | bytes) -> bytes:
    return x if isinstance(x, bytes) else x.encode()


def _expect_length(length: int, given: int = 0) -> None:
    if length > max(MAX_TEXT, given):
        raise Undefined(f"the string exceeds {MAX_TEXT} code points")


# -- checksums


def _crc32(x: str | bytes) -> int:
    """The remainder of a division of polynomials, bit by bit, least significant bits first."""
    remainder = 2**32 - 1
    for byte in _bytes_of(x):
        remainder ^= byte
        for _ in range(8):
            remainder = remainder >> 1 ^ (0xEDB88320 if remainder & 1 else 0)
    return remainder ^ 2**32 - 1


_WORD: Final = 2**64
_PRIME: Final = (
    11400714785074694791,
    14029467366897019727,
    1609587929392839161,
    9650029242287828579,
    2870177450012600261,
)


def _turn(x: int, bits: int) -> int:
    x %= _WORD
    return (x << bits) % _WORD + (x >> 64 - bits)


def _mix(accumulator: int, lane: int) -> int:
    return _turn(accumulator + lane * _PRIME[1], 31) * _PRIME[0] % _WORD


def _xxhash64(x: str | bytes) -> int:
    """XXH64 with seed 0, as its specification describes it, on numbers modulo 2**64."""
    data = _bytes_of(x)
    found, place = _PRIME[4], 0
    if len(data) >= 32:
        state = [_PRIME[0] + _PRIME[1], _PRIME[1], 0, -_PRIME[0]]
        while place + 32 <= len(data):
            lanes = [_little(data, place + 8 * i, 8) for i in range(4)]
            state = [_mix(a, lane) for a, lane in zip(state, lanes, strict=True)]
            place += 32
        found = sum(_turn(a, bits) for a, bits in zip(state, (1, 7, 12, 18), strict=True)) % _WORD
        for a in state:
            found = ((found ^ _mix(0, a)) * _PRIME[0] + _PRIME[3]) % _WORD
    return _avalanche(_ending((found + len(data)) % _WORD, data, place))


def _little(data: bytes, place: int, size: int) -> int:
    return int.from_bytes(data[place : place + size], "little")


def _ending(found: int, data: bytes, place: int) -> int:
    while place + 8 <= len(data):
        found = (_turn(found ^ _mix(0, _little(data, place, 8)), 27) * _PRIME[0] + _PRIME[3]) % _WORD
        place += 8
    if place + 4 <= len(data):
        lane = _little(data, place, 4) * _PRIME[0] % _WORD
        found = (_turn(found ^ lane, 23) * _PRIME[1] + _PRIME[2]) % _WORD
        place += 4
    for byte in data[place:]:
        found = _turn(found ^ byte * _PRIME[4] % _WORD, 11) * _PRIME[0] % _WORD
    return found


def _avalanche(found: int) -> int:
    for bits, prime in ((33, _PRIME[1]), (29, _PRIME[2])):
        found = (found ^ found // 2**bits) * prime % _WORD
    return found ^ found // 2**32


# -- Base64


def _encode64(x: str | bytes, alphabet: str) -> str:
    """Six bits of the data per digit, without padding."""
    data = _bytes_of(x)
    _expect_length((len(data) + 2) // 3 * 4)
    digits: list[str] = []
    for start in range(0, len(data), 3):
        group = data[start : start + 3]
        number = int.from_bytes(group.ljust(3, b"\0"), "big")
        four = [alphabet[number >> shift & 63] for shift in (18, 12, 6, 0)]
        digits += four[: len(group) + 1]
    return "".join(digits)


def _decode64(s: str, alphabet: str) -> bytes | None:
    """The bytes of digits without padding; None if they are invalid."""
    if any(c not in alphabet for c in s) or len(s) % 4 == 1:
        return None
    decoded = bytearray()
    for start in range(0, len(s), 4):
        four = s[start : start + 4]
        number = 0
        for c in four.ljust(4, alphabet[0]):
            number = number * 64 + alphabet.index(c)
        kept, dropped = len(four) - 1, 4 - len(four)
        if number % 256**dropped:
            return None
        decoded += number.to_bytes(3, "big")[:kept]
    return bytes(decoded)


_STANDARD: Final = _DIGITS + "+/"
_FOR_URLS: Final = _DIGITS + "-_"


def _base64_encode(x: str | bytes) -> str:
    digits = _encode64(x, _STANDARD)
    return digits + "=" * (-len(digits) % 4)


def _unpadded(s: str) -> str | None:
    """The digits before correct padding; None if it is wrong."""
    digits = s.rstrip("=")
    return digits if len(s) - len(digits) == -len(digits) % 4 else None


def _base64_decode(s: str) -> bytes:
    digits = _unpadded(s)
    found = None if digits is None else _decode64(digits, _STANDARD)
    if found is None:
        raise Undefined(f"{shown(s)} is not Base64")
    return found


def _base64url_decode(s: str) -> bytes:
    digits = _unpadded(s) if s.endswith("=") else s
    found = None if digits is None else _decode64(digits, _FOR_URLS)
    if found is None:
        raise Undefined(f"{shown(s)} is not Base64 for URLs")
    return found


# -- URLs


def _url_encode(s: str) -> str:
    kept = frozenset(_DIGITS + "-._~")
    parts = [chr(b) if chr(b) in kept else f"%{b:02X}" for b in s.encode()]
    _expect_length(sum(map(len, parts)), len(s))
    return "".join(parts)


def _url_decode(s: str) -> str:
    data, whole = _percent_decoded(s)
    if not whole:
        raise Undefined(f"{shown(s)} has a % that two hexadecimal digits do not follow")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise Undefined(f"the percent-encoded bytes of {shown(s)} are not valid UTF-8") from None


def form_decoded(s: str) -> str:
    """A name or value of an HTML form."""
    return _percent_decoded(s.replace("+", " "))[0].decode(errors="replace")


def _percent_decoded(s: str) -> tuple[bytes, bool]:
    """The bytes, and whether every percent sign starts an escape; one that does not is kept."""
    decoded = bytearray()
    whole = True
    place = 0
    while place < len(s):
        digits = s[place + 1 : place + 3]
        if s[place] == "%" and len(digits) == 2 and _HEX.issuperset(digits):
            decoded.append(int(digits, 16))
            place += 3
            continue
        whole &= s[place] != "%"
        decoded += s[place].encode()
        place += 1
    return bytes(decoded), whole


# -- UUIDs


def _is_uuid(s: str) -> bool:
    parts = s.split("-")
    return [len(p) for p in parts] == [8, 4, 4, 4, 12] and _HEX.issuperset("".join(parts))


def _uuid5(namespace: str, name: str) -> str:
    if not _is_uuid(namespace):
        raise Undefined(f"{shown(namespace)} is not a UUID")
    space = bytes.fromhex(namespace.replace("-", ""))
    digest = bytearray(hashlib.sha1(space + name.encode(), usedforsecurity=False).digest()[:16])
    digest[6] = digest[6] % 16 + 0x50  # the version
    digest[8] = digest[8] % 64 + 0x80  # the variant
    text = digest.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


ENCODINGS: Final[Mapping[tuple[str, int], Callable[..., Value]]] = {
    ("sha256", 1): lambda x: hashlib.sha256(_bytes_of(x)).digest(),
    ("sha1", 1): lambda x: hashlib.sha1(_bytes_of(x), usedforsecurity=False).digest(),
    ("md5", 1): lambda x: hashlib.md5(_bytes_of(x), usedforsecurity=False).digest(),
    ("crc32", 1): _crc32,
    ("xxhash64", 1): _xxhash64,
    ("base64_encode", 1): _base64_encode,
    ("base64_decode", 1): _base64_decode,
    ("base64url_encode", 1): lambda x: _encode64(x, _FOR_URLS),
    ("base64url_decode", 1): _base64url_decode,
    ("url_encode", 1): _url_encode,
    ("url_decode", 1): _url_decode,
    ("is_uuid", 1): _is_uuid,
    ("uuid5", 2): _uuid5,
}
