import { type ServerResponse, validateHeaderName, validateHeaderValue } from "node:http";
import type { Logger } from "../observability/logger.ts";
import { ID_HEADER } from "../observability/request-id.ts";
import { TurnUse, turns } from "../platform/limits/event-loop-turns.ts";
import { returnMemory } from "../platform/limits/memory/memory-pool.ts";
import { StreamTurns } from "../platform/limits/stream-turns.ts";
import { isMessageHeader } from "../platform/net/message-headers.ts";
import { WINDOW } from "../platform/threads/part-window.ts";
import type { ToldFailure } from "./http-errors.ts";
import type { HttpAnswer } from "./http-route.ts";
import { StreamSocket } from "./stream-socket.ts";

/**
 * Size up to which an answer is written as text, one byte a character, in bytes: Node then gives it and its head to the
 * system as one piece, which takes a small request 8 µs less.
 */
const TEXT_BYTES = 16 * 1024;
/** Size up to which an answer is written at once, in bytes: a photo of 602 KB took a sixth longer in slices. */
const WHOLE_BYTES = 1024 * 1024;
/** Size of the slices of a larger one, in bytes. */
const SLICE_BYTES = 256 * 1024;

/** Keeps browsers from taking an answer for something else than it says: it may hold texts of a client's choice. */
const NO_SNIFFING = ["x-content-type-options", "nosniff"] as const;

/** An answer's surroundings. */
interface SendChoices {
  /** Id of the request, as a header may carry it. */
  readonly id: string | undefined;
  readonly log: Logger;
  /** Is notified of bytes of the body that were written, of a streamed one part by part. */
  readonly wrote: (bytes: number) => void;
  /** Is notified of the error of a streamed answer, and returns it as it is told; absent = the answer does not tell. */
  readonly failed?: ((reason: unknown) => ToldFailure) | undefined;
}

/**
 * Sends a successful answer, with the headers of hooks that HTTP can carry, and with the id of its request unless a
 * hook chose another. Returns a promise if it is streamed, which settles once all of it is written, or its client
 * has left; rejects with the error of a stream that does not tell it.
 */
export function sendAnswer(
  response: ServerResponse,
  answer: HttpAnswer,
  { id, log, wrote, failed }: SendChoices,
): Promise<void> | undefined {
  const { status = 200, headers = {}, ownHeaders = [], contentType, contentEncoding, body, rest = [], stream } = answer;
  for (const name in headers) {
    const value = headers[name] as string;
    if (!isSendable(name, value)) log.warn("a hook's response header was left out", { header: name });
    else if (name.toLowerCase() === "vary") response.appendHeader(name, value);
    else response.setHeader(name, value);
  }
  const bytes = answerBytes(answer);
  const head = [...NO_SNIFFING, "content-type", contentType];
  // RFC 9110 §15.4.5: the length would be that of the answer which the client has.
  if (stream === undefined && status !== 304) head.push("content-length", String(bytes));
  for (const [name, value] of ownHeaders) head.push(name, value);
  if (id !== undefined && !response.hasHeader(ID_HEADER)) head.push(ID_HEADER, id);
  if (contentEncoding !== undefined) {
    head.push("content-encoding", contentEncoding);
    response.appendHeader("Vary", "Accept-Encoding");
  }
  response.writeHead(status, head);
  if (stream !== undefined) {
    const { parts, inParts, lastWords } = stream;
    const writer = new SliceWriter(response, wrote, inParts ? WINDOW.parts : undefined);
    return writeStream(writer, {
      first: [body, ...rest],
      rest: parts,
      isSent: response.req.method !== "HEAD" && status !== 204 && status !== 304,
      fail: lastWords && failed && ((reason) => lastWords(failed(reason))),
    });
  }
  if (bytes > WHOLE_BYTES) void writeSlices(response, [body, ...rest]);
  else if (bytes <= TEXT_BYTES) response.end(toText([body, ...rest]), "latin1");
  else sendParts(response, [body, ...rest]);
  wrote(bytes);
  return undefined;
}

function toText([first, ...others]: readonly [Uint8Array, ...Uint8Array[]]): string {
  return others.reduce((text, part) => text + latin1(part), latin1(first));
}

function latin1({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString("latin1");
}

function sendParts(response: ServerResponse, parts: Uint8Array[]): void {
  const last = parts.pop();
  for (const part of parts) response.write(part);
  response.end(last);
}

async function writeSlices(response: ServerResponse, parts: readonly Uint8Array[]): Promise<void> {
  const writer = new SliceWriter(response);
  for (const part of parts) await writer.write(part);
  response.end();
}

/** A body that is made while it is sent. */
interface StreamedBody {
  readonly first: readonly Uint8Array[];
  readonly rest: AsyncIterable<Uint8Array>;
  /** False for an answer without a body: the rest need not be made. */
  readonly isSent: boolean;
  /** Its last part after an error; absent = it has none. */
  readonly fail: ((reason: unknown) => Uint8Array) | undefined;
}

/** The next part is taken once there is room for it. */
async function writeStream(writer: SliceWriter, { first, rest, isSent, fail }: StreamedBody): Promise<void> {
  const { response } = writer;
  try {
    for (const part of first) await writer.write(part);
    for await (const part of rest) {
      await writer.write(part);
      // With its answer, all that makes it ends.
      if (response.destroyed) await StreamTurns.end();
      if (response.destroyed || !isSent) break;
    }
  } catch (reason) {
    // Its end was wanted, and is not a failure.
    if (!response.destroyed && fail === undefined) {
      await writer.flush();
      throw reason;
    }
    if (!response.destroyed && fail !== undefined) await writer.write(fail(reason));
  }
  response.once("finish", () => writer.returnWritten());
  response.end();
}

/** Yields between slices: for a client that reads fast, the system would take everything in one turn. */
class SliceWriter {
  readonly response: ServerResponse;
  readonly #wrote: (bytes: number) => void;
  readonly #closed: Promise<unknown>;
  readonly #use: TurnUse;
  readonly #maxParts: number;
  #unwaited = 0;
  #unwaitedParts = 0;
  /** Parts that were written, and of which the end may not have gone to the system. */
  #written: Uint8Array[] = [];

  /** `maxParts`: those that may not have gone to the system; their bytes are limited in any case. */
  constructor(
    response: ServerResponse,
    wrote: (bytes: number) => void = () => {},
    maxParts = Number.POSITIVE_INFINITY,
  ) {
    this.response = response;
    this.#wrote = wrote;
    this.#use = new TurnUse(response.socket === null ? undefined : StreamSocket.turnClientOf(response.socket));
    this.#maxParts = maxParts;
    this.#closed = new Promise((resolve) => response.once("close", resolve));
  }

  /** Writes bytes; resolves when most have gone to the system, or the client has left. */
  async write(part: Uint8Array): Promise<void> {
    for (let at = 0; at < part.length && !this.response.destroyed; at += SLICE_BYTES) {
      const slice = part.subarray(at, at + SLICE_BYTES);
      this.#wrote(slice.length);
      this.#unwaited += slice.length;
      this.#unwaitedParts++;
      if (this.#unwaited < SLICE_BYTES && this.#unwaitedParts < this.#maxParts) {
        this.response.write(slice);
        continue;
      }
      await Promise.race([written(this.response, slice), this.#closed]);
      this.returnWritten();
      await turns.next(this.#use);
      this.#unwaited = 0;
      this.#unwaitedParts = 0;
    }
    this.#written.push(part);
  }

  /** Resolves once all that was written has gone to the system, or the client has left. */
  async flush(): Promise<void> {
    await Promise.race([written(this.response, NO_BYTES), this.#closed]);
  }

  /**
   * Returns the memory of all parts that have gone to the system; what a client that has left did not take is garbage.
   */
  returnWritten(): void {
    if (!this.response.destroyed) for (const { buffer } of this.#written) returnMemory(buffer);
    this.#written = [];
  }
}

const NO_BYTES = new Uint8Array(0);

/** Never resolves if the client leaves before. */
function written(response: ServerResponse, slice: Uint8Array): Promise<void> {
  return new Promise((resolve) => response.write(slice, () => resolve()));
}

/** Memory that an answer holds until it is sent, in bytes. */
export function heldBytes(answer: HttpAnswer): number {
  return answerBytes(answer) + (answer.stream?.heldBytes ?? 0);
}

/** Length of an answer's body, without its streamed part. */
export function answerBytes({ body, rest }: HttpAnswer): number {
  return rest === undefined ? body.length : rest.reduce((sum, part) => sum + part.length, body.length);
}

function isSendable(name: string, value: string): boolean {
  if (isMessageHeader(name)) return false;
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    return true;
  } catch {
    return false;
  }
}
