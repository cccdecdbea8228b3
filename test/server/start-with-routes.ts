import { onTestFinished, vi } from "vitest";
import type { CallKind } from "../../src/access/caller.ts";
import type { CreateGrpcProtocol, GrpcRoutes } from "../../src/grpc/grpc-route.ts";
import type { ProtocolSettings } from "../../src/platform/limits/settings/server-settings.ts";
import type { CreateHttpProtocol, HttpDependencies } from "../../src/proxy/http-route.ts";
import { PipelineSource } from "../../src/server/model-source.ts";
import { PROTOCOLS } from "../../src/server/protocols.ts";
import { openServer, type Server } from "../../src/server/server.ts";
import { type ServerOptions, withDefaults } from "../../src/server/server-options.ts";
import type { HookRoutes } from "../../src/serving/hook-routes.ts";
import { encodeAs } from "../../src/tensor/codecs/protobuf/proto-messages.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

/** A route or method of a protocol, whatever it is. */
export interface ServedRoute {
  readonly name: string;
  readonly kind: CallKind;
  readonly method: string;
  readonly path: string;
  readonly isStream?: boolean;
  readonly message?: Uint8Array;
}

/** A server, and all of its routes. */
interface RoutedServer extends Server {
  readonly httpUrl: string;
  readonly httpRoutes: readonly ServedRoute[];
  readonly grpcRoutes: readonly ServedRoute[];
}

type OptionalNames<T> = { [Name in keyof T]-?: undefined extends T[Name] ? Name : never }[keyof T];

/**
 * Options on which routes may depend; whether the server has them is checked, so that none of its routes is missing.
 */
const OPTIONAL: Readonly<Record<Exclude<OptionalNames<HttpDependencies>, NoRoutes>, true>> = {
  ...{ page: true, platform: true },
};

/** Options that add no routes. */
type NoRoutes = "clients" | "grpcPort" | "hasPlatformElsewhere" | "inParts" | "media" | "sharedMemory" | "tracer";

/** As {@link OPTIONAL}, of the settings; without those that add no routes. */
const SWITCHES: Readonly<Record<Exclude<BooleanNames<ProtocolSettings>, NoSwitches>, true>> = {
  ...{ simpleTensorflowServing: true, kserveRoutes: true, openvinoMetadata: true, ui: true, mcp: true },
};

type BooleanNames<T> = { [Name in keyof T]: T[Name] extends boolean ? Name : never }[keyof T];
type NoSwitches = "tensorContent" | "requireModelSpec" | "checkMethodNames" | "ignoreUnknownOutputs" | "allowClientShm";

/**
 * Starts a server with everything that adds routes; its routes are those that its
 * protocols made for it, and that its hooks declare.
 */
export async function startWithRoutes(options: ServerOptions): Promise<RoutedServer> {
  const made = recordProtocols();
  const everything: ServerOptions = {
    ...{ http: {}, stages: [{ driver: "null" }], simpleTensorflowServing: true, kserveRoutes: true },
    openvinoMetadata: true,
    mcp: true,
    hooks: { rawRequest: { path: "/of-hooks", methods: ["GET", "POST"], answer: () => ({ body: {} }) } },
    ...options,
  };
  const choices = { ...withDefaults(everything), platform: { named: "/opt/ml/models", path: tempFolder() } };
  const server = await openServer(choices, new PipelineSource(choices));
  onTestFinished(() => server.close());
  const ofHooks = server.service.hookRoutes?.() ?? new Map();
  const httpRoutes = [...made.http(), ...routesOfHooks(ofHooks)];
  return { ...server, httpUrl: server.httpUrl as string, httpRoutes, grpcRoutes: made.grpc() };
}

/** Watches the protocols make their routes for the server that is started next. */
function recordProtocols() {
  const http = PROTOCOLS.flatMap((protocol) =>
    protocol.http === undefined
      ? []
      : { name: protocol.name, spy: vi.spyOn(protocol as { http: CreateHttpProtocol }, "http") },
  );
  const grpc = PROTOCOLS.flatMap((protocol) =>
    protocol.grpc === undefined
      ? []
      : { name: protocol.name, spy: vi.spyOn(protocol as { grpc: CreateGrpcProtocol }, "grpc") },
  );
  onTestFinished(() => void vi.restoreAllMocks());
  return {
    http: () => http.flatMap(({ name, spy }) => toHttpRoutes(name, spy.mock.calls[0]?.[0], spy.mock.results[0]?.value)),
    grpc: () => grpc.flatMap(({ name, spy }) => toGrpcRoutes(name, spy.mock.results[0]?.value.routes)),
  };
}

/** Routes over HTTP; what changes something is asked to do so to a model that there is not. */
function toHttpRoutes(
  name: string,
  dependencies: HttpDependencies | undefined,
  { inference, routes = [] }: ReturnType<CreateHttpProtocol>,
): readonly ServedRoute[] {
  const isOff = (key: string) => !dependencies?.settings[key as keyof typeof SWITCHES];
  const isMissing = (key: string) => !dependencies?.[key as keyof typeof OPTIONAL];
  const missing = [...Object.keys(OPTIONAL).filter(isMissing), ...Object.keys(SWITCHES).filter(isOff)];
  if (missing.length > 0) throw new Error(`The server has no ${missing.join(", ")}, on which routes may depend.`);
  const all = [...inference.map(({ path }) => ({ method: "POST", path, kind: "inference" as const })), ...routes];
  return all.map(({ method, path, kind }) => ({ name, kind, method, path: toUrl(path, kind) }));
}

function toGrpcRoutes(name: string, routes: GrpcRoutes): readonly ServedRoute[] {
  return Object.entries(routes).flatMap(([path, route]) => {
    const own = { name, kind: route.kind, method: "gRPC", path, isStream: "stream" in route };
    const change = CHANGES[path];
    return change === undefined ? own : [own, { ...own, kind: "control" as const, message: change }];
  });
}

const SERVICE = "/inference.GRPCInferenceService";
/** Messages of methods that read unless the message says what to change. */
const CHANGES: Readonly<Record<string, Uint8Array>> = {
  [`${SERVICE}/LogSettings`]: encodeAs("inference.LogSettingsRequest", {
    settings: { log_info: { bool_param: true } },
  }),
  [`${SERVICE}/TraceSetting`]: encodeAs("inference.TraceSettingRequest", {
    settings: { trace_rate: { value: ["1"] } },
  }),
};

function routesOfHooks(routes: HookRoutes): readonly ServedRoute[] {
  return [...routes].flatMap(([path, methods]) =>
    [...methods.keys()].map((method) => ({ name: "hooks", kind: "inference" as const, method, path })),
  );
}

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
