import type { Writable } from "node:stream";
import type { RequestRecord } from "./request-record.ts";

type Write = (...args: unknown[]) => unknown;

/** Notes in a record what is written to a stream from now on. */
export function countWrites(stream: Writable, record: RequestRecord): void {
  const members = stream as unknown as { write: Write; end: Write };
  for (const name of ["write", "end"] as const) {
    const original = members[name];
    members[name] = function (this: unknown, ...args: unknown[]) {
      record.wrote(sizeOf(args[0], args[1]));
      return original.apply(this, args);
    };
  }
}

/** `end` may have no chunk. */
function sizeOf(chunk: unknown, encoding: unknown): number {
  if (chunk instanceof Uint8Array) return chunk.byteLength;
  if (typeof chunk !== "string") return 0;
  return Buffer.byteLength(chunk, typeof encoding === "string" ? (encoding as BufferEncoding) : "utf8");
}
