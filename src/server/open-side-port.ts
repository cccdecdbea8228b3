import type { AccessPolicy } from "../access/access-policy.ts";
import type { TlsFiles } from "../access/tls-files.ts";
import { createHttpServer, type HttpServer, type HttpServerOptions } from "../proxy/http-server.ts";
import type { InferenceService } from "../serving/inference-service.ts";

/** Settings of a port for some kinds of calls. */
interface SidePortOptions extends Omit<HttpServerOptions, "port"> {
  readonly port: number;
  readonly policy: AccessPolicy;
  readonly tls: TlsFiles | undefined;
}

/**
 * Serves HTTP on a separate port, encrypted where there are files for it; its policy
 * refuses what belongs to other ports.
 */
export async function openSidePort(
  service: InferenceService,
  options: SidePortOptions,
): Promise<Pick<HttpServer, "url" | "retire" | "close">> {
  const { tls: files, host, port, fd, log } = options;
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
