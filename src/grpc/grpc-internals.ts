import type { Http2Server, ServerHttp2Stream, Settings } from "node:http2";
import { Socket } from "node:net";
import type { Metadata, Server, ServerInterceptingCallInterface } from "@grpc/grpc-js";
import type { GrpcStatus } from "./grpc-errors.ts";

/**
 * The private members of grpc-js and of Node's streams that this folder touches, all of them: there is no public way to the
 * HTTP/2 servers of grpc-js, nor to where arriving bytes are put. A version that has them not is left as it is, which is slower
 * and, of grpc-js, counts no memory.
 */

/** Of a server. */
export interface ServerInternals {
  commonServerOptions: { settings?: Settings };
  createHttp2Server(credentials: unknown): Http2Server;
}

/** Of a call on the server's side. */
export interface CallInternals {
  readonly stream: ServerHttp2Stream;
  readonly metadata: Metadata;
  readonly incomingEncoding: string;
  decoder: { write(data: Buffer): Buffer[] };
  decompressMessage(framed: Buffer, encoding: string): Uint8Array | Promise<Uint8Array>;
  sendStatus(status: GrpcStatus): void;
}

/** A server's private members; undefined unless it has them all. */
export function serverInternals(server: Server): ServerInternals | undefined {
  const { commonServerOptions, createHttp2Server } = server as unknown as Partial<ServerInternals>;
  const hasAll = typeof commonServerOptions === "object" && typeof createHttp2Server === "function";
  return hasAll ? (server as unknown as ServerInternals) : undefined;
}

/** A call's private members; undefined unless it has them all. */
export function callInternals(call: ServerInterceptingCallInterface): CallInternals | undefined {
  const { stream, metadata, incomingEncoding, decoder, decompressMessage } = call as unknown as Partial<CallInternals>;
  const hasState = typeof stream === "object" && typeof metadata === "object" && typeof incomingEncoding === "string";
  const hasAll = hasState && typeof decoder?.write === "function" && typeof decompressMessage === "function";
  return hasAll ? (call as unknown as CallInternals) : undefined;
}

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
