import { type IncomingHttpHeaders, Agent as PlainAgent, request as requestPlain } from "node:http";
import { request as requestTls, Agent as TlsAgent } from "node:https";
import { Client, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import { expect, onTestFinished, test } from "vitest";
import type { CallKind } from "../../src/access/caller.ts";
import type { ServerOptions } from "../../src/server/server-options.ts";
import { authFiles, basic, bearer, TOKENS } from "../access/auth-fixture.ts";
import { tlsFile, tlsPath } from "../helpers/tls-fixture.ts";
import { type ServedRoute, startWithRoutes } from "./start-with-routes.ts";

const CALLERS = {
  none: undefined,
  wrong: bearer("x".repeat(40)),
  right: basic("alice", "open sesame"),
  admin: bearer(TOKENS.admin),
} as const;

/** Both ways to authenticate, in the answer to a caller who has not. */
const CHALLENGES = /Basic realm.*Bearer realm/;

/** The fate of a call: let in, or refused with a status of HTTP or its fellow of gRPC. */
function expected(caller: keyof typeof CALLERS, kind: CallKind): "in" | 401 | 403 {
  if (kind === "health" || kind === "page" || caller === "admin") return "in";
  if (caller !== "right") return 401;
  return kind === "inference" || kind === "read" ? "in" : 403;
}

/** Routes that tell of all models, and so nothing to alice, who may know of one. */
const OF_ALL_MODELS = /^\/ui\/(?:history|requests|log)$/;

/** The same for a route. */
function fateOf(caller: keyof typeof CALLERS, { kind, path }: ServedRoute): "in" | 401 | 403 {
  return caller === "right" && OF_ALL_MODELS.test(path) ? 403 : expected(caller, kind);
}

const WAYS = ["without encryption", "with TLS"] as const;

/** A server that wants names, all of its routes, and a client of its gRPC. */
async function start(how: (typeof WAYS)[number], options: Partial<ServerOptions> = {}) {
  const isEncrypted = how === "with TLS";
  const tls = isEncrypted ? { tls: { cert: tlsPath("server.pem"), key: tlsPath("server.key") } } : {};
  const server = await startWithRoutes({ auth: await authFiles(), allowControl: "all", ...tls, ...options });
  const channel = isEncrypted ? credentials.createSsl(tlsFile("ca.pem")) : credentials.createInsecure();
  const client = new Client(server.grpcAddress, channel);
  onTestFinished(() => client.close());
  return { ...server, client };
}

const EVERY_CALLER = Object.keys(CALLERS) as (keyof typeof CALLERS)[];

test.each(WAYS)("every route and method lets in the callers that may use it, and no others, %s", async (how) => {
  const { httpUrl, httpRoutes, grpcRoutes, client } = await start(how);
  const wrong: string[] = [];
  for (const caller of EVERY_CALLER) {
    const asked = [
      ...httpRoutes.map(async (route) => [route, await askHttp(httpUrl, route, CALLERS[caller])] as const),
      ...grpcRoutes.map(async (route) => [route, await askGrpc(client, route, CALLERS[caller])] as const),
    ];
    for (const [route, outcome] of await Promise.all(asked)) {
      const { name, kind, method, path } = route;
      if (outcome !== fateOf(caller, route)) wrong.push(`${caller}: ${name} ${method} ${path} (${kind}): ${outcome}`);
    }
  }
  expect(wrong).toEqual([]);
  expect(httpRoutes.length).toBeGreaterThan(60);
  expect(grpcRoutes.length).toBeGreaterThan(30);
});

test.each(WAYS)(
  "with ports for administration and metrics, every route and method is answered at the ports of its kind alone, %s",
  async (how) => {
    const { httpRoutes, grpcRoutes, client, ...server } = await start(how, { admin: {}, metrics: {} });
    const wrong: string[] = [];
    const check = (caller: string, { method, path }: ServedRoute, outcome: unknown, fate: unknown) => {
      if (outcome !== fate) wrong.push(`${caller}: ${method} ${path}: ${outcome}, not ${fate}`);
    };
    // Encryption knows no callers: with it one who may all and one who may nothing show what each port has.
    for (const caller of how === "with TLS" ? (["none", "admin"] as const) : EVERY_CALLER) {
      const asked = httpRoutes.flatMap((route) => {
        const { kind } = route;
        return [
          [route, kind === "control" || kind === "metrics", server.httpUrl],
          [route, kind === "inference" || kind === "metrics", server.adminUrl as string],
          [route, kind !== "metrics" && kind !== "health", server.metricsUrl as string],
        ] as const;
      });
      const ask = asked.map(async ([route, isElsewhere, url]) => {
        const [status, outcome] = await askStatus(url, route, CALLERS[caller]);
        // Other ports do not know the routes of hooks, and tell a caller without a name nothing of them.
        const isUnknown = route.name === "hooks" && url === server.adminUrl;
        const isRefused = isUnknown && expected(caller, "read") === 401;
        if (isElsewhere) check(caller, route, status, isRefused ? 401 : 404);
        else check(caller, route, outcome, fateOf(caller, route));
      });
      const askRpc = grpcRoutes.map(async (route) => {
        // Where the message says that it changes something, the caller has been let in to read.
        const isMoved = route.kind === "control" && (route.message === undefined || caller === "admin");
        const outcome = await askGrpc(client, route, CALLERS[caller]);
        check(caller, route, outcome, isMoved ? 403 : expected(caller, route.kind));
      });
      await Promise.all([...ask, ...askRpc]);
    }
    expect(wrong).toEqual([]);
  },
);

const FEW = { keepAlive: true, maxSockets: 4 };
const PLAIN = new PlainAgent(FEW);
const TLS = new TlsAgent({ ...FEW, ca: tlsFile("ca.pem"), servername: "localhost" });

async function askHttp(url: string, route: ServedRoute, authorization?: string): Promise<"in" | number> {
  return (await askStatus(url, route, authorization))[1];
}

/** The status of an answer, and the fate of the call. */
async function askStatus(
  url: string,
  { kind, method, path }: ServedRoute,
  authorization?: string,
): Promise<readonly [number, "in" | number]> {
  const [status, headers] = await new Promise<[number, IncomingHttpHeaders]>((resolve, reject) => {
    // The page is for browsers.
    const headers = { ...(authorization && { authorization }), ...(kind === "page" && { accept: "text/html" }) };
    const [send, agent] = url.startsWith("https:") ? ([requestTls, TLS] as const) : ([requestPlain, PLAIN] as const);
    const sent = send(`${url}${path}`, { method, headers, agent }, (response) => {
      response.resume().on("end", () => resolve([response.statusCode ?? 0, response.headers]));
    });
    sent.on("error", reject).end(method === "POST" ? "{}" : undefined);
  });
  if (status === 401 && !CHALLENGES.test(String(headers["www-authenticate"]))) return [status, 0];
  return [status, status === 401 || status === 403 ? status : "in"];
}

async function askGrpc(
  client: Client,
  { path, isStream, message }: ServedRoute,
  authorization?: string,
): Promise<"in" | number> {
  const metadata = new Metadata();
  if (authorization !== undefined) metadata.set("authorization", authorization);
  const error = await new Promise<Partial<ServiceError> | null>((resolve) => {
    if (!isStream) {
      client.makeUnaryRequest(path, asIs, asIs, Buffer.from(message ?? []), metadata, resolve);
      return;
    }
    const call = client.makeBidiStreamRequest(path, asIs, asIs, metadata);
    call.on("error", resolve).on("end", () => resolve(null));
    call.on("data", () => {
      resolve(null);
      call.cancel();
    });
    call.end(Buffer.alloc(0));
  });
  const challenge = error?.metadata?.get("www-authenticate").join(", ") ?? "";
  if (error?.code === 16) return CHALLENGES.test(challenge) ? 401 : 0;
  return error?.code === 7 ? 403 : "in";
}

function asIs(bytes: Buffer): Buffer {
  return bytes;
}
