import { findLibrary } from "../../runtimes/find-library.ts";
import { openvino } from "../../runtimes/native-runtimes.ts";
import type { EngineName } from "./engine-name.ts";
import { findAddon, takesThisNode } from "./node/load-addon.ts";
import type { OpenvinoOptions } from "./openvino-options.ts";

/** Chooses the engine: the one of the option, else the C library, else openvino-node where that alone is there. */
export function chooseEngine({ engine, openvino_lib }: OpenvinoOptions): EngineName {
  if (engine !== "auto") return engine;
  if (findLibrary(openvino, openvino_lib) !== undefined) return "native";
  const addon = findAddon();
  return addon?.isComplete && takesThisNode(addon) ? "node" : "native";
}
