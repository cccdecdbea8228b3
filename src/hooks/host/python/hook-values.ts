import { escapeKey, isJsonNumber, numberText, unescapeKey } from "../../../platform/threads/call-values.ts";
import { toTensor } from "../../../tensor/plain-value.ts";
import { isPlainObject } from "../../../tensor/record.ts";
import { createTensors, isTensor, type Tensors } from "../../../tensor/tensor.ts";

/** Values for a Python process: JSON with markers for tensors, absent if there is nothing but named tensors. */
export interface HookValues {
  readonly values?: unknown;
  readonly tensors: Tensors;
}

/** Named tensors unchanged, or JSON with `{ $tensor: NAME }` in the place of each tensor. */
export function packHookValues(values: Readonly<Record<string, unknown>>): HookValues {
  return Object.values(values).every(isTensor) ? { tensors: values as Tensors } : packJson(values);
}

/**
 * JSON with markers, for any value: tensors, `{ $int: TEXT }` for a bigint and `{ $float: TEXT }` for numbers that JSON
 * does not have. Other members that JSON cannot express are null.
 */
export function packJson(value: unknown): Required<HookValues> {
  const tensors = createTensors();
  let count = 0;
  const pack = (each: unknown): unknown => {
    if (isTensor(each) || ArrayBuffer.isView(each)) {
      const name = String(count++);
      tensors[name] = isTensor(each) ? each : toTensor(each as never, "value");
      return { $tensor: name };
    }
    if (Array.isArray(each)) return each.map(pack);
    if (typeof each === "bigint") return { $int: String(each) };
    if (typeof each === "number" && !isJsonNumber(each)) return { $float: numberText(each) };
    if (typeof each === "function") return { $method: true };
    if (typeof each !== "object" || each === null) return each ?? null;
    return isPlainObject(each) ? mapMembers(each, escapeKey, pack) : null;
  };
  return { values: pack(value), tensors };
}

/** The values that a Python process packed. */
export function unpackHookValues(json: unknown, tensors: Tensors): unknown {
  if (Array.isArray(json)) return json.map((each) => unpackHookValues(each, tensors));
  if (typeof json !== "object" || json === null) return json;
  const { $tensor, $int } = json as { readonly $tensor?: string; readonly $int?: string };
  if ($tensor !== undefined) return tensors[$tensor];
  if ($int !== undefined) return BigInt($int);
  return mapMembers(json, unescapeKey, (each) => unpackHookValues(each, tensors));
}

function mapMembers(
  value: object,
  rename: (name: string) => string,
  change: (member: unknown) => unknown,
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [rename(name), change(member)]));
}
