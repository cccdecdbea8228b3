import { invalidArgument } from "../../errors.ts";
import { isPlainObject } from "../../tensor/is-plain-object.ts";
import { toTensor } from "../../tensor/plain-value.ts";
import { createTensors, isTensor, type Tensors } from "../../tensor/tensor.ts";

/** Mark in JSON for a tensor that is sent next to it. */
interface Marker {
  readonly $tensor: string;
}

/**
 * Arguments of a Python method as JSON, and the tensors and typed arrays apart from it; throws `invalid_argument` for
 * values without a Python equivalent.
 */
export function packArguments(args: readonly unknown[]): { readonly json: unknown; readonly tensors: Tensors } {
  const tensors = createTensors();
  let count = 0;
  const pack = (value: unknown): unknown => {
    if (isTensor(value) || ArrayBuffer.isView(value)) {
      const name = String(count++);
      tensors[name] = isTensor(value) ? value : toTensor(value, "argument");
      return { $tensor: name } satisfies Marker;
    }
    if (Array.isArray(value)) return value.map(pack);
    if (isPlainObject(value)) return mapMembers(value, pack);
    if (isJson(value)) return value ?? null;
    const what = typeof value === "number" ? String(value) : `a ${typeof value}`;
    throw invalidArgument(`An argument is ${what}; expected tensors and plain data, with finite numbers.`);
  };
  return { json: args.map(pack), tensors };
}

/** The value that a Python method returned. */
export function unpackResult(json: unknown, tensors: Tensors): unknown {
  if (Array.isArray(json)) return json.map((each) => unpackResult(each, tensors));
  if (typeof json !== "object" || json === null) return json;
  const { $tensor } = json as Partial<Marker>;
  return $tensor === undefined ? mapMembers(json, (each) => unpackResult(each, tensors)) : tensors[$tensor];
}

/** JSON would make null of a number that is none. */
function isJson(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  return value === undefined || value === null || ["string", "boolean"].includes(typeof value);
}

function mapMembers(value: object, change: (member: unknown) => unknown): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, change(member)]));
}
