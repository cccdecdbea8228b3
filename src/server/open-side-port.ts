import type { AccessPolicy } from "../access/access-policy.ts";
import type { CallKind } from "../access/caller.ts";
import type { TlsFiles } from "../access/tls-files.ts";
import type { ErrorCode } from "../errors.ts";
import { createHttpServer, type HttpServer, type HttpServerOptions } from "../proxy/http-server.ts";
import type { InferenceService } from "../serving/inference-service.ts";
import type { TransportOptions } from "./transports.ts";

/** Settings of a port for some kinds of calls. */
interface SidePortOptions extends Omit<HttpServerOptions, "port"> {
  readonly port: number;
  readonly policy: AccessPolicy;
  readonly tls: TlsFiles | undefined;
}

/**
 * Serves HTTP on a separate port, encrypted if there are files for it; its policy
 * refuses what belongs to other ports.
 */
export async function openSidePort(
  service: InferenceService,
  options: SidePortOptions,
): Promise<Pick<HttpServer, "url" | "retire" | "close">> {
  const { tls: files, host, port, fd, connections, log } = options;
  // They would win over the routes that this port is for.
  const own = { ...options, hookRoutes: false };
  if (files === undefined) return createHttpServer(service, own);
  const http = await createHttpServer(service, { ...own, port: "shared" });
  const { openTls } = await import("./open-tls.ts");
  const sockets = fd === undefined ? {} : { http: fd };
  const users = {
    host,
    port: undefined,
    socketPath: undefined,
    httpPort: port,
    sockets,
    files,
    grpc: NO_GRPC,
    http,
    connections,
    log,
  };
  const tls = await openTls(users).catch(async (reason) => {
    await http.close(0);
    throw reason;
  });
  const close = (ms: number) => {
    tls.close();
    return http.close(ms);
  };
  return { url: tls.httpUrl as string, retire: http.retire, close };
}

const NO_GRPC = { accept: () => {} };

/** Permissions at each port, if some kinds of calls have their own. */
interface PortPolicies {
  /** Over gRPC. */
  readonly policy: AccessPolicy;
  /** Over HTTP. */
  readonly httpPolicy: AccessPolicy;
  readonly admin: AccessPolicy;
  readonly metrics: AccessPolicy;
}

const ADMIN = "This server answers such calls at its port for administration alone, over HTTP (--admin-port).";
const METRICS = "This server has its metrics at their own port alone (--metrics-port).";
const MODELS = "Models are run at the server's other ports, not at the one for administration.";
const ONLY_METRICS = "This port has metrics and health alone; the server's other ports answer this.";

/** Moves administration and metrics to the ports that they have. */
export function toPortPolicies(
  policy: AccessPolicy,
  { admin, metricsAddress }: Pick<TransportOptions, "admin" | "metricsAddress">,
): PortPolicies {
  const without = (code: ErrorCode) => {
    const rest =
      metricsAddress === undefined ? policy : policy.refusing({ kinds: ["metrics"], code, message: METRICS });
    if (admin === undefined) return rest;
    const kinds: readonly CallKind[] = metricsAddress === undefined ? ["control", "metrics"] : ["control"];
    return rest.refusing({ kinds, code, message: ADMIN });
  };
  const refuse = (one: AccessPolicy, kinds: readonly CallKind[], message: string) =>
    one.refusing({ kinds, code: "not_found", message });
  const administration = refuse(policy, ["inference"], MODELS);
  return {
    policy: without("permission_denied"),
    httpPolicy: without("not_found"),
    admin: metricsAddress === undefined ? administration : refuse(administration, ["metrics"], METRICS),
    metrics: refuse(policy, ["inference", "read", "control", "page"], ONLY_METRICS),
  };
}
