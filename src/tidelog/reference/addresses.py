"""Standard functions on URLs and IP addresses, in plain Python, written out from their definitions."""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from tidelog.data.values import Value
from tidelog.errors import shown
from tidelog.reference.convert import Undefined
from tidelog.reference.encodings import form_decoded

__all__ = ["ADDRESSES"]

_HEX: Final = frozenset(string.hexdigits)
_DIGITS: Final = frozenset(string.digits)


# -- IP addresses


def _ipv4(s: str) -> int | None:
    parts = s.split(".")
    if len(parts) != 4:
        return None
    number = 0
    for part in parts:
        if not (0 < len(part) < 4 and _DIGITS.issuperset(part)):
            return None
        if int(part) > 255 or str(int(part)) != part:
            return None
        number = number * 256 + int(part)
    return number


def _ipv6(s: str) -> int | None:
    before, gap, after = s.partition("::")
    left = _groups(before, is_last=not gap)
    right = _groups(after, is_last=True) if gap else []
    if left is None or right is None:
        return None
    missing = 8 - len(left) - len(right)
    if (missing < 1) if gap else (missing != 0):
        return None
    number = 0
    for group in (*left, *[0] * missing, *right):
        number = number * 2**16 + group
    return number


def _groups(s: str, *, is_last: bool) -> list[int] | None:
    """Groups of 16 bits; the last two may be written as an IPv4 address."""
    if s == "":
        return []
    *texts, last = s.split(":")
    found: list[int] = []
    for text in texts:
        if not (0 < len(text) <= 4 and _HEX.issuperset(text)):
            return None
        found.append(int(text, 16))
    if is_last and "." in last:
        number = _ipv4(last)
        return None if number is None else [*found, number // 2**16, number % 2**16]
    if not (0 < len(last) <= 4 and _HEX.issuperset(last)):
        return None
    return [*found, int(last, 16)]


def _bits(s: str) -> str | None:
    """An address as a string of 32 or 128 binary digits."""
    four, six = _ipv4(s), _ipv6(s)
    if four is not None:
        return f"{four:032b}"
    return None if six is None else f"{six:0128b}"


def _address(s: str) -> str:
    bits = _bits(s)
    if bits is None:
        raise Undefined(f"{shown(s)} is not an IP address")
    return bits


def _number(read: Callable[[str], int | None], name: str) -> Callable[[str], int]:
    def apply(s: str) -> int:
        number = read(s)
        if number is None:
            raise Undefined(f"{shown(s)} is not an {name} address")
        return number

    return apply


def _ipv4_text(n: int) -> str:
    return f"{n // 2**24}.{n // 2**16 % 256}.{n // 2**8 % 256}.{n % 256}"


def _ipv6_text(n: int) -> str:
    groups = [f"{n // 2 ** (16 * i) % 2**16:x}" for i in range(7, -1, -1)]
    for size in range(8, 1, -1):  # the longest run first
        for start in range(9 - size):
            if groups[start : start + size] == ["0"] * size:
                return ":".join(groups[:start]) + "::" + ":".join(groups[start + size :])
    return ":".join(groups)


def _ip_in_subnet(ip: str, subnet: str) -> bool:
    address, (base, length) = _address(ip), _subnet(subnet)
    return len(address) == len(base) and address[:length] == base[:length]


def _subnet(text: str) -> tuple[str, int]:
    address, _, digits = text.partition("/")
    base = _bits(address)
    if base is not None and digits in map(str, range(len(base) + 1)):
        return base, int(digits)
    raise Undefined(f"{shown(text)} is not a subnet")


def _ip_is_private(s: str) -> bool:
    _address(s)
    subnets = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")
    return any(_ip_in_subnet(s, subnet) for subnet in subnets)


# -- URLs


class _Parts(NamedTuple):
    scheme: str
    host: str | None
    port: int | None
    path: str
    query: str | None
    fragment: str | None


def _split(s: str) -> _Parts | None:
    """The parts of a URL, from its end to its start; None if it is invalid."""
    if any(ord(c) <= 32 or c in "\x7f\\" for c in s):
        return None
    rest, hash_, fragment = s.partition("#")
    rest, question, query = rest.partition("?")
    scheme, colon, path = rest.partition(":")
    if not colon or not _is_scheme(scheme):
        return None
    authority = ""
    if path.startswith("//"):
        authority, slash, path = path[2:].partition("/")
        path = slash + path
    at = _host_and_port(authority.rpartition("@")[2])
    if at is None:
        return None
    query_or_none, fragment_or_none = query if question else None, fragment if hash_ else None
    return _Parts(_lower(scheme), *at, path, query_or_none, fragment_or_none)


def _is_scheme(s: str) -> bool:
    allowed = frozenset(string.ascii_letters + string.digits + "+-.")
    return s[:1] in tuple(string.ascii_letters) and allowed.issuperset(s)


def _host_and_port(s: str) -> tuple[str | None, int | None] | None:
    if s.startswith("["):
        host, bracket, port = s[1:].partition("]")
        if not bracket or _ipv6(host) is None or (port and not port.startswith(":")):
            return None
        port = port[1:]
    else:
        host, _, port = s.partition(":")
    if any(c in host for c in "[]") or not _DIGITS.issuperset(port):
        return None
    number = 0
    for digit in port:
        number = min(number * 10 + int(digit), 2**16)
    return None if number == 2**16 else (_lower(host) or None, number if port else None)


def _lower(s: str) -> str:
    return "".join(c.lower() if c.isascii() else c for c in s)


def _part(name: str) -> Callable[[str], Any]:
    def apply(s: str) -> Any:
        parts = _split(s)
        return None if parts is None else getattr(parts, name)

    return apply


def _url_param(s: str, name: str) -> str | None:
    parts = _split(s)
    pairs = [] if parts is None or parts.query is None else parts.query.split("&")
    for pair in filter(None, pairs):
        key, _, value = pair.partition("=")
        if form_decoded(key) == name:
            return form_decoded(value)
    return None


ADDRESSES: Final[Mapping[tuple[str, int], Callable[..., Value]]] = {
    ("url_scheme", 1): _part("scheme"),
    ("url_host", 1): _part("host"),
    ("url_port", 1): _part("port"),
    ("url_path", 1): _part("path"),
    ("url_query", 1): _part("query"),
    ("url_fragment", 1): _part("fragment"),
    ("url_param", 2): _url_param,
    ("ip_is_valid", 1): lambda s: _bits(s) is not None,
    ("ip_version", 1): lambda s: 4 if len(_address(s)) == 32 else 6,
    ("ipv4_to_int", 1): _number(_ipv4, "IPv4"),
    ("ipv4_from_int", 1): _ipv4_text,
    ("ipv6_to_int", 1): _number(_ipv6, "IPv6"),
    ("ipv6_from_int", 1): _ipv6_text,
    ("ip_in_subnet", 2): _ip_in_subnet,
    ("ip_is_private", 1): _ip_is_private,
}
