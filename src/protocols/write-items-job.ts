import { defineJob } from "../codec-host/job.ts";
import type { LeftOut } from "../codecs/json/json-outline.ts";
import { JsonWriter } from "../codecs/json/json-writer.ts";
import { writeItems } from "../codecs/json/tensor-json.ts";
import { elementCount } from "../tensor/tensor.ts";

/** Text that one number takes, roughly: that of floats with all their digits, since growing copies what is written. */
const BYTES_PER_NUMBER = 14;

/** Writes values that an outline lacks, in a codec thread. */
export const writeItemsJob = defineJob(import.meta.url, "writeItemsJob", ({ items, style }: LeftOut): Uint8Array => {
  const writer = new JsonWriter(BYTES_PER_NUMBER * elementCount(items.shape));
  writeItems(writer, items, { ...style, bytes: () => {} });
  return writer.finish();
});
