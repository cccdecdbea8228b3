import { defineJob } from "../../codec-host/job.ts";

const LINE_BREAK = 10;

/** Removes the line breaks of JSON, where they stand between values only. */
export function withoutLineBreaks(json: Uint8Array): Uint8Array {
  let length = 0;
  const result = new Uint8Array(json.length);
  for (const byte of json) if (byte !== LINE_BREAK) result[length++] = byte;
  return result.subarray(0, length);
}

/** {@link withoutLineBreaks} for a codec thread. */
export const withoutLineBreaksJob = defineJob(import.meta.url, "withoutLineBreaksJob", withoutLineBreaks);

/** Parts of JSON likewise; those of numbers alone have none. */
export async function* eachWithoutLineBreaks(parts: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const part of parts) yield part.includes(LINE_BREAK) ? withoutLineBreaks(part) : part;
}
