import type { Socket } from "node:net";
import { TlsFiles, type TlsPaths } from "../../access/tls-files.ts";
import { createHttpServer, type HttpServer, type HttpServerOptions } from "../../proxy/http-server.ts";
import { bothTransports } from "../../server/both-transports.ts";
import type { InferenceService } from "../../serving/inference-service.ts";

/** There is no port on which it would be asked. */
const NO_GRPC = { accept: (socket: Socket) => void socket.destroy() };

/**
 * The HTTP port of `kserving proxy`, encrypted where there are files for it; throws
 * `unavailable` when it cannot be had.
 */
export async function openProxyPort(
  service: InferenceService,
  options: HttpServerOptions & { readonly port: number },
  paths: TlsPaths | undefined,
): Promise<Pick<HttpServer, "url" | "close" | "retire">> {
  if (paths === undefined) return createHttpServer(service, options);
  const files = await TlsFiles.open(paths);
  const { openTls } = await import("../../server/open-tls.ts");
  const http = await createHttpServer(service, { ...options, port: "shared" });
  const { host, port: httpPort, connections, log } = options;
  const ports = { host, port: undefined, socketPath: undefined, httpPort, connections };
  const tls = await openTls({ ...ports, files, grpc: NO_GRPC, http, log }).catch(async (reason) => {
    await http.close(0);
    throw reason;
  });
  const { retire, close: closeHttp, graceMs } = bothTransports(http, undefined);
  const close = (drainTimeoutMs: number) => {
    tls.close(graceMs());
    return closeHttp(drainTimeoutMs);
  };
  return { url: tls.httpUrl ?? "", retire, close };
}
