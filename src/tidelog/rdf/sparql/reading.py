"""SPARQL text to algebra, by rdflib's parser; its expressions become the lists of `expressions`.

Only the parser and the translation to algebra are rdflib's. What is not supported is refused here and in
`translation`, by the name that SPARQL has for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from threading import Lock
from typing import Any, Final

from pyoxigraph import BlankNode as OxigraphBlank
from pyoxigraph import Literal as OxigraphLiteral
from pyoxigraph import NamedNode

from tidelog.errors import SessionError
from tidelog.rdf.sparql.expressions import FUNCTIONS

__all__ = ["expression_of", "parsed", "term_of", "unsupported", "variables_of"]

_PARSING: Final = Lock()  # rdflib's setting about literals belongs to the process
_BUILT_IN: Final = "Builtin_"
_NAMES: Final = {
    "Builtin_EXISTS": "EXISTS",
    "Builtin_NOTEXISTS": "NOT EXISTS",
    "Function": "functions named by IRIs",
    "Graph": "GRAPH",
    "ServiceGraphPattern": "SERVICE",
    "ConstructQuery": "CONSTRUCT",
    "DescribeQuery": "DESCRIBE",
}


def unsupported(name: str) -> SessionError:
    shown = _NAMES.get(name, name.removeprefix(_BUILT_IN))
    return SessionError(f"SPARQL: {shown} is not supported; see docs/rdf.md for what is")


def parsed(text: str) -> Any:
    """The query as rdflib's algebra. Raises SessionError."""
    try:
        import rdflib
        from rdflib.plugins.sparql.algebra import translateQuery
        from rdflib.plugins.sparql.parser import parseQuery
    except ImportError:
        raise SessionError("SPARQL needs the package rdflib: pip install 'tidelog[sparql]'") from None
    with _PARSING:
        before = rdflib.NORMALIZE_LITERALS
        rdflib.NORMALIZE_LITERALS = False  # "01" is another term than "1"
        try:
            query = translateQuery(parseQuery(text)).algebra
        except RecursionError:
            raise SessionError("SPARQL: the query is nested too deeply") from None
        except Exception as error:  # the parser raises exceptions of many kinds
            raise SessionError(f"SPARQL: {str(error) or type(error).__name__}") from None
        finally:
            rdflib.NORMALIZE_LITERALS = before
    if query.name not in ("SelectQuery", "AskQuery"):
        raise unsupported(query.name)
    if query.datasetClause:
        raise unsupported("FROM")
    return query


def term_of(term: Any) -> str:
    """A term in N-Triples syntax, as in our graphs."""
    from rdflib.term import BNode, Literal, URIRef

    if isinstance(term, URIRef):
        return str(NamedNode(str(term)))
    if isinstance(term, BNode):
        return str(OxigraphBlank(str(term)))
    if isinstance(term, Literal):
        if term.language:
            return str(OxigraphLiteral(str(term), language=term.language.lower()))
        if term.datatype is not None:
            return str(OxigraphLiteral(str(term), datatype=NamedNode(str(term.datatype))))
        return str(OxigraphLiteral(str(term)))
    raise unsupported(type(term).__name__)


def expression_of(node: Any) -> Any:
    """An expression as lists. Raises SessionError for what has no translation."""
    from rdflib.plugins.sparql.parserutils import CompValue
    from rdflib.term import Identifier, Variable

    if isinstance(node, Variable):
        return ["var", str(node)]
    if isinstance(node, Identifier):
        return ["term", term_of(node)]
    if not isinstance(node, CompValue):
        raise unsupported(type(node).__name__)
    match node.name:
        case "RelationalExpression":
            return _relation(node)
        case "ConditionalAndExpression":
            return ["and", expression_of(node.expr), *map(expression_of, node.other)]
        case "ConditionalOrExpression":
            return ["or", expression_of(node.expr), *map(expression_of, node.other)]
        case "UnaryNot":
            return ["not", expression_of(node.expr)]
        case "UnaryMinus":
            return ["negative", expression_of(node.expr)]
        case "UnaryPlus":
            return [
                "-",
                expression_of(node.expr),
                ["term", '"0"^^<http://www.w3.org/2001/XMLSchema#integer>'],
            ]
        case "AdditiveExpression" | "MultiplicativeExpression":
            return _row(node)
        case _:
            return _built_in(node)


def _relation(node: Any) -> Any:
    op = str(node.op)
    if op in ("IN", "NOT IN"):
        found = ["in", expression_of(node.expr), *map(expression_of, _listed(node.other))]
        return ["not", found] if op == "NOT IN" else found
    return [op, expression_of(node.expr), expression_of(node.other)]


def _row(node: Any) -> Any:
    """`a + b - c`, from left to right."""
    found = expression_of(node.expr)
    for op, other in zip(node.op, node.other, strict=True):
        found = [str(op), found, expression_of(other)]
    return found


def _built_in(node: Any) -> Any:
    name = node.name.removeprefix(_BUILT_IN).lower()
    if not node.name.startswith(_BUILT_IN) or name not in (*FUNCTIONS, "bound", "coalesce", "if"):
        raise unsupported(node.name)
    if name == "coalesce":
        return ["coalesce", *map(expression_of, node.arg)]
    if name == "regex":
        flags = [node.flags] if node.flags is not None else []
        return ["regex", *map(expression_of, (node.text, node.pattern, *flags))]
    args = [node[key] for key in ("arg", "arg1", "arg2", "arg3") if key in node]
    return [name, *map(expression_of, args)]


def _listed(values: Any) -> list[Any]:
    from rdflib.term import URIRef

    if isinstance(values, list):
        return values
    return [] if isinstance(values, URIRef) else [values]  # rdflib reads `IN ()` as rdf:nil


def variables_of(expression: Any) -> Iterator[str]:
    """The variables of an expression."""
    if expression[0] == "var":
        yield expression[1]
    elif expression[0] != "term":
        for arg in expression[1:]:
            yield from variables_of(arg)
