// Carries the suite's HTTP requests to a server on stdio, and its lines back.
//
//     node bridge.mjs COMMAND [ARGUMENT ...]
//
// Prints the URL that it serves on its first line. Ends at SIGTERM, with 1 if a server ended badly.
//
//                     one process, shared, for requests of 2026-07-28
//     suite ── HTTP ─▶ bridge ── lines ─▶ server
//                     one process for each session of a handshake revision
//
// Messages pass as they are: the suite judges what the server wrote. What HTTP adds is the bridge's
// own: the check of Host, Origin and headers, the status, the session, and the frames of a stream.
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";

const command = process.argv.slice(2);
const PREFIX = "io.modelcontextprotocol/";
const HEADER_MISMATCH = -32020;

/** Servers that ended before they were told to, or not with 0. */
let endedBadly = 0;

/** A server process, and what it was asked. */
class Server {
  /** The exchanges in flight, by their id as JSON, oldest first. */
  exchanges = new Map();
  /** The stream that a session opens for what answers nothing: `GET`. */
  standalone = null;
  #process = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
  #isClosed = false;
  #rest = "";

  constructor() {
    this.#process.stdin.on("error", () => {});
    this.#process.stdout.setEncoding("utf8").on("data", (text) => this.#read(text));
    this.ended = new Promise((resolve) => this.#process.on("exit", resolve)).then((status) => {
      if (status === 0 && this.#isClosed) return;
      endedBadly += 1;
      console.error(`bridge: the server ended with ${status}`);
    });
  }

  send(line) {
    this.#process.stdin.write(`${line}\n`);
  }

  close() {
    this.#isClosed = true;
    this.#process.stdin.end();
    return this.ended;
  }

  #read(text) {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop();
    for (const line of lines) {
      const message = JSON.parse(line);
      const isAnswer = message.method === undefined;
      const receiver = isAnswer ? this.exchanges.get(key(message.id)) : this.#listener(message);
      if (receiver === undefined) console.error(`bridge: nobody waits for ${line}`);
      else if (isAnswer) receiver.answer(line, message);
      else receiver.note(line);
    }
  }

  /** Whom a notification, or a request of the server's, is for. On stdio only some say so. */
  #listener({ method, params }) {
    const exchanges = [...this.exchanges.values()];
    const subscription = params?._meta?.[`${PREFIX}subscriptionId`];
    if (subscription !== undefined) return this.exchanges.get(key(subscription));
    if (method === "notifications/progress")
      return exchanges.find(({ meta }) => meta?.progressToken === params.progressToken);
    const isOfACall = method === "notifications/message" || !method.startsWith("notifications/");
    const calls = isOfACall ? exchanges.filter(({ isListening }) => !isListening) : [];
    return calls.at(-1) ?? this.standalone ?? undefined;
  }
}

/** A request of the suite's, and the response that waits for its answer. */
class Exchange {
  #server;
  #response;
  #headers;
  #id;

  constructor(server, message, response, headers = {}) {
    this.#server = server;
    this.#response = response;
    this.#headers = headers;
    this.#id = message.id;
    this.meta = message.params?._meta;
    this.isListening = message.method === "subscriptions/listen";
    server.exchanges.set(key(message.id), this);
    response.on("close", () => this.#gone());
  }

  /** Hands on what comes before the answer: from then on the response is a stream. */
  note(line) {
    if (!this.#response.headersSent) openStream(this.#response, this.#headers);
    this.#response.write(frame(line));
  }

  answer(line, { error }) {
    this.#server.exchanges.delete(key(this.#id));
    if (this.#response.headersSent) return void this.#response.end(frame(line));
    const httpStatus = this.#server === shared ? status(error) : 200;
    sendJson(this.#response, httpStatus, line, this.#headers);
  }

  /** The suite has hung up: without an answer that is a cancellation. */
  #gone() {
    if (!this.#server.exchanges.delete(key(this.#id))) return;
    const params = { requestId: this.#id };
    this.#server.send(JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params }));
  }
}

const key = (id) => JSON.stringify(id);
const frame = (line) => `event: message\ndata: ${line}\n\n`;

/** The HTTP status of an answer, in 2026-07-28. */
function status(error) {
  if (error === undefined) return 200;
  if (error.code === -32601) return 404;
  return [-32700, -32600, -32602, -32020, -32021, -32022].includes(error.code) ? 400 : 200;
}

function openStream(response, headers = {}) {
  response.writeHead(200, { "content-type": "text/event-stream", ...headers });
  response.flushHeaders();
}

function sendJson(response, status, text, headers = {}) {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(text);
}

function refuse(response, status, id, code, message) {
  sendJson(response, status, JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } }));
}

/** Answers with a status alone. */
function end(response, status) {
  response.writeHead(status);
  response.end();
}

/** Why the headers of a request of 2026-07-28 do not fit its body, if they do not. */
function mismatch(headers, { method, params }) {
  const version = headers["mcp-protocol-version"];
  const inBody = params?._meta?.[`${PREFIX}protocolVersion`];
  if (version === undefined || (inBody !== undefined && version !== inBody))
    return "MCP-Protocol-Version differs from the body";
  if (headers["mcp-method"]?.trim() !== method) return "Mcp-Method differs from the body";
  const name = {
    "tools/call": params?.name,
    "prompts/get": params?.name,
    "resources/read": params?.uri,
    "tasks/get": params?.taskId,
    "tasks/update": params?.taskId,
    "tasks/cancel": params?.taskId,
  }[method];
  if (name !== undefined && headers["mcp-name"]?.trim() !== name)
    return "Mcp-Name differs from the body";
}

const sessions = new Map();
const shared = new Server();

function post(request, response, body) {
  let message;
  try {
    message = JSON.parse(body);
  } catch {
    return refuse(response, 400, null, -32700, "the body is not JSON");
  }
  const session = request.headers["mcp-session-id"];
  const isModern = message.params?._meta?.[`${PREFIX}protocolVersion`] !== undefined;
  const isHandshake = message.method === "initialize" && !isModern;
  let server = shared;
  let headers = {};
  if (isHandshake) {
    server = new Server();
    headers = { "mcp-session-id": randomUUID() };
    sessions.set(headers["mcp-session-id"], server);
  } else if (session !== undefined) {
    server = sessions.get(session);
    if (server === undefined) return refuse(response, 404, message.id, -32001, "no such session");
  } else {
    const problem = mismatch(request.headers, message);
    if (problem !== undefined) return refuse(response, 400, message.id, HEADER_MISMATCH, problem);
  }
  const isRequest = message.method !== undefined && message.id !== undefined;
  if (isRequest && server.exchanges.has(key(message.id)))
    return refuse(response, 500, message.id, -32603, "the bridge has such an id in flight");
  if (isRequest) new Exchange(server, message, response, headers);
  server.send(body.replaceAll(/[\r\n]/g, " "));
  if (!isRequest) end(response, 202);
}

/** A stream for what answers nothing. Only sessions have one. */
function get(request, response) {
  const server = sessions.get(request.headers["mcp-session-id"]);
  if (server === undefined) return end(response, 405);
  openStream(response);
  server.standalone = { note: (line) => response.write(frame(line)) };
  response.on("close", () => (server.standalone = null));
}

async function remove(request, response) {
  const session = request.headers["mcp-session-id"];
  const server = sessions.get(session);
  if (server === undefined) return end(response, 404);
  sessions.delete(session);
  await server.close();
  end(response, 204);
}

/** Whether a request comes from this machine, as far as its Host and Origin tell. */
function isLocal({ host, origin }) {
  const local = /^(https?:\/\/)?(localhost|127\.0\.0\.1)(:\d+)?$/;
  return local.test(host) && (origin === undefined || local.test(origin));
}

const http = createServer((request, response) => {
  if (!isLocal(request.headers)) return end(response, 403);
  if (request.method === "GET") return get(request, response);
  if (request.method === "DELETE") return void remove(request, response);
  if (request.method !== "POST") return end(response, 405);
  let body = "";
  request.setEncoding("utf8");
  request.on("data", (text) => (body += text));
  request.on("end", () => post(request, response, body));
});

http.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${http.address().port}/mcp`));

process.on("SIGTERM", async () => {
  await Promise.all([shared, ...sessions.values()].map((server) => server.close()));
  process.exit(endedBadly === 0 ? 0 : 1);
});
