import { type IncomingHttpHeaders, request as requestPlain } from "node:http";
import { request as requestTls } from "node:https";
import { Client, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import { expect, onTestFinished, test } from "vitest";
import type { CallKind } from "../../src/access/caller.ts";
import type { GrpcProtocolOptions } from "../../src/grpc/grpc-route.ts";
import type { HttpDependencies } from "../../src/proxy/http-route.ts";
import { PROTOCOLS } from "../../src/server/protocols.ts";
import { authFiles, basic, bearer, TOKENS } from "../access/auth-fixture.ts";
import { ScriptedService } from "../grpc/scripted-service.ts";
import { startServer } from "../helpers/start-server.ts";
import { tlsFile, tlsPath } from "../helpers/tls-fixture.ts";

/** A route or method of a protocol, whatever it is. */
interface Route {
  readonly name: string;
  readonly kind: CallKind;
  readonly method: string;
  readonly path: string;
  readonly isStream?: boolean;
}

const service = new ScriptedService();
/** The parts of a server that its routes are made of. */
const HTTP_PARTS = { service, tensorflowMetricsPath: "/monitoring/prometheus/metrics" } as unknown as HttpDependencies;

/** Every route over HTTP; what changes something is asked to do so to a model that there is not. */
const HTTP_ROUTES: readonly Route[] = PROTOCOLS.flatMap(({ name, http }) => {
  const { inference = [], routes = [] } = http?.(HTTP_PARTS) ?? {};
  const all = [...inference.map(({ path }) => ({ method: "POST", path, kind: "inference" as const })), ...routes];
  return all.map(({ method, path, kind }) => ({ name, kind, method, path: toUrl(path, kind) }));
});

/** Every method over gRPC. */
const GRPC_ROUTES: readonly Route[] = PROTOCOLS.flatMap(({ name, grpc }) => {
  const { routes = {} } = grpc?.(service, {} as GrpcProtocolOptions) ?? {};
  return Object.entries(routes).map(([path, route]) => ({
    ...{ name, kind: route.kind, method: "gRPC", path },
    isStream: "stream" in route,
  }));
});

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
  if (kind === "health" || caller === "admin") return "in";
  if (caller !== "right") return 401;
  return kind === "inference" || kind === "read" ? "in" : 403;
}

test.each(["without encryption", "with TLS"] as const)(
  "every route and method lets in who may, and nobody else, %s",
  async (how) => {
    const tls = how === "with TLS" ? { tls: { cert: tlsPath("server.pem"), key: tlsPath("server.key") } } : {};
    const stages = [{ driver: "null" }];
    const server = await startServer({ stages, auth: await authFiles(), allowControl: "all", ...tls });
    const channel = how === "with TLS" ? credentials.createSsl(tlsFile("ca.pem")) : credentials.createInsecure();
    const client = new Client(server.grpcAddress, channel);
    onTestFinished(() => client.close());
    const wrong: string[] = [];
    for (const caller of Object.keys(CALLERS) as (keyof typeof CALLERS)[]) {
      const asked = [
        ...HTTP_ROUTES.map(async (route) => [route, await askHttp(server.httpUrl, route, CALLERS[caller])] as const),
        ...GRPC_ROUTES.map(async (route) => [route, await askGrpc(client, route, CALLERS[caller])] as const),
      ];
      for (const [{ name, kind, method, path }, outcome] of await Promise.all(asked)) {
        if (outcome !== expected(caller, kind))
          wrong.push(`${caller}: ${name} ${method} ${path} (${kind}): ${outcome}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(HTTP_ROUTES.length).toBeGreaterThan(30);
    expect(GRPC_ROUTES.length).toBeGreaterThan(25);
  },
);

test("with ports for administration and metrics, every route and method is answered at the ports of its kind alone", async () => {
  const server = await startServer({
    ...{ stages: [{ driver: "null" }], auth: await authFiles(), allowControl: "all", admin: {}, metrics: {} },
  });
  const client = new Client(server.grpcAddress, credentials.createInsecure());
  onTestFinished(() => client.close());
  const wrong: string[] = [];
  const check = (caller: string, { method, path }: Route, outcome: unknown, fate: unknown) => {
    if (outcome !== fate) wrong.push(`${caller}: ${method} ${path}: ${outcome}, not ${fate}`);
  };
  for (const caller of Object.keys(CALLERS) as (keyof typeof CALLERS)[]) {
    const asked = HTTP_ROUTES.flatMap((route) => {
      const { kind } = route;
      return [
        [route, kind === "control" || kind === "metrics", server.httpUrl],
        [route, kind === "inference" || kind === "metrics", server.adminUrl as string],
        [route, kind !== "metrics" && kind !== "health", server.metricsUrl as string],
      ] as const;
    });
    const ask = asked.map(async ([route, isElsewhere, url]) => {
      const [status, outcome] = await askStatus(url, route, CALLERS[caller]);
      check(caller, route, isElsewhere ? status : outcome, isElsewhere ? 404 : expected(caller, route.kind));
    });
    const askRpc = GRPC_ROUTES.map(async (route) => {
      const fate = route.kind === "control" ? 403 : expected(caller, route.kind);
      check(caller, route, await askGrpc(client, route, CALLERS[caller]), fate);
    });
    await Promise.all([...ask, ...askRpc]);
  }
  expect(wrong).toEqual([]);
});

/** `/v1/models/:name{/versions/:version}\\:predict` as clients write it. */
function toUrl(path: string, kind: CallKind): string {
  const filled = withoutOptional(path).replaceAll("\\", "").replace(":version", "1").replace(":region", "r");
  return filled.replace(/:(?:name|model)\b/, kind === "control" ? "absent" : "default");
}

/** Without the parts in braces, which may hold such parts themselves. */
function withoutOptional(path: string): string {
  const shorter = path.replaceAll(/\{[^{}]*\}/g, "");
  return shorter === path ? path : withoutOptional(shorter);
}

async function askHttp(url: string, route: Route, authorization?: string): Promise<"in" | number> {
  return (await askStatus(url, route, authorization))[1];
}

/** The status of an answer, and the fate of the call. */
async function askStatus(
  url: string,
  { method, path }: Route,
  authorization?: string,
): Promise<readonly [number, "in" | number]> {
  const [status, headers] = await new Promise<[number, IncomingHttpHeaders]>((resolve, reject) => {
    const options = { method, headers: { ...(authorization && { authorization }) }, ca: tlsFile("ca.pem") };
    const send = url.startsWith("https:") ? requestTls : requestPlain;
    const sent = send(`${url}${path}`, options, (response) => {
      response.resume().on("end", () => resolve([response.statusCode ?? 0, response.headers]));
    });
    sent.on("error", reject).end(method === "POST" ? "{}" : undefined);
  });
  if (status === 401 && !CHALLENGES.test(String(headers["www-authenticate"]))) return [status, 0];
  return [status, status === 401 || status === 403 ? status : "in"];
}

async function askGrpc(client: Client, { path, isStream }: Route, authorization?: string): Promise<"in" | number> {
  const metadata = new Metadata();
  if (authorization !== undefined) metadata.set("authorization", authorization);
  const error = await new Promise<Partial<ServiceError> | null>((resolve) => {
    if (!isStream) {
      client.makeUnaryRequest(path, asIs, asIs, Buffer.alloc(0), metadata, resolve);
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
