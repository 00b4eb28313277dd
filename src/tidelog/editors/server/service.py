"""The features of the language server, each as one request of the protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, Protocol

from lsprotocol import types as lsp
from pygls import uris
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

import tidelog
from tidelog.editors.about import about
from tidelog.editors.names.document import Document, Place
from tidelog.editors.names.occurrences import Role
from tidelog.editors.names.renaming import Refused, renamed
from tidelog.editors.names.symbols import declarations, references, symbol_at
from tidelog.editors.names.workspace import Workspace
from tidelog.editors.server.checking import Checked, Checker
from tidelog.editors.server.positions import offset_at, range_of, span_range
from tidelog.editors.suggesting import suggested
from tidelog.errors import Diagnostic, ProgramError, Severity
from tidelog.program.model import Program
from tidelog.syntax import tree
from tidelog.syntax.parser import parse
from tidelog.syntax.printer import print_program

__all__ = ["Service", "server"]

_FAILED: Final = -32803  # the protocol's code for a request that is valid and cannot be carried out
_KINDS: Final = {
    "aggregate": lsp.CompletionItemKind.Function,
    "column": lsp.CompletionItemKind.Field,
    "command": lsp.CompletionItemKind.Keyword,
    "constructor": lsp.CompletionItemKind.EnumMember,
    "field": lsp.CompletionItemKind.Field,
    "function": lsp.CompletionItemKind.Function,
    "keyword": lsp.CompletionItemKind.Keyword,
    "type": lsp.CompletionItemKind.Class,
    "variable": lsp.CompletionItemKind.Variable,
}
_SYMBOLS: Final = {
    Role.RELATION: lsp.SymbolKind.Struct,
    Role.TYPE: lsp.SymbolKind.Class,
    Role.CONSTRUCTOR: lsp.SymbolKind.EnumMember,
    Role.FUNCTION: lsp.SymbolKind.Function,
    Role.INDEX: lsp.SymbolKind.Key,
}


class _At(Protocol):
    """A request about a position in a document."""

    text_document: lsp.TextDocumentIdentifier
    position: lsp.Position


class Service:
    """What the server knows: documents by their addresses, and the programs of those that were checked."""

    def __init__(
        self, wire: LanguageServer, search: Iterable[Path], functions: Iterable[Callable[..., object]]
    ) -> None:
        self.wire = wire
        self.workspace = Workspace((), search, functions)
        self.checker = Checker(self.workspace, self._publish)
        self.programs: dict[str, Program] = {}
        self._documents: dict[str, Document] = {}
        self._addresses: dict[str, str] = {}

    @property
    def units(self) -> lsp.PositionEncodingKind | str:
        return self.wire.workspace.position_encoding or lsp.PositionEncodingKind.Utf16

    # -- documents

    def begin(self, _: object) -> None:
        """Take over the folders of the editor."""
        paths = (uris.to_fs_path(folder.uri) for folder in self.wire.workspace.folders.values())
        root = self.wire.workspace.root_path
        folders = [Path(p) for p in paths if p] or ([Path(root)] if root else [])
        self.workspace.folders = [folder.resolve() for folder in folders]
        self.checker.schedule_all()

    def recheck(self, _: object) -> None:
        self.checker.schedule_all()

    def end(self, _: object) -> None:
        self.checker.stop()

    def open(self, params: lsp.DidOpenTextDocumentParams) -> None:
        item = params.text_document
        path = uris.to_fs_path(item.uri) if item.uri.startswith("file:") else None
        document = self.workspace.put(item.uri, item.text, Path(path) if path else None, item.version)
        self._documents[item.uri] = document
        self._addresses[document.name] = item.uri
        self.checker.schedule(document)

    def change(self, params: lsp.DidChangeTextDocumentParams) -> None:
        document = self._document(params.text_document.uri)
        if document is None:
            return
        for change in params.content_changes:
            if isinstance(change, lsp.TextDocumentContentChangePartial):
                start = offset_at(document.source, change.range.start, self.units)
                end = offset_at(document.source, change.range.end, self.units)
                document.edit(min(start, end), max(start, end), change.text)
            else:
                document.replace(change.text)
        document.version = params.text_document.version
        self.checker.schedule(document)

    def close(self, params: lsp.DidCloseTextDocumentParams) -> None:
        document = self._documents.pop(params.text_document.uri, None)
        if document is not None:
            self.workspace.close(document)
            self.programs.pop(document.name, None)
            self.checker.forget(document)
            self._send(document, [])
            self.checker.schedule_all()

    def _document(self, uri: str) -> Document | None:
        return self._documents.get(uri)

    def _address(self, document: Document) -> str:
        known = self._addresses.get(document.name)
        return known or uris.from_fs_path(document.name) or document.name

    def _place(self, params: _At) -> Place | None:
        document = self._document(params.text_document.uri)
        if document is None:
            return None
        return document.name_at(offset_at(document.source, params.position, self.units))

    # -- diagnostics

    def _publish(self, document: Document, checked: Checked) -> None:
        self.programs[document.name] = checked.program
        own = [d for d in checked.diagnostics if d.span.source.name == document.name]
        others = [d for d in checked.diagnostics if d.span.source.name != document.name and d.span.is_known]
        nowhere = [d for d in checked.diagnostics if not d.span.is_known]
        found = [self._diagnostic(d, document) for d in (*own, *nowhere)]
        found += [self._of_module(document, d) for d in others if d.severity is Severity.ERROR]
        self._send(document, found)

    def _send(self, document: Document, found: list[lsp.Diagnostic]) -> None:
        sent = lsp.PublishDiagnosticsParams(self._address(document), found, document.version)
        self.wire.text_document_publish_diagnostics(sent)

    def _diagnostic(self, found: Diagnostic, document: Document) -> lsp.Diagnostic:
        is_unused = found.code in ("W001", "W004", "W005", "W007", "W010")
        return lsp.Diagnostic(
            span_range(found.span, self.units) if found.span.is_known else self._start(),
            "\n".join(t for t in (found.message, found.note, found.hint) if t),
            lsp.DiagnosticSeverity.Error
            if found.severity is Severity.ERROR
            else lsp.DiagnosticSeverity.Warning,
            found.code,
            source="tidelog",
            tags=[lsp.DiagnosticTag.Unnecessary] if is_unused else None,
        )

    def _start(self) -> lsp.Range:
        return lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0))

    def _of_module(self, document: Document, found: Diagnostic) -> lsp.Diagnostic:
        """An error in a module, at the import by which the document reaches it."""
        place = self._import_of(document, Path(found.span.source.name).resolve())
        where = range_of(document.source, *place, self.units) if place else self._start()
        address = uris.from_fs_path(str(Path(found.span.source.name).resolve())) or found.span.source.name
        location = lsp.Location(address, span_range(found.span, self.units))
        return lsp.Diagnostic(
            where,
            f"error in a module: {found.message} ({found.span!r})",
            lsp.DiagnosticSeverity.Error,
            found.code,
            source="tidelog",
            related_information=[lsp.DiagnosticRelatedInformation(location, found.message)],
        )

    def _import_of(self, document: Document, file: Path) -> tuple[int, int] | None:
        for place in document.names():
            if place.name.role is not Role.MODULE:
                break
            module = self.workspace.module(document, place.name.name)
            if module is not None and any(d.path == file for d in self.workspace.reached(module)):
                return place.name.start, place.name.end
        return None

    # -- names

    def hover(self, params: lsp.HoverParams) -> lsp.Hover | None:
        place = self._place(params)
        if place is None:
            return None
        text = about(self.workspace, place, self.programs.get(place.document.name))
        markup = lsp.MarkupContent(lsp.MarkupKind.Markdown, text) if text else None
        return lsp.Hover(markup, self._location(place).range) if markup is not None else None

    def definition(self, params: lsp.DefinitionParams) -> list[lsp.Location]:
        place = self._place(params)
        symbol = None if place is None else symbol_at(self.workspace, place)
        return [] if symbol is None else [self._location(p) for p in declarations(self.workspace, symbol)]

    def references(self, params: lsp.ReferenceParams) -> list[lsp.Location]:
        found = self._references(params)
        if not params.context.include_declaration:
            found = [p for p in found if not p.name.is_declaration]
        return [self._location(p) for p in found]

    def highlights(self, params: lsp.DocumentHighlightParams) -> list[lsp.DocumentHighlight]:
        document = self._document(params.text_document.uri)
        found = [p for p in self._references(params) if p.document is document]
        return [lsp.DocumentHighlight(self._location(p).range) for p in found]

    def _references(self, params: _At) -> list[Place]:
        place = self._place(params)
        symbol = None if place is None else symbol_at(self.workspace, place)
        return [] if symbol is None else references(self.workspace, symbol)

    def _location(self, place: Place) -> lsp.Location:
        source = place.document.source
        where = range_of(source, place.name.start, place.name.end, self.units)
        return lsp.Location(self._address(place.document), where)

    def prepare_rename(self, params: lsp.PrepareRenameParams) -> lsp.Range:
        place = self._place(params)
        if place is None or symbol_at(self.workspace, place) is None:
            raise JsonRpcException("this is not a name that can be changed here", _FAILED)
        return self._location(place).range

    def rename(self, params: lsp.RenameParams) -> lsp.WorkspaceEdit:
        place = self._place(params)
        symbol = None if place is None else symbol_at(self.workspace, place)
        if symbol is None:
            raise JsonRpcException("this is not a name that can be changed here", _FAILED)
        try:
            changes = renamed(self.workspace, symbol, params.new_name)
        except Refused as refused:
            raise JsonRpcException(str(refused), _FAILED) from None
        edits: dict[str, list[lsp.TextEdit]] = {}
        for change in changes:
            where = range_of(change.document.source, change.start, change.end, self.units)
            address = self._address(change.document)
            edits.setdefault(address, []).append(lsp.TextEdit(where, change.text))
        return lsp.WorkspaceEdit(changes=edits)

    # -- texts

    def completion(self, params: lsp.CompletionParams) -> lsp.CompletionList:
        document = self._document(params.text_document.uri)
        if document is None:
            return lsp.CompletionList(False, [])
        offset = offset_at(document.source, params.position, self.units)
        found = suggested(self.workspace, document, offset)
        items = [
            lsp.CompletionItem(
                label=s.text,
                kind=_KINDS.get(s.about, lsp.CompletionItemKind.Struct),
                detail=s.about,
                text_edit=lsp.TextEdit(
                    range_of(document.source, offset - s.length, offset, self.units), s.text
                ),
            )
            for s in found
        ]
        return lsp.CompletionList(False, items)

    def format(self, params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit]:
        """One edit: what is equal at both ends stays, and with it the cursor. A text with errors stays."""
        document = self._document(params.text_document.uri)
        if document is None:
            return []
        old = document.text
        try:
            new = print_program(parse(old, document.name))
        except ProgramError:
            return []
        if new == old:
            return []
        start = _shared(old, new)
        rest = min(len(old), len(new)) - start
        end = _shared(old[len(old) - rest :][::-1], new[len(new) - rest :][::-1])
        where = range_of(document.source, start, len(old) - end, self.units)
        return [lsp.TextEdit(where, new[start : len(new) - end])]

    def symbols(self, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        document = self._document(params.text_document.uri)
        if document is None:
            return []
        return [
            self._symbol(document, place)
            for place in document.names()
            if place.name.is_declaration and place.name.role in _SYMBOLS
        ]

    def _symbol(self, document: Document, place: Place) -> lsp.DocumentSymbol:
        block = document.blocks[place.block]
        start = document.starts[place.block]
        end = start + (block.item.span.end - block.origin if block.item is not None else block.length)
        begin = start + (block.item.span.start - block.origin if block.item is not None else 0)
        is_part = place.name.role is Role.CONSTRUCTOR
        item = block.item
        role = item.role if isinstance(item, tree.Relation) else ""
        return lsp.DocumentSymbol(
            place.name.name,
            _SYMBOLS[place.name.role],
            self._location(place).range if is_part else range_of(document.source, begin, end, self.units),
            self._location(place).range,
            detail=role or None,
        )


def _shared(one: str, other: str) -> int:
    """The length of what two texts begin with."""
    pairs = zip(one, other, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def server(search: Iterable[Path] = (), functions: Iterable[Callable[..., object]] = ()) -> LanguageServer:
    """A server that is not started yet."""
    wire = LanguageServer("tidelog", tidelog.__version__)
    service = Service(wire, search, functions)
    for feature, (method, options) in _features(service).items():
        wire.feature(feature, options)(_function(method))
    return wire


def _function(method: Callable[[Any], object]) -> Callable[[LanguageServer, Any], object]:
    """A function that calls a method: the library adds attributes to what it is given."""

    def call(_: LanguageServer, params: object) -> object:
        return method(params)

    return call


def _features(service: Service) -> dict[str, tuple[Callable[[Any], object], object]]:
    """What the server can do, with the options of each."""
    characters = lsp.CompletionOptions(trigger_characters=[".", ":", "`"])
    return {
        lsp.INITIALIZED: (service.begin, None),
        lsp.SHUTDOWN: (service.end, None),
        lsp.TEXT_DOCUMENT_COMPLETION: (service.completion, characters),
        lsp.TEXT_DOCUMENT_DEFINITION: (service.definition, None),
        lsp.TEXT_DOCUMENT_DID_CHANGE: (service.change, None),
        lsp.TEXT_DOCUMENT_DID_CLOSE: (service.close, None),
        lsp.TEXT_DOCUMENT_DID_OPEN: (service.open, None),
        lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT: (service.highlights, None),
        lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: (service.symbols, None),
        lsp.TEXT_DOCUMENT_FORMATTING: (service.format, None),
        lsp.TEXT_DOCUMENT_HOVER: (service.hover, None),
        lsp.TEXT_DOCUMENT_PREPARE_RENAME: (service.prepare_rename, None),
        lsp.TEXT_DOCUMENT_REFERENCES: (service.references, None),
        lsp.TEXT_DOCUMENT_RENAME: (service.rename, lsp.RenameOptions(prepare_provider=True)),
        lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES: (service.recheck, None),
        lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: (service.begin, None),
    }
