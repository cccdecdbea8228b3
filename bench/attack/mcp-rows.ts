import { type AttackRow, type Target, tally } from "./attack-row.ts";
import { bodyRow, type HostileBody } from "./body-row.ts";
import { headOf, openSocket, post } from "./http-attack.ts";

const PATH = "/mcp";
const MB = 1024 * 1024;
const INITIALIZE = { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-03-26" } };

function callOf(name: string, args: object, more: object = {}): object {
  return { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args, ...more } };
}

const BODIES: Readonly<Record<string, () => Buffer | object>> = {
  batch: () => Array(64).fill(callOf("talk_embed", { texts: ["a"] })),
  "large-batch": () => Array(100_000).fill(INITIALIZE),
  nested: () => Buffer.from(`${"[".repeat(1_000_000)}`),
  "long-id": () => ({ ...INITIALIZE, id: "a".repeat(50 * MB) }),
  "many-ids": () => ({ ...INITIALIZE, id: Array(1_000_000).fill(1) }),
  "long-method": () => ({ ...INITIALIZE, method: "a".repeat(50 * MB) }),
  "long-version": () => ({ ...INITIALIZE, params: { protocolVersion: "a".repeat(50 * MB) } }),
  "long-cursor": () => ({ ...INITIALIZE, method: "tools/list", params: { cursor: "a".repeat(50 * MB) } }),
  "long-name": () => callOf("a".repeat(10 * MB), {}),
  "many-arguments": () => Buffer.from(JSON.stringify(callOf("talk_embed", manyMembers()))),
  "many-texts": () => callOf("talk_embed", { texts: Array(100_000).fill("good") }),
  "long-text": () => callOf("talk_chat", { message: "a".repeat(50 * MB) }),
  "chat-escapes": () => callOf("talk_chat", { message: "\u0001".repeat(0.9 * MB) }),
  "chat-surrogates": () => callOf("talk_chat", { message: "\ud800".repeat(0.3 * MB) }),
  documents: () => callOf("talk_rerank", { query: "a", documents: Array(100_000).fill("a") }),
  "long-token": () => callOf("talk_chat", { message: "a" }, { _meta: { progressToken: "a".repeat(10 * MB) } }),
};

function manyMembers(): object {
  return Object.fromEntries(Array.from({ length: 500_000 }, (_, index) => [`k${index}`, 1]));
}

function rowOf(body: HostileBody): AttackRow {
  return bodyRow("texts", { ...body, name: `mcp-${body.name}` });
}

const ACCEPT = { accept: "application/json, text/event-stream" };

/** Messages of a hostile assistant, or a page, to the tools. */
export const MCP_ROWS: readonly AttackRow[] = [
  ...Object.entries(BODIES).map(([name, body]) => rowOf({ name, path: PATH, body, headers: ACCEPT })),
  { name: "mcp-origins", server: "texts", prepare: () => origins },
  { name: "mcp-slow", server: "texts", prepare: () => slow },
];

/** Pages of other origins, whose calls are refused before they run. */
async function origins(target: Target) {
  const body = Buffer.from(JSON.stringify(callOf("talk_embed", { texts: ["a"] })));
  const names = ["http://evil.example", "null", `http://${"a".repeat(10_000)}`, "http://127.0.0.1.evil.example"];
  const statuses = await Promise.all(
    Array.from({ length: 200 }, (_, index) =>
      post(target, { path: PATH, body, headers: { origin: names[index % names.length] as string } }),
    ),
  );
  const answered = statuses.filter((status) => status === "200").length;
  return { got: tally(statuses), ...(answered > 0 && { problem: `${answered} calls of other origins were answered` }) };
}

/** Calls whose answers in events no one takes, and messages that come a byte at a time. */
async function slow(target: Target) {
  const body = JSON.stringify(callOf("talk_chat", { message: "endless" }, { _meta: { progressToken: 1 } }));
  const sockets = Array.from({ length: 200 }, (_, index) => {
    const socket = openSocket(target.http);
    socket.on("error", () => {}).pause();
    const head = headOf(PATH, body.length, ACCEPT);
    socket.write(index % 2 === 0 ? head + body : head);
    return socket;
  });
  for (let byte = 0; byte < 15; byte++) {
    await new Promise((resolve) => setTimeout(resolve, 200));
    for (const [index, socket] of sockets.entries()) if (index % 2 === 1) socket.write(body[byte] as string);
  }
  const ended = sockets.filter(({ destroyed }) => destroyed).length;
  for (const socket of sockets) socket.destroy();
  return { got: `${ended} ended` };
}
