"""Standard functions for hashes, encodings, URLs and IP addresses as data.

A *URL* here is the generic syntax of RFC 3986 with a scheme: `scheme:[//[user@]host[:port]]path[?query]
[#fragment]`. The scheme is a letter, then letters, digits, `+`, `-` and `.`. The host is an IPv6 address in
brackets or has none of the characters `:[]`; the port is a number up to 65535, or nothing. Code points up to
U+0020, U+007F and backslashes occur nowhere. All else is allowed, also outside ASCII.

An *IP address* is the text of an IPv4 address (four decimal numbers up to 255 without leading zeros) or of an
IPv6 address (RFC 4291, without a zone).
"""

from __future__ import annotations

from typing import Final

from tidelog.program.library.signatures import Kind, StandardFunction, function

__all__ = ["WEB"]

_HASHES = (
    function(
        "sha256(x: T) -> bytes",
        "The SHA-256 digest of bytes, or of a string in UTF-8.",
        {
            'hex(sha256(""))': '"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"',
            'sha256(x"61")': 'x"ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"',
        },
        Kind.TEXT,
    ),
    function(
        "sha1(x: T) -> bytes",
        "The SHA-1 digest of bytes, or of a string in UTF-8. Not for security.",
        {
            'hex(sha1(""))': '"da39a3ee5e6b4b0d3255bfef95601890afd80709"',
            'sha1(x"61")': 'x"86f7e437faa5a7fce15d1ddcb9eaeaea377667b8"',
        },
        Kind.TEXT,
    ),
    function(
        "md5(x: T) -> bytes",
        "The MD5 digest of bytes, or of a string in UTF-8. Not for security.",
        {
            'hex(md5(""))': '"d41d8cd98f00b204e9800998ecf8427e"',
            'md5(x"61")': 'x"0cc175b9c0f1b6a831c399e269772661"',
        },
        Kind.TEXT,
    ),
    function(
        "crc32(x: T) -> bit<32>",
        "The CRC-32 checksum, as in zip and gzip, of bytes, or of a string in UTF-8.",
        {'crc32("123456789")': "3421780262", 'crc32(x"")': "0"},
        Kind.TEXT,
    ),
    function(
        "xxhash64(x: T) -> bit<64>",
        "The XXH64 hash with seed 0 of bytes, or of a string in UTF-8.",
        {
            'xxhash64("")': "17241709254077376921",
            'xxhash64("abc")': "4952883123889572249",
            'xxhash64("Nobody inspects the spammish repetition")': "18144624926692707313",
        },
        Kind.TEXT,
    ),
)

_DNS: Final = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"  # the namespace of domain names

_ENCODINGS = (
    function(
        "base64_encode(x: T) -> string",
        "Bytes, or a string in UTF-8, in Base64 with padding (RFC 4648). Fails if the result exceeds "
        "16,777,216 code points.",
        {
            'base64_encode("naïve")': '"bmHDr3Zl"',
            'base64_encode(x"fbff")': '"+/8="',
            'base64_encode("")': '""',
        },
        Kind.TEXT,
    ),
    function(
        "base64_decode(s: string) -> bytes",
        "The bytes that `base64_encode` writes as `s`. Fails for any other string.",
        {
            'base64_decode("+/8=")': 'x"fbff"',
            'base64_decode("")': 'x""',
            'base64_decode("+/8")': None,
            'base64_decode("+/9=")': None,
        },
    ),
    function(
        "base64url_encode(x: T) -> string",
        "Bytes, or a string in UTF-8, in Base64 for URLs: with `-` and `_`, without padding. Fails if the "
        "result exceeds 16,777,216 code points.",
        {'base64url_encode(x"fbff")': '"-_8"', 'base64url_encode("")': '""'},
        Kind.TEXT,
    ),
    function(
        "base64url_decode(s: string) -> bytes",
        "The bytes that `base64url_encode` writes as `s`; padding is allowed. Fails for any other string.",
        {
            'base64url_decode("-_8")': 'x"fbff"',
            'base64url_decode("-_8=")': 'x"fbff"',
            'base64url_decode("+/8=")': None,
        },
    ),
    function(
        "url_encode(s: string) -> string",
        "`s` with every byte of its UTF-8 percent-encoded, except letters, digits and `-._~` of ASCII. Fails "
        "if the result is longer than `s` and exceeds 16,777,216 code points.",
        {'url_encode("a b/ï")': '"a%20b%2F%C3%AF"', 'url_encode("a-z._~")': '"a-z._~"'},
    ),
    function(
        "url_decode(s: string) -> string",
        "`s` with every percent-encoded byte decoded; `+` stays as it is. Fails if a `%` is not followed by "
        "two hexadecimal digits, or the bytes are not UTF-8.",
        {
            'url_decode("a%20b%2f%C3%AF+")': '"a b/ï+"',
            'url_decode("ï")': '"ï"',
            'url_decode("%2")': None,
            'url_decode("%ff")': None,
        },
    ),
    function(
        "is_uuid(s: string) -> bool",
        "Whether `s` is a UUID: 8, 4, 4, 4 and 12 hexadecimal digits, with hyphens between.",
        {
            'is_uuid("6ba7b810-9dad-11d1-80b4-00C04FD430C8")': "true",
            'is_uuid("6ba7b8109dad11d180b400c04fd430c8")': "false",
        },
    ),
    function(
        "uuid5(namespace: string, name: string) -> string",
        "The UUID of a name in a namespace by SHA-1 (version 5), in lower case. Fails if `namespace` is not "
        "a UUID.",
        {
            f'uuid5("{_DNS}", "python.org")': '"886313e1-3b8a-5372-9b90-0c9aee199e5d"',
            f'is_uuid(uuid5("{_DNS}", ""))': "true",
            'uuid5("dns", "python.org")': None,
        },
    ),
)

_URLS = (
    function(
        "url_scheme(s: string) -> option<string>",
        "The scheme of a URL, in lower case; `none` if `s` is not a URL.",
        {
            'url_scheme("HTTPS://example.org/")': 'some("https")',
            'url_scheme("mailto:ada@example.org")': 'some("mailto")',
            'url_scheme("//example.org/")': "none",
            'url_scheme("a b:c")': "none",
        },
    ),
    function(
        "url_host(s: string) -> option<string>",
        "The host of a URL, with ASCII letters in lower case and without brackets; `none` if it has none, or "
        "`s` is not a URL.",
        {
            'url_host("https://ada@Example.org:8080/x")': 'some("example.org")',
            'url_host("http://[::1]/")': 'some("::1")',
            'url_host("file:///etc/hosts")': "none",
            'url_host("http://a:b/")': "none",
        },
    ),
    function(
        "url_port(s: string) -> option<int>",
        "The port that a URL names; `none` if it names none, or `s` is not a URL.",
        {
            'url_port("https://example.org:8080/x")': "some(8080)",
            'url_port("https://example.org/x")': "none",
            'url_port("https://example.org:65536/x")': "none",
        },
    ),
    function(
        "url_path(s: string) -> option<string>",
        "The path of a URL, as written; `none` if `s` is not a URL.",
        {
            'url_path("https://example.org/a%20b/?q#f")': 'some("/a%20b/")',
            'url_path("https://example.org")': 'some("")',
            'url_path("mailto:ada@example.org")': 'some("ada@example.org")',
            'url_path("/a")': "none",
        },
    ),
    function(
        "url_query(s: string) -> option<string>",
        "What is between the first `?` of a URL and its fragment, as written; `none` if there is no `?`, or "
        "`s` is not a URL.",
        {
            'url_query("https://example.org/?a=1&b=%20#c")': 'some("a=1&b=%20")',
            'url_query("https://example.org/?")': 'some("")',
            'url_query("https://example.org/#?")': "none",
        },
    ),
    function(
        "url_param(s: string, name: string) -> option<string>",
        "The value of the first parameter of this name in the query of a URL; `none` if there is none. As in "
        'HTML forms, `&` separates parameters, `+` is a space, a parameter without `=` has the value `""`, '
        "a `%` without two hexadecimal digits stays, and bytes that are not UTF-8 become U+FFFD.",
        {
            'url_param("https://example.org/?q=a+b%C3%AF&q=c", "q")': 'some("a bï")',
            'url_param("https://example.org/?q", "q")': 'some("")',
            'url_param("https://example.org/?q=1", "r")': "none",
        },
    ),
    function(
        "url_fragment(s: string) -> option<string>",
        "What follows the first `#` of a URL, as written; `none` if there is no `#`, or `s` is not a URL.",
        {
            'url_fragment("https://example.org/#a?b")': 'some("a?b")',
            'url_fragment("https://example.org/#")': 'some("")',
            'url_fragment("https://example.org/")': "none",
        },
    ),
)

_ADDRESSES = (
    function(
        "ip_is_valid(s: string) -> bool",
        "Whether `s` is an IPv4 or IPv6 address: four decimal numbers without leading zeros, or the forms of "
        "RFC 4291 without a zone.",
        {
            'ip_is_valid("192.168.0.1")': "true",
            'ip_is_valid("::ffff:1.2.3.4")': "true",
            'ip_is_valid("192.168.0.01")': "false",
            'ip_is_valid("fe80::1%eth0")': "false",
        },
    ),
    function(
        "ip_version(s: string) -> int",
        "4 or 6. Fails if `s` is not an IP address.",
        {'ip_version("192.168.0.1")': "4", 'ip_version("::1")': "6", 'ip_version("")': None},
    ),
    function(
        "ipv4_to_int(s: string) -> bit<32>",
        "An IPv4 address as a number. Fails for any other string.",
        {
            'ipv4_to_int("192.168.0.1")': "3232235521",
            'ipv4_to_int("0.0.0.0")': "0",
            'ipv4_to_int("::1")': None,
        },
    ),
    function(
        "ipv4_from_int(n: bit<32>) -> string",
        "The IPv4 address of a number.",
        {"ipv4_from_int(3232235521)": '"192.168.0.1"', "ipv4_from_int(0)": '"0.0.0.0"'},
    ),
    function(
        "ipv6_to_int(s: string) -> bit<128>",
        "An IPv6 address as a number. Fails for any other string.",
        {
            'ipv6_to_int("::1")': "1",
            'ipv6_to_int("::ffff:1.2.3.4")': "281470698652420",
            'ipv6_to_int("1.2.3.4")': None,
        },
    ),
    function(
        "ipv6_from_int(n: bit<128>) -> string",
        "The IPv6 address of a number: hexadecimal in lower case, with `::` for the first of the longest "
        "runs of two or more zeros.",
        {
            "ipv6_from_int(1)": '"::1"',
            "ipv6_from_int(0)": '"::"',
            'ipv6_from_int(ipv6_to_int("2001:DB8:0:0:1:0:0:1"))': '"2001:db8::1:0:0:1"',
        },
    ),
    function(
        "ip_in_subnet(ip: string, subnet: string) -> bool",
        "Whether an IP address is in a subnet, written as an address, `/` and the number of bits that must "
        "agree. An IPv4 address is in no IPv6 subnet, and vice versa. Fails if either is invalid.",
        {
            'ip_in_subnet("10.1.2.3", "10.0.0.0/8")': "true",
            'ip_in_subnet("11.1.2.3", "10.0.0.0/8")': "false",
            'ip_in_subnet("::1", "0.0.0.0/0")': "false",
            'ip_in_subnet("10.1.2.3", "10.0.0.0/33")': None,
            'ip_in_subnet("10.1.2.3", "10.0.0.0")': None,
        },
    ),
    function(
        "ip_is_private(s: string) -> bool",
        "Whether an IP address is in 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 (RFC 1918) or fc00::/7 "
        "(RFC 4193). Fails if `s` is not an IP address.",
        {
            'ip_is_private("172.31.255.255")': "true",
            'ip_is_private("fd00::1")': "true",
            'ip_is_private("127.0.0.1")': "false",
            'ip_is_private("home")': None,
        },
    ),
)

WEB: Final[dict[str, tuple[StandardFunction, ...]]] = {
    "Hashes": _HASHES,
    "Encodings": _ENCODINGS,
    "URLs": _URLS,
    "IP addresses": _ADDRESSES,
}
