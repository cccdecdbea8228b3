import { toBinary } from "./binary-tensor.ts";
import type { FormTensor } from "./form-tensor.ts";

/** Above so many elements the binary form is shorter, and quicker to write and to read. */
const MAX_JSON_ELEMENTS = 256;

/** A request of KServe V2 with the inputs; large ones and files as bytes after the JSON. Outputs come as bytes. */
export function inferRequest(inputs: readonly FormTensor[]): RequestInit {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  const described = inputs.map(({ name, datatype, shape, values }) => {
    const head = { name, datatype, shape };
    const isPlain = values.length <= MAX_JSON_ELEMENTS && values.every((value) => isExact(value));
    if (isPlain) return { ...head, data: values };
    const part = toBinary(datatype, values);
    parts.push(part);
    return { ...head, parameters: { binary_data_size: part.length } };
  });
  const body = { inputs: described, parameters: { binary_data_output: true } };
  const head = new TextEncoder().encode(JSON.stringify(body));
  const headers = {
    "content-type": "application/octet-stream",
    "inference-header-content-length": String(head.length),
  };
  return { method: "POST", headers, body: new Blob([head, ...parts]) };
}

/** JSON has no bytes, no BigInt, and no infinity. */
function isExact(value: FormTensor["values"][number]): boolean {
  return (
    typeof value === "string" || typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value))
  );
}
