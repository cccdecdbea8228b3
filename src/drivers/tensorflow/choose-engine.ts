import { failedPrecondition } from "../../errors.ts";
import { findLibrary } from "../../runtimes/find-library.ts";
import { tensorflow } from "../../runtimes/native-runtimes.ts";
import type { EngineName } from "./engine-name.ts";
import type { ModelFormat, ModelSource } from "./model-source.ts";
import type { TensorflowOptions } from "./tensorflow-options.ts";

/** The engine that serves a model, and the reason; for the log. */
export interface EngineChoice {
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
