// JSON-RPC with the language server over the pipes of its process. It needs no packages.
"use strict";

const { spawn } = require("child_process");

class Connection {
  constructor(command, folder, onNotification, onEnd) {
    this.waiting = new Map();
    this.number = 0;
    this.received = Buffer.alloc(0);
    this.onNotification = onNotification;
    this.process = spawn(command[0], command.slice(1), { cwd: folder });
    this.process.stdout.on("data", (data) => this.receive(data));
    this.process.stdin.on("error", () => {});
    this.process.on("error", (error) => this.end(error, onEnd));
    this.process.on("exit", (code) => this.end(new Error(`the language server ended with code ${code}`), onEnd));
  }

  end(error, onEnd) {
    if (this.isOver) return;
    this.isOver = true;
    for (const { reject } of this.waiting.values()) reject(error);
    this.waiting.clear();
    if (!this.isStopping) onEnd(error);
  }

  send(message) {
    if (this.isOver) return;
    const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
    this.process.stdin.write(`Content-Length: ${body.length}\r\n\r\n`);
    this.process.stdin.write(body);
  }

  tell(method, params) {
    this.send({ method, params });
  }

  ask(method, params) {
    if (this.isOver) return Promise.reject(new Error("the language server has ended"));
    const id = ++this.number;
    this.send({ id, method, params });
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
  }

  receive(data) {
    this.received = Buffer.concat([this.received, data]);
    for (;;) {
      const end = this.received.indexOf("\r\n\r\n");
      if (end < 0) return;
      const length = Number(/content-length: *(\d+)/i.exec(this.received.toString("ascii", 0, end))[1]);
      if (this.received.length < end + 4 + length) return;
      const body = this.received.toString("utf8", end + 4, end + 4 + length);
      this.received = this.received.subarray(end + 4 + length);
      this.handle(JSON.parse(body));
    }
  }

  handle(message) {
    if (message.method && message.id !== undefined) {
      this.send({ id: message.id, result: null }); // the server asks for nothing that it needs
    } else if (message.method) {
      this.onNotification(message.method, message.params);
    } else {
      const { resolve, reject } = this.waiting.get(message.id) || {};
      this.waiting.delete(message.id);
      if (message.error && reject) reject(new Error(message.error.message));
      else if (resolve) resolve(message.result);
    }
  }

  async stop() {
    this.isStopping = true;
    if (this.isOver) return;
    await this.ask("shutdown", null).catch(() => {});
    this.tell("exit", null);
  }
}

module.exports = { Connection };
