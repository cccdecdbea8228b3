/**
 * The client that suffers, in a process of its own: tiny requests over gRPC and HTTP,
 * one at a time on each wire, without end.
 */
import { Agent, request } from "node:http";
import { type ClientHttp2Session, connect } from "node:http2";
import { Agent as EncryptedAgent, request as requestEncrypted } from "node:https";
import { setTimeout as wait } from "node:timers/promises";
import { callOn, METHODS, toUrl } from "./attack/grpc-attack.ts";
import { ANY_CERTIFICATE, codeOf } from "./attack/http-attack.ts";
import type { NeighbourCommand, NeighbourJob } from "./attack/neighbour-report.ts";
import { bytesField, varintField } from "./attack/protobuf.ts";
import { Waits } from "./attack/waits.ts";

const PAUSE_MS = 2;
/** RESOURCE_EXHAUSTED and UNAVAILABLE. */
const GRPC_REFUSALS = ["grpc 8", "grpc 14"];
const HTTP_REFUSALS = ["429", "503"];
const JSON_BODY = Buffer.from('{"instances":[1]}');
const PREDICT_MESSAGE = Buffer.concat([
  bytesField(1, bytesField(1, "default")),
  bytesField(2, bytesField(1, "x"), bytesField(2, varintField(1, 1), Buffer.from([0x2d, 0, 0, 0x80, 0x3f]))),
]);

let waits: Waits | undefined;
process.on("message", (command: NeighbourCommand) => {
  if (command === "report") process.send?.(waits?.report());
  else void begin(command);
});
process.on("disconnect", () => process.exit());
process.send?.("ready");

async function begin(job: NeighbourJob): Promise<void> {
  waits = new Waits(job.pid);
  const asks = [grpcAsker(job), httpAsker(job)];
  await Promise.all(asks.map((ask) => askForEver(ask, waits as Waits)));
}

interface Asker {
  readonly ask: () => Promise<string>;
  readonly ok: string;
  readonly refusals: readonly string[];
}

async function askForEver({ ask, ok, refusals }: Asker, all: Waits): Promise<never> {
  for (;;) {
    const end = all.begin();
    const status = await ask();
    end(status === ok ? "ok" : refusals.includes(status) ? "refused" : { failure: status });
    await wait(PAUSE_MS);
  }
}

function grpcAsker({ grpc, asks, authorization }: NeighbourJob): Asker {
  let session: ClientHttp2Session | undefined;
  const open = () => {
    if (session === undefined || session.closed || session.destroyed)
      session = connect(toUrl(grpc), ANY_CERTIFICATE).on("error", () => {});
    return session;
  };
  const path = asks === "infer" ? METHODS.predict : "/inference.GRPCInferenceService/ServerLive";
  const message = asks === "infer" ? PREDICT_MESSAGE : Buffer.alloc(0);
  return {
    ask: () => callOn(open(), { path, message, headers: { ...(authorization && { authorization }) } }),
    ok: "grpc 0",
    refusals: GRPC_REFUSALS,
  };
}

function httpAsker({ http, asks, authorization }: NeighbourJob): Asker {
  const isEncrypted = http.startsWith("https:");
  const keeping = { keepAlive: true, maxSockets: 1, ...ANY_CERTIFICATE };
  const agent = isEncrypted ? new EncryptedAgent(keeping) : new Agent(keeping);
  const send = isEncrypted ? requestEncrypted : request;
  const [method, path, body] =
    asks === "infer"
      ? (["POST", "/v1/models/default:predict", JSON_BODY] as const)
      : (["GET", "/v2/health/live", Buffer.alloc(0)] as const);
  const ask = () =>
    new Promise<string>((resolve) => {
      const known = authorization === undefined ? {} : { authorization };
      const headers = { "content-type": "application/json", "content-length": body.length, ...known };
      const call = send(`${http}${path}`, { method, agent, headers }, (response) => {
        response.on("end", () => resolve(String(response.statusCode)));
        response.on("error", (reason) => resolve(codeOf(reason)));
        response.resume();
      });
      call.on("error", (reason) => resolve(codeOf(reason)));
      call.end(body);
    });
  return { ask, ok: "200", refusals: HTTP_REFUSALS };
}
