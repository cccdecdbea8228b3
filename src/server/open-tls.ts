import type { TlsFiles } from "../access/tls-files.ts";
import type { GrpcServer } from "../grpc/grpc-server.ts";
import { type ListenPlace, type PortLimit, toAuthority } from "../net/listen.ts";
import type { Logger } from "../observability/logger.ts";
import type { HttpServer } from "../proxy/http-server.ts";
import { warnOfRefused } from "./handshake-problem.ts";
import type { InheritedSockets } from "./inherited-sockets.ts";
import { keepCertificate } from "./keep-certificate.ts";
import { listenTls, listenTlsUnix, type TlsPort, type TlsPortUsers } from "./tls-port.ts";

/** The transports, which do not listen themselves, and where they are to be reached. */
export interface TlsTransports {
  readonly host: string;
  /** gRPC's port; undefined = it has none. */
  readonly port: number | undefined;
  /** Path of gRPC's Unix socket, where that is encrypted. */
  readonly socketPath: string | undefined;
  /** True where that is taken over from a server that listens there. */
  readonly takesSocketOver?: boolean | undefined;
  readonly httpPort: number | undefined;
  readonly sockets?: InheritedSockets | undefined;
  readonly files: TlsFiles;
  readonly grpc: Pick<GrpcServer, "accept">;
  /** Undefined = HTTP is not encrypted, or not served. */
  readonly http: Pick<HttpServer, "accept"> | undefined;
  readonly connections?: PortLimit | undefined;
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
  takesSocketOver,
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
    stop();
    for (const one of opened) one.close(graceMs);
  };
  const stop = keepCertificate(files, () => opened.map(({ server }) => server), log);
  const onRefused = warnOfRefused(log);
  const toUsers = (users: Users) => ({
    ...users,
    credentials: files.credentials,
    connections,
    onRefused,
  });
  const open = async (place: Omit<ListenPlace, "host">, users: Users) => {
    const one = await listenTls({ ...place, host }, toUsers(users));
    opened.push(one);
    return toAuthority(one.host, one.port);
  };
  const [http1, http2] = [http?.accept, grpc.accept];
  try {
    if (socketPath !== undefined) opened.push(await listenTlsUnix(socketPath, toUsers({ http2 }), takesSocketOver));
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
