import type { TlsFiles } from "../access/tls-files.ts";
import type { InferenceService } from "../serving/inference-service.ts";
import { bothTransports } from "./both-transports.ts";
import { type Opening, startGrpc, startHttp } from "./start-transport.ts";
import type { Transports } from "./transports.ts";

/** Opens encrypted ports, both or gRPC's alone, with its Unix socket. */
export async function openEncrypted(
  service: InferenceService,
  options: Opening & { tls: TlsFiles },
): Promise<Transports> {
  const {
    host,
    httpPort,
    tls: files,
    sockets,
    grpcSocketPath,
    grpcSocketTakeover,
    grpcSocketOnly,
    connections,
    log,
  } = options;
  const isForGrpc = files.isForGrpcAlone;
  const { openTls } = await import("./open-tls.ts");
  const grpc = await startGrpc(service, isForGrpc ? withoutSocket(options) : options, "shared");
  const http = httpPort === undefined ? undefined : await startHttp(service, options, isForGrpc ? httpPort : "shared");
  const { retire, close: closeBoth, graceMs } = bothTransports(grpc, http);
  const tls = await openTls({
    host,
    httpPort,
    sockets,
    files,
    grpc,
    connections,
    log,
    port: grpcSocketOnly ? undefined : options.port,
    socketPath: isForGrpc ? grpcSocketPath : undefined,
    takesSocketOver: grpcSocketTakeover,
    http: isForGrpc ? undefined : http,
  }).catch(async (reason) => {
    await closeBoth(0);
    throw reason;
  });
  const close = (ms: number) => {
    tls.close(graceMs());
    return closeBoth(ms);
  };
  const { grpcAddress = `unix:${grpcSocketPath}` } = tls;
  return { grpcAddress, httpUrl: isForGrpc ? http?.url : tls.httpUrl, isEncrypted: true, retire, close };
}

function withoutSocket({ grpcSocketPath: _, ...options }: Opening): Opening {
  return options;
}
