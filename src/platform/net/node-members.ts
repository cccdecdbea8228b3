import { type Server, Socket } from "node:net";
import { TLSSocket } from "node:tls";

// The only file that uses members of Node's sockets and servers which Node does not document. Each function
// says by its result that the Node.js which runs lacks them; what its callers do then is in
// docs/decisions/http2-of-our-own.md.

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

/** Takes the bytes that a socket receives. */
interface SocketReceiver {
  /**
   * Buffer for the next bytes; never empty. Its memory may neither be freed nor transferred until this is called again.
   */
  writeBuffer(): Uint8Array;
  /** Called with the number of bytes written there, by an encrypted socket after a pause too; never throws. */
  commit(bytes: number): void;
}

/**
 * Lets Node write an accepted socket's data into the receiver's buffer, as `net.connect({ onread })` does for a
 * client's. Otherwise each read, or each record of TLS, allocates a buffer, and large messages keep V8 collecting
 * garbage. The socket still has to be resumed, and emits `end`. Returns false, without effect, if this version of Node
 * cannot do it.
 */
export function receiveInto(socket: Socket, receiver: SocketReceiver): boolean {
  const handle = receivingHandleOf(socket);
  if (handle === undefined || READ_MEMBERS === undefined) return false;
  const target = receiver.writeBuffer();
  const receiving = socket as Receiving;
  receiving[RECEIVER] = receiver;
  receiving[READ_MEMBERS.buffer] = target;
  receiving[READ_MEMBERS.filled] = passOn;
  receiving[READ_MEMBERS.next] = takeNextBuffer;
  handle.useUserBuffer(target);
  return true;
}

const RECEIVER = Symbol("receiver");

interface Receiving extends Socket {
  [RECEIVER]?: SocketReceiver;
  [member: symbol]: unknown;
}

/** The buffer for which Node asks right after it has reported bytes. */
let nextBuffer: Uint8Array | undefined;

/** The same function for all sockets: closures for each stayed alive until V8 collected the whole heap. */
function passOn(this: Receiving, bytes: number): void {
  const receiver = this[RECEIVER] as SocketReceiver;
  receiver.commit(bytes);
  nextBuffer = receiver.writeBuffer();
}

function takeNextBuffer(): Uint8Array | undefined {
  const next = nextBuffer;
  nextBuffer = undefined;
  return next;
}

/** The handle below a socket. */
interface ReceivingHandle {
  useUserBuffer(buffer: Uint8Array): void;
}

/** The names of a socket's members for its buffer, its listener for bytes and its source of the next buffer. */
const READ_MEMBERS = readMembers();

function readMembers(): Readonly<Record<"buffer" | "filled" | "next", symbol>> | undefined {
  const socket = new Socket();
  const [buffer, filled, next] = ["kBuffer", "kBufferCb", "kBufferGen"].map((name) => symbolOf(socket, name));
  return buffer && filled && next && { buffer, filled, next };
}

function receivingHandleOf(socket: Socket): ReceivingHandle | undefined {
  const handle = handleOf<ReceivingHandle>(socket);
  return typeof handle?.useUserBuffer === "function" ? (handle as ReceivingHandle) : undefined;
}

function symbolOf(owner: object, description: string): symbol | undefined {
  return Object.getOwnPropertySymbols(owner).find((symbol) => symbol.description === description);
}
