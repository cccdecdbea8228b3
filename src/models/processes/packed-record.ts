import { packValues, unpackValues } from "../../platform/threads/call-values.ts";
import type { WireRecord } from "../../platform/threads/frame.ts";
import { MalformedMessage } from "../../platform/threads/host-port.ts";

/** A record of a process's own port that carries a plain value, tensors included. */
export function packRecord(kind: number, value: unknown): WireRecord {
  const { json, tensors } = packValues(value);
  return { kind, id: 0, meta: json, tensors };
}

/** The value that was packed; throws {@link MalformedMessage} for one that was not packed so. */
export function unpackRecord({ meta, tensors }: WireRecord): unknown {
  try {
    return unpackValues({ json: meta, tensors: tensors ?? {} });
  } catch (cause) {
    throw new MalformedMessage("its values are not packed as they should be", { cause });
  }
}
