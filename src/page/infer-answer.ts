import { fromBinary } from "./binary-tensor.ts";
import type { Element, FormTensor } from "./form-tensor.ts";

interface WireOutput {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly data?: readonly Element[];
  readonly parameters?: { readonly binary_data_size?: number };
}

/** The outputs of an answer of KServe V2; `jsonBytes` = length of its JSON, null = all of it. */
export function readOutputs(body: ArrayBuffer, jsonBytes: string | null): readonly FormTensor[] {
  const bytes = new Uint8Array(body);
  const end = jsonBytes === null ? bytes.length : Number(jsonBytes);
  const { outputs = [] } = JSON.parse(new TextDecoder().decode(bytes.subarray(0, end))) as { outputs?: WireOutput[] };
  let at = end;
  return outputs.map(({ name, datatype, shape, data = [], parameters }) => {
    const size = parameters?.binary_data_size;
    if (size === undefined) return { name, datatype, shape, values: data };
    const values = fromBinary(datatype, bytes.subarray(at, at + size));
    at += size;
    return { name, datatype, shape, values };
  });
}
