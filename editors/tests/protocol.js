// The language server and Microsoft's own implementation of the protocol, which other clients are made of.
"use strict";

const assert = require("assert");
const { spawn } = require("child_process");
const {
  StreamMessageReader,
  StreamMessageWriter,
  createProtocolConnection,
  CompletionRequest,
  DefinitionRequest,
  DidChangeTextDocumentNotification,
  DidOpenTextDocumentNotification,
  ExitNotification,
  HoverRequest,
  InitializeRequest,
  InitializedNotification,
  PublishDiagnosticsNotification,
  ShutdownRequest,
} = require("vscode-languageserver-protocol/node");

const PYTHON = process.env.PYTHON || "python";
const URI = "untitled:reach";
const TEXT = "input relation A(x: int)\noutput relation B(x: int)\nB(x) :- A(x).\n";

async function main() {
  const server = spawn(PYTHON, ["-m", "tidelog", "lsp"]);
  const connection = createProtocolConnection(
    new StreamMessageReader(server.stdout),
    new StreamMessageWriter(server.stdin)
  );
  const found = [];
  let arrived = () => {};
  connection.onNotification(PublishDiagnosticsNotification.type, (params) => {
    found.push(params);
    arrived();
  });
  connection.listen();
  const next = () => (found.length ? found.shift() : new Promise((done) => (arrived = () => done(found.shift()))));

  const { capabilities } = await connection.sendRequest(InitializeRequest.type, {
    processId: process.pid,
    rootUri: null,
    capabilities: { general: { positionEncodings: ["utf-16"] } },
  });
  assert.ok(capabilities.hoverProvider && capabilities.definitionProvider && capabilities.renameProvider);
  await connection.sendNotification(InitializedNotification.type, {});
  const textDocument = { uri: URI, languageId: "tidelog", version: 1, text: TEXT };
  await connection.sendNotification(DidOpenTextDocumentNotification.type, { textDocument });
  assert.deepStrictEqual((await next()).diagnostics, []);
  const range = { start: { line: 2, character: 8 }, end: { line: 2, character: 9 } };
  await connection.sendNotification(DidChangeTextDocumentNotification.type, {
    textDocument: { uri: URI, version: 2 },
    contentChanges: [{ range, text: "C" }],
  });
  const { diagnostics, version } = await next();
  assert.strictEqual(diagnostics[0].code, "E101");
  assert.strictEqual(version, 2);
  const at = { textDocument: { uri: URI }, position: { line: 2, character: 0 } };
  assert.match((await connection.sendRequest(HoverRequest.type, at)).contents.value, /output relation B/);
  assert.strictEqual((await connection.sendRequest(DefinitionRequest.type, at)).length, 1);
  const typed = { ...at, position: { line: 2, character: 1 } };
  assert.ok((await connection.sendRequest(CompletionRequest.type, typed)).items.length > 0);
  await connection.sendRequest(ShutdownRequest.type);
  await connection.sendNotification(ExitNotification.type);
  const code = await new Promise((done) => server.on("exit", done));
  assert.strictEqual(code, 0);
  console.log("the language server speaks the protocol");
}

main().then(
  () => process.exit(0),
  (error) => {
    console.error(error);
    process.exit(1);
  }
);
