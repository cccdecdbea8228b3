import type { IncomingMessage } from "node:http";
import { type ErrorCode, reasonText, ServingError } from "../../errors.ts";

/** Maximum size of an answer that is not a file, in bytes: a page of a list with a thousand long names. */
const MAX_BYTES = 16 * 1024 * 1024;

/** The whole body of an answer as text; throws as {@link readBytes} does. */
export async function readBody(response: IncomingMessage, maxBytes = MAX_BYTES): Promise<string> {
  return (await readBytes(response, maxBytes)).toString("utf8");
}

/** The whole body of an answer; throws `unavailable` for one that breaks off or is too large. */
export async function readBytes(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw new Error(`it has more than ${maxBytes} bytes`);
      chunks.push(chunk);
    }
  } catch (cause) {
    throw new ServingError("unavailable", `the server's answer is not complete: ${reasonText(cause)}`, { cause });
  }
  return Buffer.concat(chunks);
}

/** The body as JSON; throws `unavailable` for anything else. */
export async function readJson(response: IncomingMessage): Promise<unknown> {
  const text = await readBody(response);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ServingError("unavailable", "the server's answer is not JSON. Check the address", { cause });
  }
}

const CODES: Readonly<Record<number, ErrorCode>> = {
  401: "permission_denied",
  403: "permission_denied",
  404: "not_found",
  412: "aborted",
  416: "aborted",
  429: "resource_exhausted",
};

/** Maximum number of characters of a server's own words in a message. */
const MAX_WORDS = 300;

/** Converts an answer that is not the wanted one to an error; `access` says how access is given. */
export async function statusError(response: IncomingMessage, access: string): Promise<ServingError> {
  const status = response.statusCode ?? 0;
  const words = reasonIn(await readBody(response, 65_536).catch(() => ""));
  const code = CODES[status] ?? (status >= 400 && status < 500 ? "failed_precondition" : "unavailable");
  const own = words === "" ? "" : ` (${words.slice(0, MAX_WORDS)})`;
  return new ServingError(code, `the server answers ${status}${own}. ${adviceFor(status, access)}`);
}

function adviceFor(status: number, access: string): string {
  if (status === 401 || status === 403) return access;
  if (status === 404) return "Check the address";
  if (status === 412 || status === 416) return "It has changed meanwhile; the next attempt reads it as it is now";
  return status >= 500 || status === 429 ? "It is tried again" : "Check the address and the settings";
}

/** The words for people in an error of S3, Azure, Google, Hugging Face or a registry. */
function reasonIn(body: string): string {
  const xml = /<Code>([^<]*)<\/Code>(?:[\s\S]*?<Message>([^<]*)<\/Message>)?/.exec(body);
  if (xml !== null) return [xml[1], xml[2]?.split("\n", 1)[0]].filter(Boolean).join(": ");
  try {
    const { error, errors, error_description: description } = JSON.parse(body);
    const words = description ?? error?.message ?? errors?.[0]?.message ?? error;
    return typeof words === "string" ? words : "";
  } catch {
    return "";
  }
}
