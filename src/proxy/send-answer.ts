import { type ServerResponse, validateHeaderName, validateHeaderValue } from "node:http";
import { TurnUse, turns } from "../limits/turns.ts";
import { isMessageHeader } from "../net/message-headers.ts";
import type { Logger } from "../observability/logger.ts";
import type { HttpAnswer } from "./http-route.ts";

/** The largest piece of an answer that is written at once, in bytes. */
const SLICE_BYTES = 128 * 1024;

/** Sends a successful answer, with the headers of hooks that HTTP can carry. */
export function sendAnswer(response: ServerResponse, answer: HttpAnswer, log: Logger): void {
  const { status = 200, headers = {}, contentType, contentEncoding, body, rest } = answer;
  for (const name in headers) {
    const value = headers[name] as string;
    if (isSendable(name, value)) response.setHeader(name, value);
    else log.warn("a hook's response header was left out", { header: name });
  }
  const head = ["content-type", contentType, "content-length", String(answerBytes(answer))];
  if (contentEncoding !== undefined) head.push("content-encoding", contentEncoding);
  response.writeHead(status, head);
  if (rest === undefined && body.length <= SLICE_BYTES) response.end(body);
  else sendParts(response, rest === undefined ? [body] : [body, ...rest]);
}

function sendParts(response: ServerResponse, parts: Uint8Array[]): void {
  if (parts.some(({ length }) => length > SLICE_BYTES)) {
    void writeSlices(response, parts);
    return;
  }
  const last = parts.pop();
  for (const part of parts) response.write(part);
  response.end(last);
}

/** Takes turns between slices: as long as a client reads, the system would take everything at once. */
async function writeSlices(response: ServerResponse, parts: readonly Uint8Array[]): Promise<void> {
  const use = new TurnUse();
  for (const part of parts) {
    for (let at = 0; at < part.length && !response.destroyed; at += SLICE_BYTES) {
      await written(response, part.subarray(at, at + SLICE_BYTES));
      await turns.next(use);
    }
  }
  response.end();
}

/** Never resolves where the client leaves before that. */
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
