import type { Http2Session, ServerHttp2Stream } from "node:http2";
import { type Server, Socket } from "node:net";
import { TLSSocket } from "node:tls";

// The only file that uses members of Node's sockets, servers and streams which Node does not document. Each function
// says by its result that the Node.js which runs lacks them; what its callers do then is in
// docs/decisions/grpc-on-http2-streams.md.

/** Stops and starts reading a socket below the HTTP/2 session that owns it. */
export interface ReadSwitch {
  readStop(): void;
  readStart(): void;
}

/** The switch of a session's socket; undefined if it has none. */
export function readSwitchOf(socket: Socket): ReadSwitch | undefined {
  const handle = handleOf<ReadSwitch>(socket);
  return typeof handle?.readStop === "function" ? (handle as ReadSwitch) : undefined;
}

/** The descriptor of a connection without unsent bytes; undefined if it has some, or if that is not known. */
export function idleDescriptorOf(socket: Socket): number | undefined {
  const { fd = -1, writeQueueSize } = handleOf<{ readonly fd: number; readonly writeQueueSize: number }>(socket) ?? {};
  return fd >= 0 && writeQueueSize === 0 ? fd : undefined;
}

/** The handle of an encrypted connection, above that of the connection that carries it. */
interface EncryptedHandle {
  readonly _parentWrap: Socket;
  readonly _parent: { readonly writeQueueSize: number; readonly bytesWritten: number };
  /** Encrypted bytes that the carrying connection has not taken, or not reported as sent. */
  readonly writeQueueSize: number;
}

/** The handle of what carries a connection: of an encrypted one, that below its encryption. */
function carrierOf(socket: Socket): { readonly writeQueueSize?: number; readonly bytesWritten?: number } {
  const handle = handleOf<EncryptedHandle>(socket);
  return (socket instanceof TLSSocket ? handle?._parent : handle) ?? {};
}

/** Bytes that the system has taken of a connection, encrypted ones if it is; they grow alone. */
export function sentBytesOf(socket: Socket): number {
  const { writeQueueSize = 0, bytesWritten = 0 } = carrierOf(socket);
  return bytesWritten - writeQueueSize;
}

/** Bytes of a connection that the system has not taken. */
export function unsentBytesOf(socket: Socket): number {
  return Math.max(socket.writableLength, carrierOf(socket).writeQueueSize ?? 0);
}

/**
 * The bytes that an encrypted connection had sent when it stopped: it has more, and the connection that carries it has
 * nothing to send. Undefined if it goes on, as far as that can be known.
 */
export function stoppedAt(socket: TLSSocket): number | undefined {
  const { writeQueueSize = 0, _parent: carrier } = handleOf<EncryptedHandle>(socket) ?? {};
  return writeQueueSize > 0 && carrier?.writeQueueSize === 0 ? carrier.bytesWritten : undefined;
}

/**
 * Ends a connection with a reset, so that the system drops what the client has not read. If Node resets none (a Unix
 * socket, an encrypted connection without the one that carries it), it is closed.
 */
export function resetConnection(socket: Socket): void {
  try {
    carrierSocketOf(socket).resetAndDestroy();
  } catch {
    // It is not of TCP.
  }
  socket.destroy();
}

/** The connection that carries an encrypted one; any other is its own. */
export function carrierSocketOf(socket: Socket): Socket {
  return socket instanceof TLSSocket ? (handleOf<EncryptedHandle>(socket)?._parentWrap ?? socket) : socket;
}

/** The HTTP/2 session of a connection; undefined if there is none yet, or that is not known. */
export function sessionOf(socket: Socket): Http2Session | undefined {
  const name = symbolOf(socket, "session");
  return name && (socket as unknown as Record<symbol, Http2Session | undefined>)[name];
}

/** True while a session has streams; undefined if that is not known. */
export function hasStreams(session: Http2Session): boolean | undefined {
  const name = symbolOf(session, "state");
  const { streams } = (name && (session as unknown as Record<symbol, { streams?: Map<number, unknown> }>)[name]) ?? {};
  return streams instanceof Map ? streams.size > 0 : undefined;
}

/** A connection that the system has accepted, before Node creates its socket. */
export interface AcceptedConnection {
  createSocket(): void;
  close(): void;
}

/**
 * Calls back for each connection that a listening server accepts, in place of creating its socket; the system gives all
 * that wait at once. Returns false, without effect, if Node creates them itself.
 */
export function onAccepted(server: Server, listener: (connection: AcceptedConnection) => void): boolean {
  const handle = handleOf<ListeningHandle>(server);
  const createSocket = handle?.onconnection;
  if (handle === undefined || typeof createSocket !== "function") return false;
  handle.onconnection = (error, accepted) => {
    if (accepted === undefined) createSocket.call(handle, error, accepted);
    else listener({ createSocket: () => createSocket.call(handle, error, accepted), close: () => accepted.close() });
  };
  return true;
}

/** A listening socket's handle. */
interface ListeningHandle {
  onconnection: (this: unknown, error: number, accepted: { close(): void } | undefined) => void;
}

/** A listening socket of the system below a server's, which other processes may have too. */
export interface ListeningSocket {
  readonly fd: number;
  close(): void;
}

/**
 * The socket on which a server listens, to be sent to another process: as a server it would take connections there.
 * Undefined if that is not known.
 */
export function listeningSocketOf(server: Server): ListeningSocket | undefined {
  const handle = handleOf<ListeningSocket>(server);
  return typeof handle?.fd === "number" ? (handle as ListeningSocket) : undefined;
}

/**
 * True if node:http has paused a socket, because its client does not read answers; false if that is not known.
 */
export function isPausedByHttp(socket: Socket): boolean {
  return (socket as { readonly _paused?: boolean })._paused === true;
}

function handleOf<Handle>(owner: Socket | Server): Partial<Handle> | undefined {
  return (owner as { readonly _handle?: Partial<Handle> | null })._handle ?? undefined;
}

/** Takes the bytes that a stream or a socket receives. */
export interface StreamReceiver {
  /**
   * Buffer for the next bytes; never empty. Its memory may neither be freed nor transferred until this is called again.
   */
  writeBuffer(): Uint8Array;
  /** Called with the number of bytes written there; never throws. */
  commit(bytes: number): void;
}

/**
 * Lets Node write a stream's or an accepted socket's data into the receiver's buffer, as `net.connect({ onread })` does
 * for a client's socket. Otherwise each read allocates a buffer, and large messages keep V8 collecting garbage. The
 * stream still has to be resumed, and emits `end`. Returns false, without effect, if this version of Node cannot do
 * it, and for encrypted sockets: those deliver decrypted data even after a pause.
 */
export function receiveInto(stream: ServerHttp2Stream | Socket, receiver: StreamReceiver): boolean {
  const handle = streamHandleOf(stream);
  if (stream instanceof TLSSocket || handle === undefined || READ_MEMBERS === undefined) return false;
  const target = receiver.writeBuffer();
  const receiving = stream as Receiving;
  receiving[RECEIVER] = receiver;
  receiving[READ_MEMBERS.buffer] = target;
  receiving[READ_MEMBERS.filled] = passOn;
  receiving[READ_MEMBERS.next] = takeNextBuffer;
  handle.useUserBuffer(target);
  return true;
}

const RECEIVER = Symbol("receiver");

interface Receiving extends ServerHttp2Stream {
  [RECEIVER]?: StreamReceiver;
  [member: symbol]: unknown;
}

/** The buffer for which Node asks right after it has reported bytes. */
let nextBuffer: Uint8Array | undefined;

/** The same function for all streams: closures for each stream stayed alive until V8 collected the whole heap. */
function passOn(this: Receiving, bytes: number): void {
  const receiver = this[RECEIVER] as StreamReceiver;
  receiver.commit(bytes);
  nextBuffer = receiver.writeBuffer();
}

function takeNextBuffer(): Uint8Array | undefined {
  const next = nextBuffer;
  nextBuffer = undefined;
  return next;
}

/** The handle below a stream. */
interface StreamHandle {
  useUserBuffer(buffer: Uint8Array): void;
}

/**
 * Checks if streams of this version of Node support {@link receiveInto}, as far as that can be known before there is a
 * stream.
 */
export function hasReceivePlace(): boolean {
  return READ_MEMBERS !== undefined;
}

/**
 * The names of a stream's members for its buffer, its listener for bytes and its source of the next buffer: those of a
 * socket.
 */
const READ_MEMBERS = readMembers();

function readMembers(): Readonly<Record<"buffer" | "filled" | "next", symbol>> | undefined {
  const socket = new Socket();
  const [buffer, filled, next] = ["kBuffer", "kBufferCb", "kBufferGen"].map((name) => symbolOf(socket, name));
  return buffer && filled && next && { buffer, filled, next };
}

/** One object for all streams and sockets. */
let handleName: symbol | undefined;

function streamHandleOf(stream: ServerHttp2Stream | Socket): StreamHandle | undefined {
  handleName ??= symbolOf(stream, "kHandle");
  const handle = handleName && (stream as unknown as Record<symbol, Partial<StreamHandle> | undefined>)[handleName];
  return typeof handle?.useUserBuffer === "function" ? (handle as StreamHandle) : undefined;
}

function symbolOf(owner: object, description: string): symbol | undefined {
  return Object.getOwnPropertySymbols(owner).find((symbol) => symbol.description === description);
}
