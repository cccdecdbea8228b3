/** Hooks that answer with the secrets that they find. */
import { defineHooks } from "kserving";
import { look } from "./look.ts";

export default defineHooks({
  process: ({ x }, ctx) => ({ found: JSON.stringify([...look(Number(x!.data[0])), ...headers(ctx.metadata)]) }),
});

function headers(metadata: object): string[] {
  return Object.keys(metadata).filter((name) => /authorization/.test(name));
}
