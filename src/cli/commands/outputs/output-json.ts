import { isUtf8 } from "node:buffer";
import { JsonWriter } from "../../../codecs/json/json-writer.ts";
import { type TensorStyle, writeTensor } from "../../../codecs/json/tensor-json.ts";
import { createTensor, createTensors, type Tensor, type Tensors } from "../../../tensor/tensor.ts";

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

/** Outputs as they are after {@link outputJson} has been read again: bytes that are not text are their base64. */
export function asReadAgain(outputs: Tensors): Tensors {
  return createTensors(Object.entries(outputs).map(([name, tensor]) => [name, withTexts(tensor)]));
}

function withTexts(tensor: Tensor): Tensor {
  if (tensor.dtype !== "bytes") return tensor;
  const texts = (tensor as Tensor<"bytes">).data.map((element) =>
    isUtf8(element) ? element : Buffer.from(Buffer.from(element).toString("base64")),
  );
  return createTensor("bytes", tensor.shape, texts);
}
