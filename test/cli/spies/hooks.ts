/** Hooks that answer with the secrets that they find. */
import { defineHooks } from "kserving";
import { look } from "./look.ts";

export default defineHooks({
  inputs: [{ name: "x", dtype: "float32", shape: [1] }],
  process: ({ x }, ctx) => ({ found: JSON.stringify([...look(Number(x!.data[0])), ...headers(ctx.metadata)]) }),
});

function headers(metadata: object): string[] {
  return Object.keys(metadata).filter((name) => /authorization/.test(name));
}
