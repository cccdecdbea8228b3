import { defineDriver } from "../driver.ts";
import { chooseEngine } from "./choose-engine.ts";
import { importEngine } from "./import-engine.ts";
import { findModelSource, looksLikeModel } from "./model-source.ts";
import { TENSORFLOW_OPTIONS, type TensorflowOptions } from "./tensorflow-options.ts";

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
