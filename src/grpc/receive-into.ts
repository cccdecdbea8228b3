import type { ServerHttp2Stream } from "node:http2";
import { Socket } from "node:net";

/** Takes the bytes that a stream receives. */
export interface StreamReceiver {
  /** Where the next bytes are to be written; never empty. That memory may neither be freed nor handed over until this is asked again. */
  room(): Uint8Array;
  /** Told of so many bytes that were written there; never throws. */
  filled(bytes: number): void;
}

/**
 * Lets Node write what a stream receives to where the receiver wants it, as `net.connect({ onread })` does for a socket: a
 * buffer for each read of the socket, which is what a stream is given otherwise, makes V8 collect garbage all the time under
 * large messages. The stream still has to be resumed, and says `end`. Returns false, and changes nothing, where this Node has no
 * place for it.
 */
export function receiveInto(stream: ServerHttp2Stream, receiver: StreamReceiver): boolean {
  const handle = handleOf(stream);
  if (handle === undefined || READ_MEMBERS === undefined) return false;
  const room = receiver.room();
  const members = stream as unknown as Record<symbol, unknown>;
  members[READ_MEMBERS.buffer] = room;
  members[READ_MEMBERS.filled] = (bytes: number) => receiver.filled(bytes);
  members[READ_MEMBERS.next] = () => receiver.room();
  handle.useUserBuffer(room);
  return true;
}

/** Of what is below a stream. */
interface StreamHandle {
  useUserBuffer(buffer: Uint8Array): void;
}

/** Whether streams of this Node have a place for {@link receiveInto}, as far as can be said before there is one. */
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

/** The same for all streams. */
let handleName: symbol | undefined;

function handleOf(stream: ServerHttp2Stream): StreamHandle | undefined {
  handleName ??= symbolOf(stream, "kHandle");
  const handle = handleName && (stream as unknown as Record<symbol, Partial<StreamHandle> | undefined>)[handleName];
  return typeof handle?.useUserBuffer === "function" ? (handle as StreamHandle) : undefined;
}

function symbolOf(owner: object, description: string): symbol | undefined {
  return Object.getOwnPropertySymbols(owner).find((symbol) => symbol.description === description);
}
