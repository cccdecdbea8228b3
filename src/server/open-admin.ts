import type { AccessPolicy } from "../access/access-policy.ts";
import type { CallKind } from "../access/caller.ts";
import type { TlsFiles } from "../access/tls-files.ts";
import { createHttpServer, type HttpServer, type HttpServerOptions } from "../proxy/http-server.ts";
import type { InferenceService } from "../serving/inference-service.ts";

/** An address of its own for calls that change the server, and for metrics. */
export interface AdminAddress {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** 0 (default) picks a free one. */
  readonly port?: number;
}

/** Kinds of calls that move there; models are run at the other ports alone. */
const MOVED: readonly CallKind[] = ["control", "metrics"];

/** The permissions at the other ports, over HTTP and over gRPC, where there is an address for administration. */
export function withoutAdmin(policy: AccessPolicy): {
  readonly policy: AccessPolicy;
  readonly httpPolicy: AccessPolicy;
} {
  const message = "This server answers such calls at its port for administration alone, over HTTP (--admin-port).";
  return {
    policy: policy.refusing({ kinds: MOVED, code: "permission_denied", message }),
    httpPolicy: policy.refusing({ kinds: MOVED, code: "not_found", message }),
  };
}

/** Serves everything but inference over HTTP, encrypted where there are files for that. */
export async function openAdmin(
  service: InferenceService,
  options: HttpServerOptions & { readonly tls: TlsFiles | undefined },
): Promise<Pick<HttpServer, "url" | "retire" | "close">> {
  const { tls: files, host, port, log } = options;
  const message = "Models are run at the server's other ports, not at the one for administration.";
  const policy = options.policy?.refusing({ kinds: ["inference"], code: "not_found", message });
  const own = { ...options, ...(policy && { policy }), hookRoutes: false };
  if (files === undefined || port === "shared") return createHttpServer(service, own);
  const http = await createHttpServer(service, { ...own, port: "shared" });
  const { openTls } = await import("./open-tls.ts");
  const users = { host, port: undefined, socketPath: undefined, httpPort: port, files, grpc: NOBODY, http, log };
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

const NOBODY = { accept: () => {} };
