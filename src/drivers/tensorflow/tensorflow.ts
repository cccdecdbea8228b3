import { failedPrecondition, type ServingError } from "../../errors.ts";
import { npmInstall } from "../../npm-install.ts";
import { findLibrary } from "../../storage/runtimes/find-library.ts";
import { tensorflow } from "../../storage/runtimes/native-runtimes.ts";
import { defineDriver } from "../driver.ts";
import { type EngineName, TENSORFLOW_OPTIONS, type TensorflowEngine, type TensorflowOptions } from "./engine.ts";
import { findModelSource, looksLikeModel, type ModelFormat, type ModelSource } from "./model-source.ts";

/** Runs SavedModels, frozen graphs, TensorFlow.js, TFLite and Keras models, each with the best engine that is there. */
export default defineDriver<TensorflowOptions>({
  name: "tensorflow",
  options: TENSORFLOW_OPTIONS,
  detect: looksLikeModel,
  load: async (path, options, host) => {
    const source = findModelSource(path);
    const { engine, reason } = chooseEngine(source, options);
    host.log.info(`the ${engine} engine serves the model`, { path, format: source.format, reason });
    return (await importEngine(engine)).load(source, options, host);
  },
});

/** The engine that serves a model, and the reason; for the log. */
interface EngineChoice {
  readonly engine: EngineName;
  readonly reason: string;
}

/** The engines that can load each format, the preferred one first. */
const ENGINES_BY_FORMAT: Readonly<Record<ModelFormat, readonly EngineName[]>> = {
  "saved-model": ["native", "portable"],
  "frozen-graph": ["native", "portable"],
  "tfjs-graph": ["tfjs"],
  "tfjs-layers": ["tfjs"],
  tflite: ["tflite"],
  h5: ["keras"],
  keras: ["keras"],
};

/** Picks the engine for a model; throws `failed_precondition` when the one asked for does not load its format. */
export function chooseEngine({ format }: ModelSource, options: TensorflowOptions): EngineChoice {
  const able = ENGINES_BY_FORMAT[format];
  const { engine, tensorflow_lib } = options;
  if (engine !== "auto") {
    if (able.includes(engine)) return { engine, reason: `-o engine=${engine}` };
    throw failedPrecondition(
      `The engine ${engine} does not load a ${format}; leave -o engine out: ${able.join(" or ")} loads it.`,
    );
  }
  if (!able.includes("native")) return { engine: able[0]!, reason: `it loads a ${format}` };
  const library = findLibrary(tensorflow, tensorflow_lib);
  if (library !== undefined) return { engine: "native", reason: `libtensorflow was found by ${library.source}` };
  return { engine: "portable", reason: "libtensorflow was not found" };
}

/** Every engine by name, imported with the first model that it runs. */
const ENGINES = {
  native: () => import("./native/native-engine.ts"),
  portable: () => import("./portable/portable-engine.ts"),
  tfjs: () => import("./tfjs/tfjs-engine.ts"),
  tflite: () => import("./tflite/tflite-engine.ts"),
  keras: () => import("./keras/keras-engine.ts"),
} as const satisfies Readonly<Record<EngineName, () => Promise<{ default: TensorflowEngine }>>>;

/**
 * Imports an engine's code; throws `failed_precondition` if the packages of
 * TensorFlow.js, which are optional, are not installed.
 */
async function importEngine(name: EngineName): Promise<TensorflowEngine> {
  try {
    return (await ENGINES[name]()).default;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw cause;
    throw lacksTfjs(name, cause);
  }
}

function lacksTfjs(name: EngineName, cause: unknown): ServingError {
  if (name !== "portable") {
    const command = npmInstall(tfjs("core", "converter", "layers", "backend-cpu", "backend-wasm"));
    return failedPrecondition(`The ${name} engine needs TensorFlow.js. Run: ${command}`, cause);
  }
  const command = npmInstall(tfjs("core", "backend-cpu", "backend-wasm"));
  return failedPrecondition(
    `The portable engine needs TensorFlow.js, which is not installed. Run: kserving runtimes install tensorflow, for the native engine; or ${command}.`,
    cause,
  );
}

function tfjs(...parts: readonly string[]): string {
  return parts.map((part) => `@tensorflow/tfjs-${part}`).join(" ");
}
