// As much of the API of VS Code as the extension uses, with documents that can be edited.
"use strict";

class Position {
  constructor(line, character) {
    Object.assign(this, { line, character });
  }
}

class Range {
  constructor(a, b, c, d) {
    this.start = new Position(a, b);
    this.end = new Position(c, d);
  }
}

const record = (...names) =>
  class {
    constructor(...values) {
      names.forEach((name, i) => (this[name] = values[i]));
    }
  };

class Uri {
  static parse(text) {
    return Object.assign(new Uri(), { text, fsPath: decodeURIComponent(text.replace("file://", "")) });
  }

  toString() {
    return this.text;
  }
}

class WorkspaceEdit {
  constructor() {
    this.edits = new Map();
  }

  set(uri, edits) {
    this.edits.set(uri.toString(), edits);
  }
}

class Document {
  constructor(uri, text, languageId = "tidelog") {
    Object.assign(this, { uri: Uri.parse(uri), text, languageId, version: 1 });
  }

  getText() {
    return this.text;
  }

  position(offset) {
    const before = this.text.slice(0, offset).split("\n");
    return new Position(before.length - 1, before[before.length - 1].length);
  }

  place(piece) {
    return this.position(this.text.indexOf(piece));
  }
}

function editor(folder, command) {
  const on = {};
  const event = (name) => (callback) => {
    on[name] = callback;
    return { dispose() {} };
  };
  const providers = {};
  const register = (name) => (language, provider) => {
    providers[name] = provider;
    return { dispose() {} };
  };
  const shown = { diagnostics: new Map(), warnings: [], commands: {} };
  const watcher = { onDidChange: event("change"), onDidCreate: event("create"), onDidDelete: event("delete") };
  const api = {
    Range,
    Position,
    Uri,
    WorkspaceEdit,
    Location: record("uri", "range"),
    TextEdit: record("range", "newText"),
    Hover: record("contents", "range"),
    MarkdownString: record("value"),
    Diagnostic: record("range", "message", "severity"),
    DiagnosticRelatedInformation: record("location", "message"),
    DocumentHighlight: record("range"),
    CompletionItem: record("label", "kind"),
    DocumentSymbol: record("name", "detail", "kind", "range", "selectionRange"),
    workspace: {
      getConfiguration: () => ({ get: () => command }),
      workspaceFolders: [{ uri: Uri.parse(`file://${folder}`), name: "work" }],
      textDocuments: [],
      createFileSystemWatcher: () => ({ ...watcher, dispose() {} }),
      onDidOpenTextDocument: event("opened"),
      onDidChangeTextDocument: event("edited"),
      onDidCloseTextDocument: event("closed"),
    },
    window: { showWarningMessage: (text) => shown.warnings.push(text) },
    languages: {
      createDiagnosticCollection: () => ({
        set: (uri, found) => shown.diagnostics.set(uri.toString(), found),
        clear: () => shown.diagnostics.clear(),
        dispose() {},
      }),
      registerHoverProvider: register("hover"),
      registerDefinitionProvider: register("definition"),
      registerReferenceProvider: register("references"),
      registerDocumentHighlightProvider: register("highlights"),
      registerRenameProvider: register("rename"),
      registerCompletionItemProvider: register("completion"),
      registerDocumentFormattingEditProvider: register("formatting"),
      registerDocumentSymbolProvider: register("symbols"),
    },
    commands: {
      registerCommand: (name, run) => {
        shown.commands[name] = run;
        return { dispose() {} };
      },
    },
  };
  return { api, on, providers, shown };
}

module.exports = { Document, editor };
