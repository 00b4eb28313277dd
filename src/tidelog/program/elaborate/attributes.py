"""The attributes of a relation: `file`, `delimiter` and `header`."""

from __future__ import annotations

from tidelog.program.declared import FileOptions
from tidelog.program.elaborate.problems import Problems
from tidelog.syntax import tree

__all__ = ["file_options"]

_NAMES = ("file", "delimiter", "header")


def file_options(item: tree.Relation, problems: Problems) -> FileOptions:
    """The options that the attributes of a relation give; what is wrong with them is reported."""
    found: dict[str, tree.Attribute] = {}
    for attribute in item.attributes:
        problem = _problem(attribute, found)
        if problem is None:
            found[attribute.name] = attribute
        else:
            hint = problems.suggest(attribute.name, _NAMES) if attribute.name not in _NAMES else None
            problems.report("E125", attribute.span, problem, hint=hint)
    if item.attributes and not item.role:
        message = f"`{item.name}` has no file: it is neither an input nor an output"
        problems.report("E125", item.name_span, message)
    _expect_csv(found, problems)
    values = {name: attribute.value.value for name, attribute in found.items()}
    return FileOptions(**values)  # type: ignore[arg-type]


def _problem(attribute: tree.Attribute, before: dict[str, tree.Attribute]) -> str | None:
    """What is wrong with an attribute, if anything."""
    name, value = attribute.name, attribute.value.value
    if name in before:
        return f"the attribute `{name}` is given twice"
    match name:
        case "file":
            is_path = isinstance(value, str) and value.strip() and "\0" not in value
            return None if is_path else "`file` must be the path of a file, as text"
        case "delimiter":
            is_one = isinstance(value, str) and len(value) == 1 and value.isascii() and value not in '"\r\n\0'
            return None if is_one else '`delimiter` must be one ASCII character, as text: `delimiter = ";"`'
        case "header":
            return None if isinstance(value, bool) else "`header` must be `true` or `false`"
        case _:
            return f"unknown attribute `{name}`; the attributes are {', '.join(_NAMES)}"


def _expect_csv(found: dict[str, tree.Attribute], problems: Problems) -> None:
    """Report options of CSV for a file of another format."""
    file = found.get("file")
    if file is None or str(file.value.value).lower().removesuffix(".gz").endswith(".csv"):
        return
    for name in ("delimiter", "header"):
        if name in found:
            problems.report("E125", found[name].span, f"`{name}` applies to CSV files only")
