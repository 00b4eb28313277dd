"""Standard functions on URLs and IP addresses: the plain form of each.

`program.library.web_functions` specifies what a URL and an IP address is. Addresses are read by Python's
`ipaddress`. How they are written, and which are private, is defined here: Python's rules change by version.
"""

from __future__ import annotations

import ipaddress
import re
import string
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Final
from urllib.parse import unquote_plus

from tidelog.engine.local.expressions.operations import Plain, Undefined
from tidelog.errors import shown

__all__ = ["ADDRESSES"]


# -- IP addresses


@dataclass(frozen=True, slots=True)
class _Address:
    version: int
    number: int

    @property
    def bits(self) -> int:
        return 32 if self.version == 4 else 128

    def prefix(self, length: int) -> int:
        return self.number >> self.bits - length


_LONGEST: Final = len("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255")


def _read(s: str) -> _Address | None:
    if len(s) > _LONGEST or "%" in s:
        return None
    try:
        found = ipaddress.ip_address(s)
    except ValueError:
        return None
    return _Address(found.version, int(found))


def _address(s: str) -> _Address:
    found = _read(s)
    if found is None:
        raise Undefined(f"{shown(s)} is not an IP address")
    return found


def _to_int(version: int) -> Plain:
    def apply(s: str) -> int:
        found = _read(s)
        if found is None or found.version != version:
            raise Undefined(f"{shown(s)} is not an IPv{version} address")
        return found.number

    return apply


def _ipv4_from_int(n: int) -> str:
    return ".".join(map(str, n.to_bytes(4, "big")))


def _ipv6_from_int(n: int) -> str:
    groups = [n >> shift & 0xFFFF for shift in range(112, -1, -16)]
    texts = [f"{g:x}" for g in groups]
    start, length = 0, 1
    place = 0
    for is_zero, run in groupby(groups, key=lambda g: g == 0):
        size = len(list(run))
        if is_zero and size > length:
            start, length = place, size
        place += size
    if length == 1:
        return ":".join(texts)
    return ":".join(texts[:start]) + "::" + ":".join(texts[start + length :])


@lru_cache(maxsize=1024)
def _subnet(text: str) -> tuple[_Address, int]:
    address, _, length = text.partition("/")
    found = _read(address)
    # at most three digits, without a sign or leading zero
    if found is None or not re.fullmatch("0|[1-9][0-9]{0,2}", length) or int(length) > found.bits:
        raise Undefined(f"{shown(text)} is not a subnet")
    return found, int(length)


def _ip_in_subnet(ip: str, subnet: str) -> bool:
    return _is_in(_address(ip), subnet)


def _is_in(address: _Address, subnet: str) -> bool:
    base, length = _subnet(subnet)
    return base.version == address.version and base.prefix(length) == address.prefix(length)


_PRIVATE: Final = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")


def _ip_is_private(s: str) -> bool:
    address = _address(s)
    return any(_is_in(address, subnet) for subnet in _PRIVATE)


# -- URLs


@dataclass(frozen=True, slots=True)
class _Url:
    scheme: str
    host: str | None
    port: int | None
    path: str
    query: str | None
    fragment: str | None


_FORBIDDEN: Final = re.compile(r"[\x00-\x20\x7f\\]")
_URL: Final = re.compile(
    r"([A-Za-z][A-Za-z0-9+.-]*):(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL
)
_AUTHORITY: Final = re.compile(r"(?:.*@)?(?:\[([^\[\]@]*)\]|([^:\[\]@]*))(?::([0-9]*))?", re.DOTALL)
_LOWER: Final = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_LAST_PORT: Final = 65535


def _url(s: str) -> _Url | None:
    found = None if _FORBIDDEN.search(s) else _URL.fullmatch(s)
    if found is None:
        return None
    scheme, authority, path, query, fragment = found.groups()
    at = _host_and_port(authority or "")
    if at is None:
        return None
    return _Url(scheme.lower(), *at, path, query, fragment)


def _host_and_port(authority: str) -> tuple[str | None, int | None] | None:
    """The host and the port, as far as there are any; None if the authority is invalid."""
    found = _AUTHORITY.fullmatch(authority)
    if found is None:
        return None
    literal, name, digits = found.groups()
    if literal is not None and not ((address := _read(literal)) and address.version == 6):
        return None
    significant = (digits or "").lstrip("0")
    if len(significant) > len(str(_LAST_PORT)) or int(significant or 0) > _LAST_PORT:
        return None
    host = (name if literal is None else literal).translate(_LOWER)
    return host or None, int(significant or 0) if digits else None


def _part(name: str) -> Plain:
    def apply(s: str) -> object:
        url = _url(s)
        return None if url is None else getattr(url, name)

    return apply


def _url_param(s: str, name: str) -> str | None:
    url = _url(s)
    if url is None or url.query is None:
        return None
    for pair in url.query.split("&"):
        mine, _, value = pair.partition("=")
        if pair and unquote_plus(mine, errors="replace") == name:
            return unquote_plus(value, errors="replace")
    return None


ADDRESSES: Final[Mapping[tuple[str, int], Plain]] = {
    **{(f"url_{name}", 1): _part(name) for name in ("scheme", "host", "port", "path", "query", "fragment")},
    ("url_param", 2): _url_param,
    ("ip_is_valid", 1): lambda s: _read(s) is not None,
    ("ip_version", 1): lambda s: _address(s).version,
    ("ipv4_to_int", 1): _to_int(4),
    ("ipv4_from_int", 1): _ipv4_from_int,
    ("ipv6_to_int", 1): _to_int(6),
    ("ipv6_from_int", 1): _ipv6_from_int,
    ("ip_in_subnet", 2): _ip_in_subnet,
    ("ip_is_private", 1): _ip_is_private,
}
