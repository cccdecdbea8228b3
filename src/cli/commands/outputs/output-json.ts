import { isUtf8 } from "node:buffer";
import { JsonWriter } from "../../../codecs/json/json-writer.ts";
import { type TensorStyle, writeTensor } from "../../../codecs/json/tensor-json.ts";
import type { Tensors } from "../../../tensor/tensor.ts";

/** As Python's json reads and writes them: NaN, Infinity; bytes are text where they are UTF-8, else base64. */
const STYLE: TensorStyle = {
  separator: ",",
  bytes: (writer, element) => {
    if (isUtf8(element)) writer.text(element);
    else writer.base64(element);
  },
};

/** Outputs as one line of JSON: `{"y":{"dtype":"float32","shape":[2],"data":[2.5,3]}}`. */
export function outputJson(outputs: Tensors): string {
  const writer = new JsonWriter();
  writer.ascii("{");
  for (const [index, [name, tensor]] of Object.entries(outputs).entries()) {
    if (index > 0) writer.ascii(",");
    writer.string(name);
    writer.ascii(`:{"dtype":"${tensor.dtype}","shape":[${tensor.shape}],"data":`);
    writeTensor(writer, tensor, STYLE);
    writer.ascii("}");
  }
  writer.ascii("}");
  return writer.finish().toString();
}
