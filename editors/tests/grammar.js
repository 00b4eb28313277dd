// The grammar in the engine of VS Code (vscode-textmate with Oniguruma) finds the pieces that the lexer finds.
"use strict";

const assert = require("assert");
const fs = require("fs");
const path = require("path");
const { execFileSync } = require("child_process");
const oniguruma = require("vscode-oniguruma");
const textmate = require("vscode-textmate");

const GRAMMAR = path.join(__dirname, "../vscode/syntaxes/tidelog.tmLanguage.json");
const PYTHON = process.env.PYTHON || "python";

async function grammar() {
  const wasm = fs.readFileSync(require.resolve("vscode-oniguruma/release/onig.wasm"));
  await oniguruma.loadWASM(wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.byteLength));
  const registry = new textmate.Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
      createOnigString: (text) => new oniguruma.OnigString(text),
    }),
    loadGrammar: async () => textmate.parseRawGrammar(fs.readFileSync(GRAMMAR, "utf8"), GRAMMAR),
  });
  return registry.loadGrammar("source.tidelog");
}

// The kind of each UTF-16 unit of a text, by the innermost scope that has one.
function kinds(made, text, scopes) {
  const found = new Array(text.length).fill("blank");
  let state = textmate.INITIAL;
  let start = 0;
  for (const line of text.split("\n")) {
    const result = made.tokenizeLine(line, state);
    for (const token of result.tokens) {
      const kind = [...token.scopes].reverse().map((scope) => kindOf(scope, scopes)).find(Boolean);
      for (let i = token.startIndex; i < Math.min(token.endIndex, line.length); i++) found[start + i] = kind || "blank";
    }
    state = result.ruleStack;
    start += line.length + 1;
  }
  return found;
}

function kindOf(scope, scopes) {
  if (scope.startsWith("meta.embedded") || scope === "source.tidelog") return "blank";
  const name = Object.keys(scopes).find((prefix) => scope.startsWith(prefix));
  return name && scopes[name];
}

async function main() {
  const made = await grammar();
  const output = execFileSync(PYTHON, [path.join(__dirname, "pieces.py")], { maxBuffer: 1 << 28 });
  const { scopes, texts } = JSON.parse(output);
  let count = 0;
  for (const { text, pieces } of texts) {
    const units = [];  // of each character, in UTF-16
    let unit = 0;
    for (const char of text) {
      units.push(unit);
      unit += char.length;
    }
    units.push(unit);
    const found = kinds(made, text, scopes);
    for (const [start, end, kind] of pieces) {
      for (let i = units[start]; i < units[end]; i++) {
        if (text[i] === "\n" || text[i] === "\r") continue;
        assert.strictEqual(found[i], kind, `${JSON.stringify(text.slice(units[start], units[end]))} in:\n${text}`);
      }
      count++;
    }
  }
  console.log(`${texts.length} texts, ${count} pieces: the grammar and the lexer agree`);
}

main().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
