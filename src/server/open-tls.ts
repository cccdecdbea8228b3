import { onceInAWhile } from "../access/once-in-a-while.ts";
import type { TlsFiles } from "../access/tls-files.ts";
import type { GrpcServer } from "../grpc/grpc-server.ts";
import type { ConnectionLimit } from "../limits/connection-limit.ts";
import { toAuthority } from "../net/authority.ts";
import type { ListenPlace } from "../net/listen.ts";
import type { Logger } from "../observability/logger.ts";
import type { HttpServer } from "../proxy/http-server.ts";
import type { InheritedSockets } from "./inherited-sockets.ts";
import { listenTls, listenTlsUnix, type TlsPort, type TlsPortUsers } from "./tls-port.ts";

/** Seconds between two checks of the files of certificates. */
const CHECK_S = 10;

/** The transports, which do not listen themselves, and where they are to be reached. */
export interface TlsTransports {
  readonly host: string;
  /** gRPC's port; undefined = it has none. */
  readonly port: number | undefined;
  /** Path of gRPC's Unix socket, where that is encrypted. */
  readonly socketPath: string | undefined;
  readonly httpPort: number | undefined;
  readonly sockets?: InheritedSockets | undefined;
  readonly files: TlsFiles;
  readonly grpc: Pick<GrpcServer, "accept">;
  /** Undefined = HTTP is not encrypted, or not served. */
  readonly http: Pick<HttpServer, "accept"> | undefined;
  readonly connections?: ConnectionLimit | undefined;
  readonly log: Logger;
}

/** The encrypted ports. */
export interface OpenTls {
  /** Undefined where gRPC has no port. */
  readonly grpcAddress: string | undefined;
  readonly httpUrl: string | undefined;
  /** Takes no new connections; those in their handshake have some time to finish it. */
  close(graceMs?: number): void;
}

/** Opens one port for both transports or one for each, encrypted, and reads certificates again when they change. */
export async function openTls({
  host,
  port,
  socketPath,
  httpPort,
  sockets = {},
  files,
  grpc,
  http,
  connections,
  log,
}: TlsTransports): Promise<OpenTls> {
  const opened: Pick<TlsPort, "server" | "close">[] = [];
  const close = (graceMs = 0) => {
    clearInterval(timer);
    for (const one of opened) one.close(graceMs);
  };
  const timer = setInterval(() => void refresh(files, opened, log), CHECK_S * 1000).unref();
  const toUsers = (users: Users) => ({
    ...users,
    credentials: files.credentials,
    connections,
    onRefused: warnOfRefused(log),
  });
  const open = async (place: Omit<ListenPlace, "host">, users: Users) => {
    const one = await listenTls({ ...place, host }, toUsers(users));
    opened.push(one);
    return toAuthority(one.host, one.port);
  };
  const [http1, http2] = [http?.accept, grpc.accept];
  try {
    if (socketPath !== undefined) opened.push(await listenTlsUnix(socketPath, toUsers({ http2 })));
    const isShared = sockets.http === undefined && port !== undefined && port !== 0 && port === httpPort;
    if (http1 !== undefined && isShared) {
      const address = await open({ port, fd: sockets.grpc }, { http1, http2 });
      return { grpcAddress: address, httpUrl: `https://${address}`, close };
    }
    const grpcAddress = port === undefined ? undefined : await open({ port, fd: sockets.grpc }, { http2 });
    const httpUrl =
      http1 === undefined ? undefined : `https://${await open({ port: httpPort ?? 0, fd: sockets.http }, { http1 })}`;
    return { grpcAddress, httpUrl, close };
  } catch (reason) {
    close();
    throw reason;
  }
}

type Users = Pick<TlsPortUsers, "http1" | "http2">;

/** A certificate that is being replaced may be complete at the next check. */
async function refresh(files: TlsFiles, ports: readonly Pick<TlsPort, "server">[], log: Logger): Promise<void> {
  try {
    const isNew = await files.refresh(ports.map(({ server }) => server));
    if (isNew) log.info("new connections get the new certificate");
  } catch (err) {
    log.error("the new certificate is not used; the old one stays", { err });
  }
}

/** One line for all clients of a minute: anyone can make as many as they like. */
function warnOfRefused(log: Logger): (reason: Error) => void {
  return onceInAWhile(({ message }) => log.warn(`a client did not get an encrypted connection: ${message}`));
}
