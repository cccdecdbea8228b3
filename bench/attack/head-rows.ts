import type { Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import type { AttackResult, AttackRow, ServerKind, Target } from "./attack-row.ts";
import { openSocket } from "./http-attack.ts";

const POST = "POST /v1/models/default:predict HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n";
/** A request that a proxy would take for the body of the one before. */
const HIDDEN = "GET /v2/models/hidden HTTP/1.1\r\nHost: a\r\n\r\n";
const BODY = '{"instances":[1]}';
const CHUNKED = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`;
const MANY = 500_000;

/** Heads that are larger than they may be, and the status that they get. */
const LARGE: Readonly<Record<string, string>> = {
  url: `GET /${"a".repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`,
  "url-query": `GET /v2?${"a=%41&".repeat(4000)} HTTP/1.1\r\nHost: a\r\n\r\n`,
  header: `GET /v2 HTTP/1.1\r\nHost: a\r\nA: ${"b".repeat(20_000)}\r\n\r\n`,
  headers: `GET /v2 HTTP/1.1\r\nHost: a\r\n${"a: b\r\n".repeat(10_000)}\r\n`,
  "endless-url": `GET /${"a".repeat(MANY)}`,
  "endless-header": `GET /v2 HTTP/1.1\r\nHost: a\r\nA: ${"b".repeat(MANY)}`,
  "endless-name": `GET /v2 HTTP/1.1\r\nHost: a\r\n${"b".repeat(MANY)}`,
  "endless-method": "A".repeat(MANY),
};

/** Heads whose end two parsers may see in two places: each is refused, and nothing behind it is taken for a request. */
const PAIRS: Readonly<Record<string, string>> = {
  "cl-te": `${POST}Content-Length: ${CHUNKED.length + HIDDEN.length}\r\nTransfer-Encoding: chunked\r\n\r\n${CHUNKED}${HIDDEN}`,
  "te-cl": `${POST}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n${CHUNKED}${HIDDEN}`,
  "te-te": `${POST}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n${CHUNKED}${HIDDEN}`,
  "te-list": `${POST}Transfer-Encoding: gzip, chunked\r\n\r\n${CHUNKED}${HIDDEN}`,
  "te-other": `${POST}Transfer-Encoding: xchunked\r\n\r\n${CHUNKED}${HIDDEN}`,
  "te-space": `${POST}Transfer-Encoding : chunked\r\n\r\n${CHUNKED}${HIDDEN}`,
  "te-tab": `${POST}Transfer-Encoding:\tchunked\x0b\r\n\r\n${CHUNKED}${HIDDEN}`,
  "te-folded": `${POST}Transfer-Encoding:\r\n chunked, identity\r\n\r\n${CHUNKED}${HIDDEN}`,
  "te-in-1.0": `${POST.replace("1.1", "1.0")}Transfer-Encoding: chunked\r\n\r\n${CHUNKED}${HIDDEN}`,
  "two-lengths": `${POST}Content-Length: ${BODY.length}\r\nContent-Length: ${BODY.length + HIDDEN.length}\r\n\r\n${BODY}${HIDDEN}`,
  "length-list": `${POST}Content-Length: ${BODY.length}, ${BODY.length}\r\n\r\n${BODY}${HIDDEN}`,
  "length-sign": `${POST}Content-Length: +${BODY.length}\r\n\r\n${BODY}${HIDDEN}`,
  "length-hex": `${POST}Content-Length: 0x11\r\n\r\n${BODY}${HIDDEN}`,
  "bare-lf": `${POST.replaceAll("\r\n", "\n")}Content-Length: ${BODY.length}\n\n${BODY}${HIDDEN}`,
  "bare-cr": `${POST}A: b\rTransfer-Encoding: chunked\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}${HIDDEN}`,
  "chunk-size-sign": `${POST}Transfer-Encoding: chunked\r\n\r\n+11\r\n${BODY}\r\n0\r\n\r\n${HIDDEN}`,
  "chunk-size-large": `${POST}Transfer-Encoding: chunked\r\n\r\n100000000000000011\r\n${BODY}\r\n0\r\n\r\n${HIDDEN}`,
  "chunk-bare-lf": `${POST}Transfer-Encoding: chunked\r\n\r\n11\n${BODY}\n0\n\n${HIDDEN}`,
  "preface-behind": `PRI * HTTP/2.0\r\nHost: a\r\nContent-Length: 0\r\n\r\n${HIDDEN}`,
};

/** Requests whose heads are too large, or end in two places, on HTTP's own port and on a shared one. */
export const HEAD_ROWS: readonly AttackRow[] = [
  ...Object.entries(LARGE).map(([name, head]) => largeRow(name, head)),
  ...(["null", "shared"] as const).flatMap((server) =>
    Object.entries(PAIRS).map(([name, pair]) => pairRow(`smuggle-${server}-${name}`, server, pair)),
  ),
];

function largeRow(name: string, head: string): AttackRow {
  const attack = async ({ http }: Target) => {
    const got = statusesOf(await exchange(http, head)).join(", ");
    return got === "431" || got === "400" ? { got } : { got, problem: "expected one 431 or 400" };
  };
  return { name: `large-${name}`, server: "null", prepare: () => attack };
}

function pairRow(name: string, server: ServerKind, pair: string): AttackRow {
  const attack = async ({ http }: Target): Promise<AttackResult> => {
    const answer = await exchange(http, pair);
    const statuses = statusesOf(answer);
    const got = statuses.join(", ") || "closed";
    if (answer.includes("hidden")) return { got, problem: "it answers what is hidden" };
    if (statuses.length > 1) return { got, problem: "it answers twice" };
    return statuses.every((status) => /^[45]/.test(status)) ? { got } : { got, problem: "it is not refused" };
  };
  return { name, server, prepare: () => attack };
}

/** All that comes until the server closes, or has nothing more to say. */
async function exchange(address: string, bytes: string): Promise<string> {
  const socket = openSocket(address).setEncoding("latin1");
  let text = "";
  socket
    .on("error", () => {})
    .on("data", (chunk: string) => {
      text += chunk;
    });
  socket.write(bytes, "latin1");
  await Promise.race([closed(socket), wait(3000)]);
  socket.destroy();
  return text;
}

function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.once("close", () => resolve());
  });
}

function statusesOf(text: string): string[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status as string);
}
