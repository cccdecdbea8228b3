import { type Element, toNested } from "./nested.ts";
import { createTensor, isTensor, type Tensor } from "./tensor.ts";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * JSON text of plain values and tensors: a tensor is nested arrays, 64-bit integers keep every digit, NaN and infinities are null
 * (JSON has no word for them), bytes are their text when they are UTF-8 and base64 else.
 * Throws `invalid_argument` for a tensor whose data does not fill its shape.
 */
export function toJsonText(value: unknown): string {
  if (typeof value === "bigint") return value.toString();
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (isTensor(value)) return tensorText(value);
  if (value instanceof Uint8Array && Buffer.isBuffer(value)) return JSON.stringify(bytesToText(value));
  if (ArrayBuffer.isView(value)) return toJsonText(Array.from(value as unknown as ArrayLike<unknown>));
  if (Array.isArray(value)) return `[${value.map(toJsonText).join()}]`;
  if (typeof (value as { toJSON?: unknown }).toJSON === "function") return JSON.stringify(value);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${toJsonText(member)}`).join()}}`;
}

/** A hook may have given any shape: one that its data does not fill must not be written. */
function tensorText({ dtype, shape, data }: Tensor): string {
  return toJsonText(toNested(createTensor(dtype, shape, data), elementToJson));
}

/** UTF-8 text, or base64 of bytes that are none. */
function bytesToText(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
  }
}

function elementToJson(element: Element): unknown {
  return element instanceof Uint8Array ? bytesToText(element) : element;
}
