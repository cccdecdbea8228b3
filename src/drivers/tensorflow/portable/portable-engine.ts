import { failedPrecondition } from "../../../errors.ts";
import { npmInstall } from "../../../npm-install.ts";
import type { DriverHost, Model } from "../../driver.ts";
import type { TensorflowEngine, TensorflowOptions } from "../engine.ts";
import type { ModelSource } from "../model-source.ts";

/** Our own importer of SavedModels and frozen graphs, onto TensorFlow.js and WebAssembly. */
const engine: TensorflowEngine = { name: "portable", load };
export default engine;

async function load(source: ModelSource, options: TensorflowOptions, host: DriverHost): Promise<Model> {
  if (options.custom_op_paths) {
    throw failedPrecondition("custom_op_paths needs the native engine: kserving runtimes install tensorflow.");
  }
  const { loadPortableModel } = await importPortable();
  return loadPortableModel(source, options, host);
}

const TFJS = "@tensorflow/tfjs-core @tensorflow/tfjs-backend-cpu @tensorflow/tfjs-backend-wasm";

/** TensorFlow.js is an optional dependency. */
async function importPortable() {
  try {
    return await import("./load-portable-model.ts");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw cause;
    throw failedPrecondition(
      `The portable engine needs TensorFlow.js, which is not installed. Run: kserving runtimes install tensorflow, for the native engine; or ${npmInstall(TFJS)}.`,
      cause,
    );
  }
}
