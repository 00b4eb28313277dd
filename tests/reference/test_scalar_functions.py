"""Standard functions on text, numbers, the calendar and the web: what the reference gives on odd input."""

from __future__ import annotations

import pytest

from reference.scalar_cases import SCALAR_CASES, call, case_id
from tidelog.program.library.calendar_functions import CALENDARS
from tidelog.program.library.numeric_functions import NUMERICS
from tidelog.program.library.text_functions import TEXTS
from tidelog.program.library.web_functions import WEB
from tidelog.reference.evaluate import Failure, evaluate


@pytest.mark.parametrize(("name", "arguments", "result"), SCALAR_CASES, ids=case_id)
def test_a_function_gives_what_is_promised(name: str, arguments: tuple[object, ...], result: object) -> None:
    found = evaluate(call(name, *arguments), {}, {})
    if isinstance(result, Failure):
        assert isinstance(found, Failure)
        assert found.reason
    else:
        assert found is result or (found == result and type(found) is type(result))


def test_every_function_has_a_case() -> None:
    tables = [TEXTS, NUMERICS, CALENDARS, WEB]
    names = {f.name for table in tables for group in table.values() for f in group}
    assert {name for name, _, _ in SCALAR_CASES} == names
