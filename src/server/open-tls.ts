import type { TlsFiles } from "../access/tls-files.ts";
import type { GrpcServer } from "../grpc/grpc-server.ts";
import { toAuthority } from "../net/authority.ts";
import type { Logger } from "../observability/logger.ts";
import type { HttpServer } from "../proxy/http-server.ts";
import { listenTls, type TlsPort, type TlsPortUsers } from "./tls-port.ts";

/** Seconds between two looks at the files of certificates. */
const LOOK_S = 10;
/** Milliseconds in which handshakes that fail are logged once. */
const REFUSED_LOG_MS = 60_000;

/** The transports, which do not listen themselves, and where they are to be reached. */
export interface TlsWires {
  readonly host: string;
  readonly port: number;
  readonly httpPort: number | undefined;
  readonly files: TlsFiles;
  readonly grpc: Pick<GrpcServer, "accept">;
  readonly http: Pick<HttpServer, "accept"> | undefined;
  readonly log: Logger;
}

/** The encrypted ports. */
export interface OpenTls {
  readonly grpcAddress: string;
  readonly httpUrl: string | undefined;
  /** Takes no new connections. */
  close(): void;
}

/** Opens one port for both transports or one for each, encrypted, and reads certificates again when they change. */
export async function openTls(wires: TlsWires): Promise<OpenTls> {
  const { host, port, httpPort, files, grpc, http, log } = wires;
  const open = (users: Pick<TlsPortUsers, "http1" | "http2">, number: number) =>
    listenTls(host, number, { ...users, credentials: files.credentials, onRefused: onceInAWhile(log) });
  const users = { http1: http?.accept, http2: grpc.accept };
  const isShared = http !== undefined && port !== 0 && port === httpPort;
  const ports: TlsPort[] = [];
  const close = () => {
    clearInterval(timer);
    for (const one of ports) one.close();
  };
  const timer = setInterval(() => void refresh(files, ports, log), LOOK_S * 1000).unref();
  try {
    ports.push(await open(isShared ? (users as TlsPortUsers) : { http2: users.http2 }, port));
    if (http !== undefined && !isShared) ports.push(await open({ http1: http.accept }, httpPort ?? 0));
  } catch (reason) {
    close();
    throw reason;
  }
  const [first, second = first] = ports;
  const httpUrl = http === undefined ? undefined : `https://${toAuthority(host, second!.port)}`;
  return { grpcAddress: toAuthority(host, first!.port), httpUrl, close };
}

/** A certificate that is being replaced may be whole at the next look. */
async function refresh(files: TlsFiles, ports: readonly TlsPort[], log: Logger): Promise<void> {
  try {
    const isNew = await files.refresh(ports.map(({ server }) => server));
    if (isNew) log.info("new connections get the new certificate");
  } catch (err) {
    log.error("the new certificate is not used; the old one stays", { err });
  }
}

/** One line for all clients of a minute: anyone can make as many as they like. */
function onceInAWhile(log: Logger): (reason: Error) => void {
  let quietUntil = 0;
  return ({ message }) => {
    if (performance.now() < quietUntil) return;
    quietUntil = performance.now() + REFUSED_LOG_MS;
    log.warn(`a client did not get an encrypted connection: ${message}`);
  };
}
