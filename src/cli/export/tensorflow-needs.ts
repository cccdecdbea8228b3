import { parseOptions, type RawOptions } from "../../drivers/option-table.ts";
import { TENSORFLOW_OPTIONS, type TensorflowOptions } from "../../drivers/tensorflow/engine.ts";
import { findModelSource, type ModelFormat } from "../../drivers/tensorflow/model-source.ts";
import type { ImageNeeds } from "../../export/deployment.ts";
import { createSilentLogger } from "../../observability/logger.ts";
import { isRemoteAddress } from "../../storage/remote-address.ts";

const NATIVE: ImageNeeds = { runtimes: ["tensorflow"], packages: [] };
const NOTHING: ImageNeeds = { runtimes: [], packages: [] };

/** Packages that kserving is installed without. */
const PACKAGES: Partial<Record<ModelFormat, string>> = {
  tflite: "@litertjs/core",
  h5: "h5wasm",
  keras: "h5wasm",
};

/** Options that only TensorFlow's own library has. */
const NATIVE_OPTIONS = ["tensorflow_lib", "custom_op_paths", "session_config", "xla"] as const;

/**
 * Parts of an image that a model of the tensorflow driver needs: its own library for what the portable engine refuses,
 * or serves in part, and for a model at an address, of which nothing is known.
 */
export async function tensorflowNeeds(path: string, raw: RawOptions): Promise<ImageNeeds> {
  const options = parseOptions<TensorflowOptions>(TENSORFLOW_OPTIONS, raw);
  const isRemote = isRemoteAddress(path);
  const format = isRemote ? formatByName(path) : findModelSource(path).format;
  const name = PACKAGES[format];
  if (name !== undefined) return { runtimes: [], packages: [name] };
  if (format === "tfjs-graph" || format === "tfjs-layers" || options.engine === "portable") return NOTHING;
  const isAsked = options.engine === "native" || NATIVE_OPTIONS.some((key) => Boolean(options[key]));
  return isAsked || isRemote || !(await isPortable(path, options)) ? NATIVE : NOTHING;
}

function formatByName(address: string): ModelFormat {
  if (/\.tflite$/i.test(address)) return "tflite";
  if (/\.(?:h5|hdf5|keras)$/i.test(address)) return "keras";
  return /\.json$/i.test(address) ? "tfjs-graph" : "saved-model";
}

/** Loads the model to find out; a warning is about what would be missing. */
async function isPortable(path: string, options: TensorflowOptions): Promise<boolean> {
  const { default: tensorflow } = await import("../../drivers/tensorflow/tensorflow.ts");
  const warnings: string[] = [];
  const log = { ...createSilentLogger(), warn: (text: string) => void warnings.push(text) };
  try {
    const model = await tensorflow.load(path, { ...options, engine: "portable" }, { log, threads: 1 });
    await model.close();
  } catch {
    return false;
  }
  return warnings.length === 0;
}
