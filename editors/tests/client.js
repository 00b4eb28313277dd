// The code of the extension, in Node with a stand-in for VS Code, against the real language server.
"use strict";

const assert = require("assert");
const fs = require("fs");
const Module = require("module");
const os = require("os");
const path = require("path");
const { Document, editor } = require("./editor");

const TEXT = `input relation Edge(src: string, dst: string)
output relation Reach(src: string, dst: string)
// Directly.
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Edge(y, z).
`;
const PYTHON = process.env.PYTHON || "python";

async function until(what, holds) {
  for (let waited = 0; waited < 60000; waited += 20) {
    if (holds()) return;
    await new Promise((done) => setTimeout(done, 20));
  }
  throw new Error(`never: ${what}`);
}

async function main() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tidelog-"));
  const { api, on, providers, shown } = editor(folder, [PYTHON, "-m", "tidelog", "lsp"]);
  const load = Module._load;
  Module._load = (name, ...rest) => (name === "vscode" ? api : load(name, ...rest));
  const extension = require("../vscode/extension.js");
  const document = new Document(`file://${folder}/reach.dl`, TEXT);
  const uri = document.uri.toString();
  const context = { subscriptions: [] };
  await extension.activate(context);
  assert.ok(context.subscriptions.every((each) => typeof each.dispose === "function"));

  on.opened(document);
  on.opened(new Document(`file://${folder}/other.txt`, "no program", "plaintext"));
  await until("diagnostics", () => shown.diagnostics.has(uri));
  assert.deepStrictEqual(shown.diagnostics.get(uri), []);

  function edit(piece, text) {
    const offset = document.text.indexOf(piece);
    const [start, end] = [offset, offset + piece.length].map((each) => document.position(each));
    const range = new api.Range(start.line, start.character, end.line, end.character);
    document.text = document.text.slice(0, offset) + text + document.text.slice(offset + piece.length);
    document.version++;
    shown.diagnostics.delete(uri);
    on.edited({ document, contentChanges: [{ range, text }] });
  }

  edit("Reach(x, y), Edge", "Reach(x, y), Egde");
  await until("an error", () => shown.diagnostics.has(uri));
  const [problem] = shown.diagnostics.get(uri);
  assert.strictEqual(problem.code, "E101");
  assert.match(problem.message, /Egde.*\n.*did you mean `Edge`/);
  assert.strictEqual(problem.severity, 0);
  assert.deepStrictEqual([problem.range.start.line, problem.range.start.character], [4, 28]);
  edit("Egde", "Edge");
  await until("no error", () => shown.diagnostics.has(uri));
  assert.deepStrictEqual(shown.diagnostics.get(uri), []);

  const at = document.place("Reach(x, y) :-");
  const hover = await providers.hover.provideHover(document, at);
  assert.match(hover.contents.value, /output relation Reach/);
  const [definition] = await providers.definition.provideDefinition(document, at);
  assert.strictEqual(definition.range.start.line, 1);
  const references = await providers.references.provideReferences(document, at, { includeDeclaration: true });
  assert.strictEqual(references.length, 4);
  assert.strictEqual((await providers.highlights.provideDocumentHighlights(document, at)).length, 4);
  assert.strictEqual((await providers.rename.prepareRename(document, at)).start.line, 3);
  const renamed = await providers.rename.provideRenameEdits(document, at, "Path");
  assert.strictEqual(renamed.edits.get(uri).length, 4);
  await assert.rejects(providers.rename.provideRenameEdits(document, at, "Edge"), /already used/);
  const symbols = await providers.symbols.provideDocumentSymbols(document);
  assert.deepStrictEqual(symbols.map((s) => s.name), ["Edge", "Reach"]);
  edit("Edge(x, y).\n", "Edge(x,y).\nRea");
  const typed = new api.Position(4, 3);
  const completed = await providers.completion.provideCompletionItems(document, typed);
  assert.ok(completed.some((item) => item.label === "Reach"));
  edit("\nReaR", "\nR");
  const options = { tabSize: 4, insertSpaces: true };
  const formatted = await providers.formatting.provideDocumentFormattingEdits(document, options);
  assert.deepStrictEqual(formatted.map((each) => each.newText), [" "]);

  await shown.commands["tidelog.restart"]();
  await new Promise((done) => setTimeout(done, 1000)); // the server before has ended meanwhile
  assert.deepStrictEqual(shown.warnings, []);
  const unknown = new Document("file:///none.dl", "");
  assert.deepStrictEqual(await providers.symbols.provideDocumentSymbols(unknown), []);
  await extension.deactivate();

  const wrong = editor(folder, ["/no/such/tidelog", "lsp"]);
  Object.assign(api, wrong.api);
  await extension.activate({ subscriptions: [] });
  assert.match(wrong.shown.warnings[0], /ENOENT.*pip install 'tidelog\[lsp\]'/);
  console.log("the extension and the language server understand each other");
}

main().then(
  () => process.exit(0),
  (error) => {
    console.error(error);
    process.exit(1);
  }
);
