/** Hooks of plain values, whose answers in JSON are small, long, or no JSON: the member x says which. */
import type { Values } from "kserving";

export { init_hook } from "../collecting-hooks.ts";

/** Elements of an answer that is written in several turns. */
const LONG = 20_000;

/** As many rows as make an answer long; a promise within it; else what came. */
export function process({ x }: Values): object {
  if (x === "long") return { rows: Array.from({ length: LONG }, (_, id) => ({ id, name: "é" })) };
  return { x: x === "promise" ? [Promise.resolve(x)] : x };
}
