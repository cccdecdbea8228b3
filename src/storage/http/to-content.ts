import type { IncomingMessage } from "node:http";
import { ServingError } from "../../errors.ts";
import type { Checksum, RemoteContent } from "../storage-client.ts";

/**
 * The content in an answer to a request for a file, or for the rest of one; throws
 * `unavailable` where it cannot be told which part it is.
 */
export function toContent(response: IncomingMessage, checksum?: Checksum): RemoteContent {
  const { "content-length": length, "content-range": range } = response.headers;
  const start = /^bytes (\d+)-/.exec(range ?? "")?.[1];
  const offset = response.statusCode === 206 && start !== undefined ? Number(start) : 0;
  if (response.statusCode === 206 && start === undefined) {
    response.destroy();
    throw new ServingError("unavailable", "the server sends a part of the file, and does not say which");
  }
  return { stream: response, bytes: length === undefined ? undefined : Number(length), offset, checksum };
}
