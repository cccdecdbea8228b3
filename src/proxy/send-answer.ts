import { type ServerResponse, validateHeaderName, validateHeaderValue } from "node:http";
import { TurnUse, turns } from "../limits/turns.ts";
import { isMessageHeader } from "../net/message-headers.ts";
import type { Logger } from "../observability/logger.ts";
import { ID_HEADER, sendableId } from "../observability/request-id.ts";
import type { HttpAnswer } from "./http-route.ts";

/** Size up to which an answer is written at once, in bytes: a photo of 602 KB took a sixth longer in slices. */
const WHOLE_BYTES = 1024 * 1024;
/** Size of the slices of a larger one, in bytes. */
const SLICE_BYTES = 256 * 1024;

/** Keeps browsers from taking an answer for something else than it says: it may hold texts of a client's choice. */
const NO_SNIFFING = ["x-content-type-options", "nosniff"] as const;

/** An answer's surroundings. */
interface SendChoices {
  /** Id of the request. */
  readonly id: string;
  readonly log: Logger;
}

/** Sends a successful answer, with the headers of hooks that HTTP can carry, and with the id of its request unless a hook chose another. */
export function sendAnswer(response: ServerResponse, answer: HttpAnswer, { id, log }: SendChoices): void {
  const { status = 200, headers = {}, contentType, contentEncoding, body, rest } = answer;
  for (const name in headers) {
    const value = headers[name] as string;
    if (!isSendable(name, value)) log.warn("a hook's response header was left out", { header: name });
    else if (name.toLowerCase() === "vary") response.appendHeader(name, value);
    else response.setHeader(name, value);
  }
  const bytes = answerBytes(answer);
  const head = [...NO_SNIFFING, "content-type", contentType, "content-length", String(bytes)];
  const sent = sendableId(id);
  if (sent !== undefined && !response.hasHeader(ID_HEADER)) head.push(ID_HEADER, sent);
  if (contentEncoding !== undefined) {
    head.push("content-encoding", contentEncoding);
    response.appendHeader("Vary", "Accept-Encoding");
  }
  response.writeHead(status, head);
  if (bytes > WHOLE_BYTES) void writeSlices(response, rest === undefined ? [body] : [body, ...rest]);
  else if (rest === undefined) response.end(body);
  else sendParts(response, [body, ...rest]);
}

function sendParts(response: ServerResponse, parts: Uint8Array[]): void {
  const last = parts.pop();
  for (const part of parts) response.write(part);
  response.end(last);
}

/** Yields between slices: for a client that reads fast, the system would take everything in one turn. */
async function writeSlices(response: ServerResponse, parts: readonly Uint8Array[]): Promise<void> {
  const use = new TurnUse();
  let bytes = 0;
  for (const part of parts) {
    for (let at = 0; at < part.length && !response.destroyed; at += SLICE_BYTES) {
      const slice = part.subarray(at, at + SLICE_BYTES);
      bytes += slice.length;
      if (bytes < SLICE_BYTES) {
        response.write(slice);
        continue;
      }
      await written(response, slice);
      await turns.next(use);
      bytes = 0;
    }
  }
  response.end();
}

/** Never resolves if the client leaves before. */
function written(response: ServerResponse, slice: Uint8Array): Promise<void> {
  return new Promise((resolve) => response.write(slice, () => resolve()));
}

/** Length of an answer's body. */
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
