// Connects VS Code with the language server: what the editor asks becomes a request, and the answer the editor's own.
"use strict";

const vscode = require("vscode");
const { Connection } = require("./connection");

const LANGUAGE = "tidelog";
let connection;
let diagnostics;

const range = (r) => new vscode.Range(r.start.line, r.start.character, r.end.line, r.end.character);
const location = (l) => new vscode.Location(vscode.Uri.parse(l.uri), range(l.range));
const edit = (e) => new vscode.TextEdit(range(e.range), e.newText);
const place = (document, position) => ({
  textDocument: { uri: document.uri.toString() },
  position: { line: position.line, character: position.character },
});
const ask = (method, params) => connection.ask(`textDocument/${method}`, params);
const isOurs = (document) => document.languageId === LANGUAGE;

async function start() {
  const command = vscode.workspace.getConfiguration("tidelog").get("command");
  const folders = vscode.workspace.workspaceFolders || [];
  const folder = folders.length ? folders[0].uri.fsPath : undefined;
  connection = new Connection(command, folder, notified, ended);
  await connection.ask("initialize", {
    processId: process.pid,
    rootUri: null,
    capabilities: { general: { positionEncodings: ["utf-16"] } },
    workspaceFolders: folders.map((f) => ({ uri: f.uri.toString(), name: f.name })),
  });
  connection.tell("initialized", {});
  vscode.workspace.textDocuments.forEach(opened);
}

function ended(error) {
  diagnostics.clear();
  vscode.window.showWarningMessage(
    `Tidelog: ${error.message}. Install it with: pip install 'tidelog[lsp]', or set tidelog.command.`
  );
}

function notified(method, params) {
  if (method === "textDocument/publishDiagnostics") {
    diagnostics.set(vscode.Uri.parse(params.uri), params.diagnostics.map(diagnostic));
  }
}

function diagnostic(d) {
  const found = new vscode.Diagnostic(range(d.range), d.message, d.severity - 1);
  found.code = d.code;
  found.source = d.source;
  found.tags = d.tags;
  found.relatedInformation = (d.relatedInformation || []).map(
    (r) => new vscode.DiagnosticRelatedInformation(location(r.location), r.message)
  );
  return found;
}

function opened(document) {
  if (!isOurs(document)) return;
  const { version } = document;
  const item = { uri: document.uri.toString(), languageId: LANGUAGE, version, text: document.getText() };
  connection.tell("textDocument/didOpen", { textDocument: item });
}

function changed(event) {
  const { document } = event;
  if (!isOurs(document) || !event.contentChanges.length) return;
  connection.tell("textDocument/didChange", {
    textDocument: { uri: document.uri.toString(), version: document.version },
    contentChanges: event.contentChanges.map((c) => ({ range: c.range, text: c.text })),
  });
}

function closed(document) {
  if (isOurs(document)) {
    connection.tell("textDocument/didClose", { textDocument: { uri: document.uri.toString() } });
  }
}

const providers = {
  provideHover: async (document, position) => {
    const found = await ask("hover", place(document, position));
    return found && new vscode.Hover(new vscode.MarkdownString(found.contents.value), range(found.range));
  },
  provideDefinition: async (document, position) =>
    (await ask("definition", place(document, position))).map(location),
  provideReferences: async (document, position, context) =>
    (await ask("references", { ...place(document, position), context })).map(location),
  provideDocumentHighlights: async (document, position) =>
    (await ask("documentHighlight", place(document, position))).map(
      (h) => new vscode.DocumentHighlight(range(h.range))
    ),
  prepareRename: async (document, position) => range(await ask("prepareRename", place(document, position))),
  provideRenameEdits: async (document, position, newName) => {
    const found = await ask("rename", { ...place(document, position), newName });
    const all = new vscode.WorkspaceEdit();
    for (const [uri, edits] of Object.entries(found.changes)) all.set(vscode.Uri.parse(uri), edits.map(edit));
    return all;
  },
  provideCompletionItems: async (document, position) => {
    const found = await ask("completion", place(document, position));
    return found.items.map((i) => {
      const item = new vscode.CompletionItem(i.label, i.kind - 1);
      item.detail = i.detail;
      item.range = range(i.textEdit.range);
      item.insertText = i.textEdit.newText;
      return item;
    });
  },
  provideDocumentFormattingEdits: async (document, options) => {
    const textDocument = { uri: document.uri.toString() };
    const given = { tabSize: options.tabSize, insertSpaces: options.insertSpaces };
    return (await ask("formatting", { textDocument, options: given })).map(edit);
  },
  provideDocumentSymbols: async (document) => {
    const found = await ask("documentSymbol", { textDocument: { uri: document.uri.toString() } });
    return found.map(
      (s) =>
        new vscode.DocumentSymbol(s.name, s.detail || "", s.kind - 1, range(s.range), range(s.selectionRange))
    );
  },
};

async function stop() {
  if (!connection) return;
  diagnostics.clear();
  await connection.stop();
}

async function activate(context) {
  diagnostics = vscode.languages.createDiagnosticCollection(LANGUAGE);
  const { languages, workspace } = vscode;
  const watcher = workspace.createFileSystemWatcher("**/*.dl");
  const recheck = () => connection.tell("workspace/didChangeWatchedFiles", { changes: [] });
  context.subscriptions.push(
    diagnostics,
    watcher,
    watcher.onDidChange(recheck),
    watcher.onDidCreate(recheck),
    watcher.onDidDelete(recheck),
    workspace.onDidOpenTextDocument(opened),
    workspace.onDidChangeTextDocument(changed),
    workspace.onDidCloseTextDocument(closed),
    languages.registerHoverProvider(LANGUAGE, providers),
    languages.registerDefinitionProvider(LANGUAGE, providers),
    languages.registerReferenceProvider(LANGUAGE, providers),
    languages.registerDocumentHighlightProvider(LANGUAGE, providers),
    languages.registerRenameProvider(LANGUAGE, providers),
    languages.registerCompletionItemProvider(LANGUAGE, providers, ".", ":", "`"),
    languages.registerDocumentFormattingEditProvider(LANGUAGE, providers),
    languages.registerDocumentSymbolProvider(LANGUAGE, providers),
    vscode.commands.registerCommand("tidelog.restart", async () => {
      await stop();
      await start();
    })
  );
  await start().catch(() => {}); // what ended the server was shown
}

module.exports = { activate, deactivate: stop };
