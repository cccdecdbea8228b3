import type { IncomingMessage } from "node:http";
import { bytesTag, tagOf, WIRE, WireReader } from "../../tensor/codecs/protobuf/wire-reader.ts";

/** A collector's answer to a message of spans. */
export interface CollectorAnswer {
  readonly status: number;
  /** Spans of the message that it does not take, though it takes the others. */
  readonly rejected: number;
  /** Its reason, cut; empty = it gives none. */
  readonly reason: string;
  /** Milliseconds for which it wants to be left alone; undefined = it does not say. */
  readonly retryMs: number | undefined;
}

/** Bytes of an answer that are read: it has a count and a sentence. */
const MAX_BYTES = 64 * 1024;
/** Characters of a reason. */
const MAX_REASON = 200;
/** Field of OpenTelemetry's ExportTraceServiceResponse with an ExportTracePartialSuccess. */
const PARTIAL_SUCCESS = 1;
/** Fields of ExportTracePartialSuccess: a number of spans, a text. Those of google.rpc.Status have the same types. */
const FIELDS = { count: 1, text: 2 } as const;

/** Reads an answer, whose status counts even if its body does not end or cannot be read. Never rejects. */
export async function readCollectorAnswer(response: IncomingMessage): Promise<CollectorAnswer> {
  const { statusCode: status = 0, headers } = response;
  const retryMs = readRetryAfter(headers["retry-after"]);
  const body = await readBody(response);
  const isMessage = headers["content-type"]?.startsWith("application/x-protobuf") === true;
  const isText = headers["content-type"]?.startsWith("text/plain") === true;
  const { count, text } = isMessage ? readMessage(body, status < 300) : { count: 0, text: isText ? String(body) : "" };
  const reason = text.trim().slice(0, MAX_REASON);
  return { status, retryMs, reason, rejected: status < 300 ? count : 0 };
}

/** The body, or its beginning. */
async function readBody(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let left = MAX_BYTES;
  try {
    for await (const chunk of response) {
      chunks.push(chunk);
      left -= chunk.length;
      if (left < 0) break;
    }
  } catch {
    // The connection ended, or its time.
  }
  return Buffer.concat(chunks).subarray(0, MAX_BYTES);
}

function readMessage(bytes: Uint8Array, isResponse: boolean): { count: number; text: string } {
  const found = { count: 0, text: "" };
  try {
    const reader = new WireReader(bytes, "answer of a collector");
    if (!isResponse) readFields(reader, found);
    else
      while (reader.hasMore()) {
        const tag = reader.tag();
        if (tag === bytesTag(PARTIAL_SUCCESS)) readFields(reader.nested("partial success"), found);
        else reader.skip(tag);
      }
  } catch {
    // What was read until then.
  }
  return found;
}

function readFields(reader: WireReader, found: { count: number; text: string }): void {
  while (reader.hasMore()) {
    const tag = reader.tag();
    if (tag === tagOf(FIELDS.count, WIRE.varint)) found.count = reader.integer();
    else if (tag === bytesTag(FIELDS.text)) found.text = reader.text();
    else reader.skip(tag);
  }
}

/** Seconds, or a time of day. */
function readRetryAfter(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return ms >= 0 ? ms : undefined;
}
