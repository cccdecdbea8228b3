import type { Server } from "node:tls";
import { onceInAWhile } from "../access/once-in-a-while.ts";
import type { TlsFiles } from "../access/tls-files.ts";
import { reasonText } from "../errors.ts";
import type { GrpcServer } from "../grpc/grpc-server.ts";
import type { Logger } from "../observability/logger.ts";
import { type ListenPlace, type PortLimit, toAuthority } from "../platform/net/listen.ts";
import type { HttpServer } from "../proxy/http-server.ts";
import type { InheritedSockets } from "./inherited-sockets.ts";
import { listenTls, listenTlsUnix, type TlsPort, type TlsPortUsers } from "./tls-port.ts";

/** The transports, which do not listen themselves, and where they are to be reached. */
export interface TlsTransports {
  readonly host: string;
  /** gRPC's port; undefined = it has none. */
  readonly port: number | undefined;
  /** Path of gRPC's Unix socket, if that is encrypted. */
  readonly socketPath: string | undefined;
  /** True if that is taken over from a server that listens there. */
  readonly takesSocketOver?: boolean | undefined;
  readonly httpPort: number | undefined;
  readonly sockets?: InheritedSockets | undefined;
  readonly files: TlsFiles;
  readonly grpc: Pick<GrpcServer, "accept">;
  /** Undefined = HTTP is not encrypted, or not served. */
  readonly http: Pick<HttpServer, "accept" | "acceptHttp2"> | undefined;
  readonly connections?: PortLimit | undefined;
  readonly log: Logger;
}

/** The encrypted ports. */
export interface OpenTls {
  /** Undefined if gRPC has no port. */
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
  const ofHttp = http && { http1: http.accept, http2: http.acceptHttp2 };
  try {
    if (socketPath !== undefined) opened.push(await listenTlsUnix(socketPath, toUsers({ http2 }), takesSocketOver));
    const isShared = sockets.http === undefined && port !== undefined && port !== 0 && port === httpPort;
    if (http1 !== undefined && isShared) {
      const address = await open({ port, fd: sockets.grpc }, { http1, http2 });
      return { grpcAddress: address, httpUrl: `https://${address}`, close };
    }
    const grpcAddress = port === undefined ? undefined : await open({ port, fd: sockets.grpc }, { http2 });
    const httpUrl = ofHttp && `https://${await open({ port: httpPort ?? 0, fd: sockets.http }, ofHttp)}`;
    return { grpcAddress, httpUrl, close };
  } catch (reason) {
    close();
    throw reason;
  }
}

type Users = Pick<TlsPortUsers, "http1" | "http2">;

/** Words of OpenSSL and Node, and what they mean to a person. The first that fits counts. */
const MEANINGS: readonly (readonly [pattern: RegExp, meaning: string])[] = [
  [/http request/, "it speaks HTTP without TLS; expected https:// at the client"],
  [/wrong version number|bad record type|invalid record/, "it does not speak TLS; expected grpcs:// or https:// there"],
  [/did not return a certificate/, "it shows no certificate, which --tls-client-ca asks for"],
  [/CERT_HAS_EXPIRED/, "its certificate has expired"],
  [/CERT_NOT_YET_VALID/, "its certificate is not valid yet"],
  [/SELF_SIGNED_CERT|UNABLE_TO_/, "its certificate is of no authority in the file of --tls-client-ca"],
  [/INVALID_PURPOSE/, "its certificate is not one for clients (extendedKeyUsage)"],
  [/no application protocol/, "it offers no protocol of this port (ALPN): h2 for gRPC, http/1.1 or h2 for HTTP"],
  [/unsupported protocol/, "it speaks neither TLS 1.2 nor TLS 1.3"],
  [/no shared cipher|no suitable key share/, "it offers no cipher or key exchange of this server"],
  [/alert (?:unknown ca|bad certificate|certificate)/, "it does not trust the certificate of this server"],
  [/TLS handshake timeout/, "it did not finish its handshake in time"],
];

/** Logs why clients did not get an encrypted connection: each reason once a minute, so that none hides another. */
export function warnOfRefused(
  log: Logger,
): (reason: Error, client?: { readonly remoteAddress?: string | undefined }) => void {
  const warnings = new Map<string, (address: string | undefined) => void>();
  const warningOf = (why: string) =>
    onceInAWhile((address: string | undefined) =>
      log.warn(`a client did not get an encrypted connection: ${why}`, address === undefined ? {} : { address }),
    );
  return (reason, client) => {
    const why = handshakeProblem(reason, client);
    const warn = warnings.get(why) ?? warningOf(why);
    warnings.set(why, warn);
    warn(client?.remoteAddress);
  };
}

/** The reason for which a handshake failed, without OpenSSL's addresses and lines. */
export function handshakeProblem(reason: Error, client: object = {}): string {
  const { authorizationError } = client as { readonly authorizationError?: unknown };
  const { reason: words, message } = reason as Error & { readonly reason?: unknown };
  const text = String(authorizationError ?? words ?? message);
  return MEANINGS.find(([pattern]) => pattern.test(text))?.[1] ?? text;
}

/** Milliseconds between two checks of the files of certificates. */
const CHECK_MS = 10_000;

/**
 * Has the files of certificates read again when they change, and logs what keeps clients from using them, until the
 * returned function is called. `servers` are those that listen by then.
 */
export function keepCertificate(
  files: Pick<TlsFiles, "refresh" | "validityProblem">,
  servers: () => readonly Pick<Server, "setSecureContext">[],
  log: Logger,
): () => void {
  const [sayProblem, sayValidity] = [oncePerText(), oncePerText()];
  const look = () => {
    const { text = "", isSoon = false } = files.validityProblem() ?? {};
    if (sayValidity(text)) log[isSoon ? "warn" : "error"](text);
  };
  const check = async () => {
    try {
      if (await files.refresh(servers())) log.info("new connections get the new certificate");
      sayProblem("");
    } catch (err) {
      // A certificate that is being replaced may be complete at the next check.
      if (sayProblem(reasonText(err))) log.error("the new certificate is not used; the old one stays", { err });
    }
    look();
  };
  look();
  const timer = setInterval(() => void check(), CHECK_MS).unref();
  return () => clearInterval(timer);
}

/** True for a text that is not empty, and not the one of the last call. */
function oncePerText(): (text: string) => boolean {
  let last = "";
  return (text) => {
    const isNew = text !== "" && text !== last;
    last = text;
    return isNew;
  };
}
