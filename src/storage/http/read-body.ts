import type { IncomingMessage } from "node:http";
import { reasonText, ServingError } from "../../errors.ts";

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
      if (bytes > maxBytes) throw new Error(`it is longer than ${maxBytes} bytes`);
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
