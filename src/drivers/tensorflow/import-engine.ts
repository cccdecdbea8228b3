import { failedPrecondition } from "../../errors.ts";
import { npmInstall } from "../../npm-install.ts";
import type { TensorflowEngine } from "./engine.ts";
import type { EngineName } from "./engine-name.ts";

/** Every engine by name, imported with the first model that it runs. */
const ENGINES = {
  native: () => import("./native/native-engine.ts"),
  portable: () => import("./portable/portable-engine.ts"),
  tfjs: () => import("./tfjs/tfjs-engine.ts"),
  tflite: () => import("./tflite/tflite-engine.ts"),
  keras: () => import("./keras/keras-engine.ts"),
} as const satisfies Readonly<Record<EngineName, () => Promise<{ default: TensorflowEngine }>>>;

/**
 * Imports an engine's code; throws `failed_precondition` where the packages of
 * TensorFlow.js, which are optional, are not installed.
 */
export async function importEngine(name: EngineName): Promise<TensorflowEngine> {
  try {
    return (await ENGINES[name]()).default;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw cause;
    throw failedPrecondition(`The ${name} engine needs TensorFlow.js. Run: ${npmInstall(TFJS)}`, cause);
  }
}

const TFJS = ["core", "converter", "layers", "backend-cpu", "backend-wasm"]
  .map((part) => `@tensorflow/tfjs-${part}`)
  .join(" ");
