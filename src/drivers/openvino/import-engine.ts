import type { OpenvinoEngine } from "./engine.ts";
import type { EngineName } from "./engine-name.ts";

const ENGINES = {
  native: () => import("./native/native-engine.ts"),
  node: () => import("./node/node-engine.ts"),
} as const satisfies Readonly<Record<EngineName, () => Promise<{ default: OpenvinoEngine }>>>;

/** Imports an engine's code. */
export async function importEngine(name: EngineName): Promise<OpenvinoEngine> {
  return (await ENGINES[name]()).default;
}
