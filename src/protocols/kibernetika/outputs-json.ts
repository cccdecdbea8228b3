import { isUtf8 } from "node:buffer";
import { defineJob } from "../../platform/codec-host/job.ts";
import { JsonWriter } from "../../tensor/codecs/json/json-writer.ts";
import { type TensorStyle, writeTensor } from "../../tensor/codecs/json/tensor-json.ts";
import type { Tensor } from "../../tensor/tensor.ts";

/** The outputs of an answer. */
export type NamedOutputs = readonly (readonly [name: string, tensor: Tensor])[];

/** Writes outputs as a JSON object with a value for each. */
export function writeOutputs(outputs: NamedOutputs): Uint8Array {
  const writer = new JsonWriter();
  writeOutputsTo(writer, outputs);
  return writer.finish();
}

/** {@link writeOutputs} for a codec thread. */
export const writeOutputsJob = defineJob(import.meta.url, "writeOutputsJob", writeOutputs);

/** {@link writeOutputs} with a writer. */
export function writeOutputsTo(writer: JsonWriter, outputs: NamedOutputs): void {
  writer.ascii("{");
  for (const [index, [name, tensor]] of outputs.entries()) {
    if (index > 0) writer.ascii(",");
    writer.string(name);
    writer.ascii(":");
    writeTensor(writer, tensor, STYLE);
  }
  writer.ascii("}");
}

/**
 * Strict JSON: NaN is null, an infinity the largest value of its dtype; bytes are text
 * if they are UTF-8, else base64.
 */
const STYLE: TensorStyle = {
  separator: ",",
  nonFinite: "largest",
  bytes: (writer, element) => {
    if (isUtf8(element)) writer.text(element);
    else writer.base64(element);
  },
};
