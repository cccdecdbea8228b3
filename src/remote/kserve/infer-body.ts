import { datatypeOf } from "../../protocols/kserve/datatype.ts";
import { toRaw } from "../../protocols/kserve/raw-tensor.ts";
import { toNested } from "../../tensor/nested.ts";
import type { Tensor, Tensors } from "../../tensor/tensor.ts";

/** A request over HTTP. */
export interface HttpBody {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** The JSON of a V2 request, with the values in it. */
export function jsonBody(inputs: Tensors): HttpBody {
  const listed = Object.entries(inputs).map(([name, tensor]) => ({ ...headOf(name, tensor), data: valuesOf(tensor) }));
  return { headers: { "content-type": "application/json" }, body: Buffer.from(JSON.stringify({ inputs: listed })) };
}

/** A V2 request of the binary extension: values are bytes behind the JSON, and the outputs shall be too. */
export function binaryBody(inputs: Tensors): HttpBody {
  const parts = Object.entries(inputs).map(([name, tensor]) => ({ head: headOf(name, tensor), raw: toRaw(tensor) }));
  const listed = parts.map(({ head, raw }) => ({ ...head, parameters: { binary_data_size: raw.length } }));
  const json = Buffer.from(JSON.stringify({ inputs: listed, parameters: { binary_data_output: true } }));
  const headers = {
    "content-type": "application/octet-stream",
    "inference-header-content-length": String(json.length),
  };
  return { headers, body: Buffer.concat([json, ...parts.map(({ raw }) => raw)]) };
}

function headOf(name: string, { dtype, shape }: Tensor) {
  return { name, datatype: datatypeOf(dtype)?.name, shape };
}

function valuesOf(tensor: Tensor): unknown {
  return toNested(tensor, (element) => {
    if (element instanceof Uint8Array) return Buffer.from(element).toString();
    return typeof element === "bigint" ? Number(element) : element;
  });
}
