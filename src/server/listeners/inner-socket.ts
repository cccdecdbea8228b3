import { randomBytes, timingSafeEqual } from "node:crypto";
import { connect, createServer, type Socket } from "node:net";
import { markPassedOn } from "../../platform/net/sockets.ts";
import type { InnerAddress } from "./listener-messages.ts";

/** Facts about a connection that a listener passes on. */
interface PassedConnection {
  readonly isHttp2: boolean;
  readonly address: string;
  readonly port: number;
  /** The server's own address, to which the client is connected. */
  readonly localAddress: string | undefined;
  readonly localPort: number | undefined;
  readonly isEncrypted: boolean;
  /** The client's certificate, if an authority of ours has signed it. */
  readonly certificate?: { readonly subject?: { readonly CN?: unknown }; readonly subjectaltname?: string };
}

/** Parts of a client's connection that are passed on. */
type ClientSocket = Socket & {
  readonly encrypted?: boolean;
  readonly authorized?: boolean;
  getPeerCertificate?(): Certificate;
};

/** Size of the line about a connection, at most: a certificate has as many names as its authority likes. */
const MAX_LINE_BYTES = 64 * 1024;
const NEWLINE = 10;
/**
 * Connections that may wait to be accepted, as far as the system lets so many: a Unix socket refuses further ones at
 * once, where one of TCP has them try again.
 */
const BACKLOG = 65_535;
/** Milliseconds that the line may take. */
const LINE_MS = 5000;

/** The inside of a server: where its main thread takes connections of its own threads. */
export interface InnerSocket extends InnerAddress {
  close(): void;
}

/** Opens a socket without a file, which nothing but this process can use: others do not know the token. */
export async function listenInner(users: {
  readonly http1: ((socket: Socket) => void) | undefined;
  readonly http2: (socket: Socket) => void;
}): Promise<InnerSocket> {
  const path = `\0kserving-${process.pid}-${randomBytes(12).toString("hex")}`;
  const token = randomBytes(32).toString("hex");
  const server = createServer((socket) => {
    readLine(socket, (line) => {
      const passed = parse(line, token);
      const use = passed?.isHttp2 ? users.http2 : users.http1;
      if (passed === undefined || use === undefined) socket.destroy();
      else use(describe(socket, passed));
    });
  });
  await new Promise<void>((resolve, reject) =>
    server.once("error", reject).listen({ path, backlog: BACKLOG }, resolve),
  );
  return { path, token, close: () => void server.close() };
}

/** Connects to the main thread for what a client's connection sends. */
export function connectInner({ path, token }: InnerAddress, client: ClientSocket, isHttp2: boolean): Socket {
  const { remoteAddress: address = "", remotePort: port = 0, localAddress, localPort } = client;
  const passed: PassedConnection = {
    isHttp2,
    address,
    port,
    localAddress,
    localPort,
    isEncrypted: client.encrypted === true,
    ...(client.authorized === true && { certificate: certificateOf(client) }),
  };
  const socket = connect(path);
  socket.write(`${token}${JSON.stringify(passed)}\n`);
  return socket;
}

type Certificate = NonNullable<PassedConnection["certificate"]>;

const certificates = new WeakMap<Socket, Certificate>();

/** The names in a client's certificate, read once for a connection: it may pass on thousands of requests. */
function certificateOf(client: ClientSocket): Certificate {
  const known = certificates.get(client);
  if (known !== undefined) return known;
  const { subject, subjectaltname } = client.getPeerCertificate?.() ?? {};
  const read = { ...(subject && { subject: { CN: subject.CN } }), ...(subjectaltname && { subjectaltname }) };
  certificates.set(client, read);
  return read;
}

/** Undefined for a line of another program, which may find the socket and does not know the token. */
function parse(line: string, token: string): PassedConnection | undefined {
  if (!isEqual(line.slice(0, token.length), token)) return undefined;
  return JSON.parse(line.slice(token.length)) as PassedConnection;
}

function readLine(socket: Socket, use: (line: string) => void): void {
  const giveUp = () => socket.destroy();
  const timer = setTimeout(giveUp, LINE_MS).unref();
  socket.once("close", () => clearTimeout(timer));
  let first = Buffer.alloc(0);
  const look = () => {
    const more: Buffer | null = socket.read();
    if (more === null) return;
    first = Buffer.concat([first, more]);
    const end = first.indexOf(NEWLINE);
    if (end < 0 && first.length <= MAX_LINE_BYTES) return;
    clearTimeout(timer);
    socket.off("readable", look).off("end", giveUp).off("error", giveUp);
    if (end < 0) {
      socket.destroy();
      return;
    }
    if (end + 1 < first.length) socket.unshift(first.subarray(end + 1));
    use(first.toString("utf8", 0, end));
  };
  socket.on("readable", look).on("end", giveUp).on("error", giveUp);
}

/** Gives the connection the facts of the client's. */
function describe(socket: Socket, passed: PassedConnection): Socket {
  const { address, port, localAddress, localPort, isEncrypted, certificate } = passed;
  const values = {
    remoteAddress: address,
    remotePort: port,
    localAddress,
    localPort,
    ...(isEncrypted && { encrypted: true }),
    ...(certificate !== undefined && { authorized: true, getPeerCertificate: () => certificate }),
  };
  for (const [name, value] of Object.entries(values)) Object.defineProperty(socket, name, { value });
  return markPassedOn(socket);
}

function isEqual(given: string, own: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(own)];
  return one.length === other.length && timingSafeEqual(one, other);
}
