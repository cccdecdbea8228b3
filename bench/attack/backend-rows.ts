import { once } from "node:events";
import { createServer, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { deflateSync, gzipSync } from "node:zlib";
import { type AttackRow, type Target, tally } from "./attack-row.ts";
import { frame } from "./grpc-attack.ts";
import { post } from "./http-attack.ts";

const TIMES = 8;
/** Just below the most that a message may have. */
const BOMB_BYTES = 255_000_000;
/** Time in which a backend's answer that is none has to be answered. */
const WITHIN_MS = 30_000;

/** Bytes of a backend's answer, and its headers. */
interface Answer {
  readonly body: Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Answers of a hostile server behind a proxy. */
const ANSWERS: Readonly<Record<string, () => Answer>> = {
  gzip: () => compressed("gzip", gzipSync(Buffer.alloc(BOMB_BYTES))),
  deflate: () => compressed("deflate", deflateSync(Buffer.alloc(BOMB_BYTES))),
  "two-messages": () => ({ body: Buffer.concat([frame(Buffer.alloc(0)), frame(Buffer.alloc(0))]) }),
  "many-messages": () => ({ body: Buffer.alloc(5_000_000) }),
  "large-claim": () => ({ body: Buffer.from([0, 0xff, 0xff, 0xff, 0xff, 1]) }),
};

function compressed(encoding: string, message: Buffer): Answer {
  return { body: frame(message, true), headers: { "grpc-encoding": encoding } };
}

/** Requests through a proxy to a server of the attacker's: none may cost others time, or the proxy memory. */
export const BACKEND_ROWS: readonly AttackRow[] = Object.entries(ANSWERS).map(([name, make]) => ({
  name: `backend-${name}`,
  server: "proxy",
  isPlain: true,
  prepare: () => {
    const answer = make();
    return (target) => askThrough(target, answer);
  },
}));

async function askThrough(target: Target, { body, headers }: Answer) {
  const backend = createServer();
  backend.on("sessionError", () => {});
  let asked = 0;
  backend.on("stream", (stream) => {
    asked++;
    respond(stream, { body, headers: headers ?? {} });
  });
  backend.listen(0, "127.0.0.1");
  await once(backend, "listening");
  const { port } = backend.address() as AddressInfo;
  const message = {
    path: "/v2/models/any/infer",
    body: Buffer.from(JSON.stringify({ inputs: [{ name: "x", datatype: "FP32", shape: [1], data: [1] }] })),
    headers: { "proxy-addr": "127.0.0.1", "proxy-port": String(port) },
  };
  const late = new AbortController();
  const statuses = await Promise.all(
    Array.from({ length: TIMES }, () =>
      Promise.race([post(target, message), wait(WITHIN_MS, "no answer", { signal: late.signal }).catch(() => "")]),
    ),
  );
  late.abort();
  backend.close();
  const got = `${tally(statuses)} after ${asked} calls`;
  if (statuses.includes("no answer")) return { got, problem: `no answer within ${WITHIN_MS / 1000} s` };
  return asked > 0 && statuses.every((status) => /^[45]\d\d$/.test(status))
    ? { got }
    : { got, problem: "expected errors" };
}

function respond(stream: ServerHttp2Stream, { body, headers }: Required<Answer>): void {
  stream.on("error", () => {});
  stream.respond({ ":status": 200, "content-type": "application/grpc", ...headers }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
  stream.end(body);
}
