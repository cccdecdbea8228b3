import type { ServerHttp2Stream } from "node:http2";
import { Socket } from "node:net";
import { TLSSocket } from "node:tls";

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
 * stream still has to be resumed, and emits `end`. Returns false, without effect, where this version of Node cannot do
 * it, and for encrypted sockets: those deliver decrypted data even after a pause.
 */
export function receiveInto(stream: ServerHttp2Stream | Socket, receiver: StreamReceiver): boolean {
  const handle = handleOf(stream);
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

function handleOf(stream: ServerHttp2Stream | Socket): StreamHandle | undefined {
  handleName ??= symbolOf(stream, "kHandle");
  const handle = handleName && (stream as unknown as Record<symbol, Partial<StreamHandle> | undefined>)[handleName];
  return typeof handle?.useUserBuffer === "function" ? (handle as StreamHandle) : undefined;
}

function symbolOf(owner: object, description: string): symbol | undefined {
  return Object.getOwnPropertySymbols(owner).find((symbol) => symbol.description === description);
}
