"""Standard functions on text, numbers, the calendar and the web: the engine against cases and Python."""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import json
import math
import uuid
import zlib
from collections.abc import Sequence
from datetime import UTC, date, datetime
from functools import cache
from urllib import parse

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.scalar_cases import SCALAR_CASES, call, case_id
from tidelog.data import types
from tidelog.data.values import NAN, Value
from tidelog.engine.local.codes.codec import Codec
from tidelog.engine.local.expressions.evaluator import Evaluator
from tidelog.program.typed import Call, Constant
from tidelog.reference.evaluate import Failure, evaluate

INTS = st.integers(-(2**63), 2**63 - 1)


def run(name: str, *arguments: object) -> Value | Failure:
    return computed(call(name, *arguments))


def computed(expr: Call) -> Value | Failure:
    codec = Codec()
    outcome = Evaluator(codec, {}).evaluate(expr, {}, 1)
    if outcome.failures is not None:
        return Failure(outcome.reason(int(outcome.failures[0])))
    return codec.decode(expr.type, int(outcome.codes[0]))


@pytest.mark.parametrize(("name", "arguments", "result"), SCALAR_CASES, ids=case_id)
def test_a_function_gives_what_is_promised(name: str, arguments: tuple[object, ...], result: object) -> None:
    found = run(name, *arguments)
    if isinstance(result, Failure):
        assert isinstance(found, Failure)
        assert found.reason
    else:
        assert found is result or (found == result and type(found) is type(result))


# -- against the reference

_NAMES = st.sampled_from(["a", "b", "", "é", 'x "y"', "a.b", "$", "0"])
_NUMBERS = st.sampled_from(
    ["0", "-0", "7", "1.50", "1e3", "1E400", "-0.0", str(2**63), str(-(2**63)), "9" * 400]
)
_STRINGS = st.sampled_from(['"x"', '"\\n\\u00e9"', '"\\ud800"', '"\\/"', '""'])
_LEAVES = _NUMBERS | _STRINGS | st.sampled_from(["null", "true", "false", "NaN", "nul"])


def _lists(items: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(items, max_size=3).map(lambda found: f"[ {', '.join(found)}]")


def _objects(items: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    entries = st.tuples(_NAMES.map(json.dumps), items).map(": ".join)
    return st.lists(entries, max_size=3).map(lambda found: f"{{{','.join(found)} }}")


_DOCUMENTS = st.recursive(_LEAVES, lambda inner: _lists(inner) | _objects(inner), max_leaves=8) | st.text()
_STEPS = [
    "",
    "$",
    ".",
    "a",
    ".a",
    ".b",
    "[0]",
    "[1]",
    "[-1]",
    '["é"]',
    '["a.b"]',
    '["x \\"y\\""]',
    "$.",
    ".$",
    '"',
    " ",
]
_PATHS = st.lists(st.sampled_from(_STEPS), max_size=3).map("".join)
_READERS = ["get", "type", "string", "int", "double", "bool", "items", "entries"]


@settings(max_examples=300)
@given(_DOCUMENTS, _PATHS, st.sampled_from(_READERS))
def test_json_is_read_as_by_the_reference(document: str, path: str, reader: str) -> None:
    expr = call(f"json_{reader}", document, path)
    found, wanted = computed(expr), evaluate(expr, {}, {})
    assert isinstance(found, Failure) == isinstance(wanted, Failure)
    assert isinstance(found, Failure) or found == wanted, (document, path, reader)
    assert run("is_json", document) == evaluate(call("is_json", document), {}, {})


def test_json_may_nest_deeply() -> None:
    deep = "[" * 50_000 + "1" + "]" * 50_000
    assert run("is_json", deep) is True
    assert run("json_get", deep, "[0][0]") == deep[2:-2]
    assert run("json_int", deep, "[0]" * 50_000) == 1


# -- against Python's own implementations


@given(st.text() | st.binary())
def test_hashes(x: str | bytes) -> None:
    data = x.encode() if isinstance(x, str) else x
    assert run("sha256", x) == hashlib.sha256(data).digest()
    assert run("sha1", x) == hashlib.sha1(data).digest()
    assert run("md5", x) == hashlib.md5(data).digest()
    assert run("crc32", x) == zlib.crc32(data)


@given(st.text() | st.binary())
def test_encodings_and_their_inverses(x: str | bytes) -> None:
    data = x.encode() if isinstance(x, str) else x
    plain, safe = base64.b64encode(data).decode(), base64.urlsafe_b64encode(data).decode()
    assert run("base64_encode", x) == plain
    assert run("base64_decode", plain) == data
    assert run("base64url_encode", x) == safe.rstrip("=")
    assert run("base64url_decode", safe) == run("base64url_decode", safe.rstrip("=")) == data


@given(st.text())
def test_percent_encoding_and_its_inverse(s: str) -> None:
    assert run("url_encode", s) == parse.quote(s, safe="")
    assert run("url_decode", parse.quote(s, safe="")) == s


@given(st.uuids(), st.text())
def test_uuids_of_names(namespace: uuid.UUID, name: str) -> None:
    assert run("uuid5", str(namespace), name) == str(uuid.uuid5(namespace, name))
    assert run("is_uuid", str(namespace)) is True


@given(st.integers(0, 2**32 - 1), st.integers(0, 32))
def test_ipv4_addresses(n: int, length: int) -> None:
    address = ipaddress.IPv4Address(n)
    assert run("ipv4_from_int", n) == str(address)
    assert run("ipv4_to_int", str(address)) == n
    network = ipaddress.ip_network((n, length), strict=False)
    assert run("ip_in_subnet", str(address), str(network)) is True
    outside = ipaddress.IPv4Address(n ^ 2**31)
    assert run("ip_in_subnet", str(outside), str(network)) is (length == 0)


@given(st.integers(0, 2**128 - 1) | st.lists(st.sampled_from([0, 0, 1, 0xFFFF]), min_size=8, max_size=8))
def test_ipv6_addresses(number: int | list[int]) -> None:
    n = number if isinstance(number, int) else sum(g << 16 * i for i, g in enumerate(number))
    text = run("ipv6_from_int", n)
    assert isinstance(text, str)
    assert int(ipaddress.IPv6Address(text)) == n
    if ipaddress.IPv6Address(n).ipv4_mapped is None:  # Python writes these differently in some versions
        assert text == ipaddress.IPv6Address(n).compressed
    assert run("ipv6_to_int", text) == run("ipv6_to_int", text.upper()) == n


@given(st.from_regex(r"[0-9a-f:.]{0,20}", fullmatch=True))
def test_texts_that_may_be_addresses(s: str) -> None:
    try:
        expected = ipaddress.ip_address(s).version
    except ValueError:
        expected = None
    assert run("ip_is_valid", s) is (expected is not None)
    assert run("ip_version", s) == expected if expected else isinstance(run("ip_version", s), Failure)


PIECES = st.text(st.sampled_from("ab1é%&=+;,.~-"), max_size=4)


@given(
    st.sampled_from(["http", "HTTPS", "a+b"]),
    st.sampled_from(["a", "A.example", "[::1]", "1.2.3.4", "é"]),
    st.none() | st.integers(0, 65535),
    *[PIECES] * 3,
)
def test_parts_of_urls(
    scheme: str, host: str, port: int | None, path: str, query: str, fragment: str
) -> None:
    at = f"{host}:{port}" if port is not None else host
    url = f"{scheme}://user@{at}/{path}?{query}#{fragment}"
    parts = parse.urlsplit(url)
    assert run("url_scheme", url) == parts.scheme
    assert run("url_host", url) == parts.hostname
    assert run("url_port", url) == parts.port
    assert run("url_path", url) == parts.path
    assert run("url_query", url) == parts.query == query
    assert run("url_fragment", url) == parts.fragment == fragment
    for name, values in parse.parse_qs(query, keep_blank_values=True).items():
        assert run("url_param", url, name) == values[0]


@given(INTS, INTS)
def test_whole_numbers(a: int, b: int) -> None:
    expected = {"gcd": math.gcd(a, b), "lcm": math.lcm(a, b)}
    if b:
        expected |= {"mod_floor": a % b, "div_floor": a // b}
    for name, number in expected.items():
        found = run(name, a, b)
        assert found == number if number < 2**63 else isinstance(found, Failure)


@given(st.dates())
def test_the_calendar(d: date) -> None:
    moment = datetime(d.year, d.month, d.day, 23, 59, 59, 999_999, tzinfo=UTC)
    assert (run("week_year", d), run("week", d), run("weekday", d)) == d.isocalendar()
    assert (run("week_year", moment), run("week", moment)) == d.isocalendar()[:2]
    assert run("day_of_year", d) == run("day_of_year", moment) == d.timetuple().tm_yday
    assert run("format_date", d, "%V %u %j %m %d") == d.strftime("%V %u %j %m %d")
    assert run("format_date", d, "%Y-%m-%d") == d.isoformat()
    assert run("format_date", moment, "%Y-%m-%dT%H:%M:%S.%fZ") == d.isoformat() + "T23:59:59.999999Z"
    seconds = run("epoch_seconds", moment)
    assert run("from_epoch_seconds", seconds) == moment.replace(microsecond=0)


@cache
def _distance(a: str, b: str) -> int:
    if not a or not b:
        return len(a or b)
    if a[0] == b[0]:
        return _distance(a[1:], b[1:])
    return 1 + min(_distance(a[1:], b), _distance(a, b[1:]), _distance(a[1:], b[1:]))


@given(st.text(st.sampled_from("abé"), max_size=8), st.text(st.sampled_from("abé"), max_size=8))
def test_edit_distances(a: str, b: str) -> None:
    assert run("levenshtein", a, b) == run("levenshtein", b, a) == _distance(a, b)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_cube_root_is_near_and_that_of_a_cube_is_exact(x: float) -> None:
    root = run("cbrt", x)
    assert isinstance(root, float)
    assert math.isclose(root, math.cbrt(x), rel_tol=1e-15)
    small = float(round(math.fmod(x, 200_000)))
    assert run("cbrt", small**3) == small + 0.0


@given(st.floats())
def test_real_functions_are_those_of_python_or_fail(x: float) -> None:
    names = "log10 log2 radians degrees sin cos tan asin acos atan sinh cosh tanh".split()
    for name in names:
        try:
            expected = getattr(math, name)(x)
        except (ValueError, OverflowError):
            expected = math.inf
        found = run(name, x)
        if math.isinf(expected) and (math.isfinite(x) or isinstance(found, Failure)):
            assert isinstance(found, Failure)
        else:
            assert (found is NAN) if math.isnan(expected) else found == expected


# -- against the reference, on texts near the valid ones

NEAR: Sequence[tuple[str, str]] = (
    ("base64_decode", "AZaz09+/="),
    ("base64url_decode", "AZaz09-_+="),
    ("url_decode", "%2Cc3Aaé+"),
    ("url_host", "a:/@[]?#.0\\"),
    ("url_port", "a:/@[]?#01"),
    ("url_path", "a:/?# \x7f"),
    ("ip_is_valid", "0:1.f"),
    ("parse_int", "01-+_e."),
    ("parse_double", "01-+_e."),
    ("parse_date", "0129-"),
    ("parse_timestamp", "0123-:TZ.+"),
)


@given(st.data())
def test_texts_near_the_valid_ones_agree_with_the_reference(data: st.DataObject) -> None:
    name, letters = data.draw(st.sampled_from(NEAR))
    prefix = data.draw(st.sampled_from(["", "a:", "a://", "2024-02-29", "1:2:3:4:5:6"]))
    expr = call(name, prefix + data.draw(st.text(st.sampled_from(letters), max_size=12)))
    found, wanted = computed(expr), evaluate(expr, {}, {})
    assert type(found) is type(wanted)
    assert isinstance(found, Failure) or found is wanted or found == wanted


@given(st.binary(max_size=200))
def test_xxhash64_agrees_with_the_reference(data: bytes) -> None:
    expr = call("xxhash64", data)
    assert computed(expr) == evaluate(expr, {}, {})


@pytest.mark.parametrize("width", [1, 8, 64, 128])
def test_one_bits_are_counted_in_the_width_of_the_type(width: int) -> None:
    minus_one = Constant(-1, types.Signed(width))
    assert computed(Call("bit_count", (minus_one,), types.INT)) == width
