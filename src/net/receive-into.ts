import type { ServerHttp2Stream } from "node:http2";
import { Socket } from "node:net";
import { TLSSocket } from "node:tls";

/** Takes the bytes that a stream or a socket receives. */
export interface StreamReceiver {
  /**
   * Buffer for the next bytes; never empty. That memory may neither be freed nor transferred until this is called
   * again.
   */
  writeBuffer(): Uint8Array;
  /** Told of so many bytes that were written there; never throws. */
  commit(bytes: number): void;
}

/**
 * Lets Node write what a stream or an accepted socket receives to where the receiver wants it, as `net.connect({ onread })` does
 * for a socket of a client: a buffer for each read of the socket, which is what it is given otherwise, makes V8 collect garbage
 * all the time under large messages. The stream still has to be resumed, and says `end`. Returns false, and changes nothing,
 * where this Node has no place for it, and for encrypted sockets: those bring what they have decrypted even after a pause.
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

/** The buffer that Node asks for right after it has told of bytes. */
let nextBuffer: Uint8Array | undefined;

/** The same function for all streams: those that held closures of their own were kept alive until V8 collected the whole heap. */
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

/** Of what is below a stream. */
interface StreamHandle {
  useUserBuffer(buffer: Uint8Array): void;
}

/**
 * Reports if streams of this Node have a place for {@link receiveInto}, as far as that can be known before there is a
 * stream.
 */
export function hasReceivePlace(): boolean {
  return READ_MEMBERS !== undefined;
}

/** By what names a stream keeps its buffer, whom it tells of bytes and whom it asks for the next buffer: those of a socket. */
const READ_MEMBERS = readMembers();

function readMembers(): Readonly<Record<"buffer" | "filled" | "next", symbol>> | undefined {
  const socket = new Socket();
  const [buffer, filled, next] = ["kBuffer", "kBufferCb", "kBufferGen"].map((name) => symbolOf(socket, name));
  return buffer && filled && next && { buffer, filled, next };
}

/** The same for all streams and sockets. */
let handleName: symbol | undefined;

function handleOf(stream: ServerHttp2Stream | Socket): StreamHandle | undefined {
  handleName ??= symbolOf(stream, "kHandle");
  const handle = handleName && (stream as unknown as Record<symbol, Partial<StreamHandle> | undefined>)[handleName];
  return typeof handle?.useUserBuffer === "function" ? (handle as StreamHandle) : undefined;
}

function symbolOf(owner: object, description: string): symbol | undefined {
  return Object.getOwnPropertySymbols(owner).find((symbol) => symbol.description === description);
}
