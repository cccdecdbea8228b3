import { invalidArgument } from "../../errors.ts";
import { datatypeOf } from "../../protocols/kserve/datatype.ts";
import { toRaw } from "../../protocols/kserve/raw-tensor.ts";
import { toNested } from "../../tensor/elements.ts";
import { elementCount, type Tensor } from "../../tensor/tensor.ts";
import type { ModelName, ModelRequest } from "../transport.ts";

/** Header with the length of the JSON before binary values. */
export const JSON_BYTES = "inference-header-content-length";

/** The path of a model, to which `/infer` is added. */
export function modelPath({ model, version }: ModelName): string {
  const path = `v2/models/${encodeURIComponent(model)}`;
  return version === undefined ? path : `${path}/versions/${encodeURIComponent(version)}`;
}

/** A request without its model, which the path has. */
type BodyRequest = Pick<ModelRequest, "inputs"> & Partial<Omit<ModelRequest, "model" | "version">>;

/** A body with the headers that describe it. */
interface InferBody {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array<ArrayBuffer>;
}

/**
 * The body of a request of KServe V2: with values as bytes after the JSON, or as JSON for servers without the binary
 * extension. Throws `invalid_argument` for a tensor that the form cannot carry.
 */
export function inferBody(request: BodyRequest, isBinary: boolean): InferBody {
  const { id = "", inputs, outputs = [], parameters = {} } = request;
  const entries = Object.entries(inputs);
  const parts = isBinary ? entries.map(([, tensor]) => toRaw(tensor)) : [];
  const described = entries.map(([name, tensor], index) => {
    const head = { name, datatype: datatypeFor(name, tensor), shape: tensor.shape };
    const part = parts[index];
    if (part === undefined) return headWithData(head, tensor);
    return JSON.stringify({ ...head, parameters: { binary_data_size: part.length } });
  });
  const common = {
    ...(id !== "" && { id }),
    ...(outputs.length > 0 && { outputs: outputs.map((name) => ({ name })) }),
    parameters: { ...parameters, ...(isBinary && { binary_data_output: true }) },
  };
  const json = `{"inputs":[${described.join()}],${JSON.stringify(common).slice(1)}`;
  if (isBinary) return joinBody(json, parts);
  return { headers: { "content-type": "application/json" }, body: new TextEncoder().encode(json) };
}

/** The JSON of a request with tensors' bytes after it. */
export function joinBody(json: string, parts: readonly Uint8Array[]): InferBody {
  const head = new TextEncoder().encode(json);
  const headers = { "content-type": "application/octet-stream", [JSON_BYTES]: String(head.length) };
  return { headers, body: concat([head, ...parts]) };
}

function datatypeFor(name: string, { dtype }: Tensor): string {
  const datatype = datatypeOf(dtype)?.name;
  if (datatype !== undefined) return datatype;
  throw invalidArgument(`"${name}" is ${dtype}, for which KServe V2 has no datatype; send its parts as floats.`);
}

/** By hand: JSON.stringify knows no BigInt. */
function headWithData(head: { readonly name: string }, tensor: Tensor): string {
  const flat = { ...tensor, shape: [elementCount(tensor.shape)] } as Tensor;
  const data = toNested(flat, (element) => {
    if (element instanceof Uint8Array) return JSON.stringify(toText(element, head.name));
    return typeof element === "bigint" || Number.isFinite(element) ? String(element) : toJson(element, head.name);
  }) as readonly string[];
  return `${JSON.stringify(head).slice(0, -1)},"data":[${data.join()}]}`;
}

function toJson(element: unknown, name: string): string {
  if (typeof element === "boolean") return String(element);
  throw noJson(`${element}`, name);
}

function toText(bytes: Uint8Array, name: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw noJson("bytes that are not text", name);
  }
}

function noJson(what: string, name: string): Error {
  return invalidArgument(
    `"${name}" has ${what}, and this server takes JSON alone (its extensions lack binary_tensor_data); send it over gRPC.`,
  );
}

function concat(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let position = 0;
  for (const part of parts) {
    joined.set(part, position);
    position += part.length;
  }
  return joined;
}
