import { isUtf8 } from "node:buffer";
import { defineJob } from "../../codec-host/job.ts";
import { JsonWriter } from "../../codecs/json/json-writer.ts";
import { type TensorStyle, writeTensor } from "../../codecs/json/tensor-json.ts";
import type { Tensors } from "../../tensor/tensor.ts";

/**
 * Writes the outputs as Python's JSON does: NaN and Infinity are words. Bytes are text
 * where they are UTF-8, else `{"b64": …}`.
 */
export function writeOutputs(outputs: Tensors): Uint8Array {
  const writer = new JsonWriter();
  writer.ascii("{");
  for (const [index, [name, tensor]] of Object.entries(outputs).entries()) {
    if (index > 0) writer.ascii(", ");
    writer.string(name);
    writer.ascii(": ");
    writeTensor(writer, tensor, STYLE);
  }
  writer.ascii("}\n");
  return writer.finish();
}

/** {@link writeOutputs} for a codec thread. */
export const writeOutputsJob = defineJob(import.meta.url, "writeOutputsJob", writeOutputs);

const STYLE: TensorStyle = {
  separator: ", ",
  bytes: (writer, element) => {
    if (isUtf8(element)) {
      writer.text(element);
      return;
    }
    writer.ascii('{"b64": ');
    writer.base64(element);
    writer.ascii("}");
  },
};
