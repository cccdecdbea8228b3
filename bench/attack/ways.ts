import { Agent, request } from "node:http";
import type { SecureClientSessionOptions } from "node:http2";
import { type ClientHttp2Session, connect } from "node:http2";
import { Agent as EncryptedAgent, request as requestEncrypted } from "node:https";
import { callOn, METHODS, toUrl } from "./grpc-attack.ts";
import { ANY_CERTIFICATE, codeOf } from "./http-attack.ts";
import type { NeighbourJob, WayName, Wire } from "./neighbour-report.ts";
import { bytesField, varintField } from "./protobuf.ts";
import { loginOf } from "./server-arguments.ts";

/** Requests of one kind, without end. */
interface Way {
  /** Bytes of a message; absent for one number, and for a login. */
  readonly bytes?: number;
  readonly pauseMs: number;
  /**
   * Longest wait until it is served, however often it is refused. For a tiny request only what a thread of the server
   * has computed meanwhile counts.
   */
  readonly maxWaitMs: number;
}

/** Ways to ask. Only one request of a way is under way on each wire. */
export const WAYS: Readonly<Record<WayName, Way>> = {
  tiny: { pauseMs: 2, maxWaitMs: 50 },
  "1 KB": { bytes: 1000, pauseMs: 20, maxWaitMs: 500 },
  "64 KB": { bytes: 65_536, pauseMs: 150, maxWaitMs: 1000 },
  "1 MB": { bytes: 1_000_000, pauseMs: 600, maxWaitMs: 3000 },
  login: { pauseMs: 700, maxWaitMs: 2000 },
};

/** One way to ask over one wire. */
export interface Asker {
  readonly ask: () => Promise<string>;
  readonly ok: string;
  readonly refusals: readonly string[];
  close(): void;
}

/** The client that suffers is another one than its attacker, by its address too. */
const ADDRESSES: Readonly<Record<Exclude<WayName, "login">, string>> = {
  tiny: "127.0.2.1",
  "1 KB": "127.0.2.2",
  "64 KB": "127.0.2.3",
  "1 MB": "127.0.2.4",
};
/** RESOURCE_EXHAUSTED and UNAVAILABLE. */
const GRPC_REFUSALS = ["grpc 8", "grpc 14"];
const HTTP_REFUSALS = ["429", "503"];
const JSON_HEADERS = { "content-type": "application/json" };
const NUMBER = "1.5,";

/** Makes what asks in a way over a wire. */
export function createAsker(way: WayName, wire: Wire, job: NeighbourJob): Asker {
  if (way === "login") return wire === "http" ? httpLogin(job) : grpcLogin(job);
  const localAddress = ADDRESSES[way];
  const { bytes } = WAYS[way];
  return wire === "http" ? httpAsker(job, localAddress, bytes) : grpcAsker(job, localAddress, bytes);
}

function grpcAsker({ grpc, model, authorization }: NeighbourJob, localAddress: string, bytes?: number): Asker {
  let session: ClientHttp2Session | undefined;
  const open = () => {
    if (session === undefined || session.closed || session.destroyed) session = openFrom(grpc, localAddress);
    return session;
  };
  const message = predictMessage(model, bytes);
  return {
    ask: () => callOn(open(), { path: METHODS.predict, message, headers: { ...(authorization && { authorization }) } }),
    ok: "grpc 0",
    refusals: GRPC_REFUSALS,
    close: () => session?.destroy(),
  };
}

function openFrom(grpc: string, localAddress: string): ClientHttp2Session {
  const options = { localAddress, ...ANY_CERTIFICATE } as SecureClientSessionOptions;
  return connect(toUrl(grpc), options).on("error", () => {});
}

/** One number, or as many bytes of them. */
function predictMessage(name: string, bytes?: number): Buffer {
  const model = bytesField(1, bytesField(1, name));
  const values =
    bytes === undefined
      ? [Buffer.from([0x2d, 0, 0, 0x80, 0x3f])]
      : [bytesField(2, bytesField(2, varintField(1, bytes / 4))), bytesField(4, Buffer.alloc(bytes))];
  return Buffer.concat([model, bytesField(2, bytesField(1, "x"), bytesField(2, varintField(1, 1), ...values))]);
}

function httpAsker({ http, model, authorization }: NeighbourJob, localAddress: string, bytes?: number): Asker {
  const agent = keepingAgent(http);
  const numbers = bytes === undefined ? "1" : NUMBER.repeat(bytes / NUMBER.length).slice(0, -1);
  const path = `/v1/models/${model}:predict`;
  const call = { method: "POST", path, body: Buffer.from(`{"instances":[${numbers}]}`) };
  const ask = () => statusOf(http, { ...call, agent, localAddress, authorization });
  return { ask, ok: "200", refusals: HTTP_REFUSALS, close: () => agent.destroy() };
}

function keepingAgent(http: string): Agent {
  const keeping = { keepAlive: true, maxSockets: 1, ...ANY_CERTIFICATE };
  return http.startsWith("https:") ? new EncryptedAgent(keeping) : new Agent(keeping);
}

interface HttpCall {
  readonly method: string;
  readonly path: string;
  readonly body: Buffer;
  readonly agent: Agent | false;
  readonly localAddress: string;
  readonly authorization: string | undefined;
}

function statusOf(http: string, { path, body, authorization, ...call }: HttpCall): Promise<string> {
  const send = http.startsWith("https:") ? requestEncrypted : request;
  const known = authorization === undefined ? {} : { authorization };
  const headers = { ...JSON_HEADERS, "content-length": body.length, ...known };
  return new Promise((resolve) => {
    const sent = send(`${http}${path}`, { ...call, headers, ...ANY_CERTIFICATE }, (response) => {
      response.on("end", () => resolve(String(response.statusCode)));
      response.on("error", (reason) => resolve(codeOf(reason)));
      response.resume();
    });
    sent.on("error", (reason) => resolve(codeOf(reason)));
    sent.end(body);
  });
}

function httpLogin({ http, login }: NeighbourJob): Asker {
  let user = -1;
  const path = login === "metrics" ? "/metrics" : "/v2/models/default";
  const call = { method: "GET", path, body: Buffer.alloc(0), agent: false } as const;
  const ask = () => {
    user += 2;
    return statusOf(http, { ...call, localAddress: addressOf(user), authorization: loginOf(user) });
  };
  return { ask, ok: "200", refusals: HTTP_REFUSALS, close: () => {} };
}

/** Asks for a model's description, or to load one, which a user that is known may not. */
function grpcLogin({ grpc, login }: NeighbourJob): Asker {
  let user = -2;
  const [method, message, ok] =
    login === "metrics"
      ? ["RepositoryModelLoad", Buffer.alloc(0), "grpc 7"]
      : ["ModelMetadata", bytesField(1, "default"), "grpc 0"];
  const path = `/inference.GRPCInferenceService/${method}`;
  const ask = async () => {
    user += 2;
    const session = openFrom(grpc, addressOf(user));
    const status = await callOn(session, {
      path,
      message: message as Buffer,
      headers: { authorization: loginOf(user) },
    });
    session.destroy();
    return status;
  };
  return { ask, ok: ok as string, refusals: GRPC_REFUSALS, close: () => {} };
}

function addressOf(user: number): string {
  return `127.0.3.${(user % 250) + 1}`;
}
