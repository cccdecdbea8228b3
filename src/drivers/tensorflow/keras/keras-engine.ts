import type { TensorflowEngine } from "../engine.ts";
import { reportFallbacks } from "../tfjs/fallback-kernels.ts";
import { createLayersModel } from "../tfjs/layers-model.ts";
import { startTfjs } from "../tfjs/tfjs-backend.ts";
import { withKerasFile } from "./keras-file.ts";
import { loadKerasModel } from "./load-keras-model.ts";

/** Serves .h5 and .keras files whose layers are computed here as Keras does; refuses every other, saying why. */
const engine: TensorflowEngine = {
  name: "keras",
  load: async (source, _, { log }) => {
    await startTfjs();
    const { model, inputDTypes } = await withKerasFile(source, (file) => loadKerasModel(file, source.path));
    return reportFallbacks(createLayersModel(model, inputDTypes), log);
  },
};

export default engine;
