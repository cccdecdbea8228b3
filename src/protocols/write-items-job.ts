import { defineJob } from "../platform/codec-host/job.ts";
import { JsonWriter, type LeftOut } from "../tensor/codecs/json/json-writer.ts";
import { writeItems } from "../tensor/codecs/json/tensor-json.ts";

/** Writes values that an outline lacks, in a codec thread, to memory that has room for them. */
export const writeItemsJob = defineJob(
  import.meta.url,
  "writeItemsJob",
  ({ items, style }: LeftOut, room: Uint8Array): Uint8Array => {
    const writer = new JsonWriter(room);
    writeItems(writer, items, { ...style, bytes: () => {} });
    return writer.finish();
  },
);
