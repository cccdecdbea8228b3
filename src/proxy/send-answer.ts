import { type ServerResponse, validateHeaderName, validateHeaderValue } from "node:http";
import type { Logger } from "../observability/logger.ts";
import type { HttpAnswer } from "./http-route.ts";

/** Headers that belong to the connection or the body: no hook may set them. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "date",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Sends a successful answer, with the headers of hooks that HTTP can carry. */
export function sendAnswer(response: ServerResponse, answer: HttpAnswer, log: Logger): void {
  const { headers = {}, contentType, contentEncoding, body, rest } = answer;
  for (const name in headers) {
    const value = headers[name] as string;
    if (isSendable(name, value)) response.setHeader(name, value);
    else log.warn("a hook's response header was left out", { header: name });
  }
  const head = ["content-type", contentType, "content-length", String(answerBytes(answer))];
  if (contentEncoding !== undefined) head.push("content-encoding", contentEncoding);
  response.writeHead(200, head);
  if (rest === undefined) {
    response.end(body);
    return;
  }
  for (const part of [body, ...rest]) response.write(part);
  response.end();
}

/** Length of an answer's body. */
export function answerBytes({ body, rest }: HttpAnswer): number {
  return rest === undefined ? body.length : rest.reduce((sum, part) => sum + part.length, body.length);
}

function isSendable(name: string, value: string): boolean {
  if (OWN_HEADERS.has(name.toLowerCase()) || name.startsWith(":")) return false;
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    return true;
  } catch {
    return false;
  }
}
